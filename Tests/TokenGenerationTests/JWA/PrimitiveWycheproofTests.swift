import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

/// C2SP/wycheproof's files about signatures and message authentication codes, tested with this
/// module's keys.
///
/// Three rules are stricter than the verdicts: codes are never truncated, PSS has a salt as long as
/// the hash and MGF1 with the same hash
/// ([RFC 7518 §3.5](https://www.rfc-editor.org/rfc/rfc7518#section-3.5)), and “acceptable” cases
/// are rejected (a DigestInfo without NULL).
@Suite(
    "Wycheproof primitives",
    .enabled(if: ExternalVector.exists("wycheproof"), "\(ExternalVector.hint)"),
    .computing
)
struct PrimitiveWycheproofTests {
    private struct File: Decodable {
        let numberOfTests: Int
        let testGroups: [Group]
    }

    private struct Group: Decodable {
        let publicKeyDer, sha, mgfSha: String?
        let publicKeyJwk: [String: String]?
        let sLen, tagSize: Int?
        let tests: [Case]
    }

    private struct Case: Decodable {
        let tcId: Int
        let msg, result: String
        let sig, key, tag: String?
    }

    private static func paths(_ prefix: String) -> [String] {
        ExternalVector.paths(in: "wycheproof").filter { $0.hasPrefix("wycheproof/\(prefix)") }
    }

    private func disagreements(
        _ path: String,
        _ makeKey: (Group, Case) throws -> VerificationKey?,
        isApplicable: (Group) -> Bool = { _ in true }
    ) throws -> [Int] {
        let file = try JSONDecoder().decode(File.self, from: ExternalVector.data(path))
        var (count, stricterCount, disagreements): (Int, Int, [Int]) = (0, 0, [])
        for group in file.testGroups {
            for test in group.tests {
                count += 1
                let key = try makeKey(group, test)
                let isValid = key?.isValid(octets(test.sig ?? test.tag), for: octets(test.msg)) ?? false
                let expected = test.result == "valid" && isApplicable(group)
                if test.result != "invalid", !expected { stricterCount += 1 }
                if isValid != expected { disagreements.append(test.tcId) }
            }
        }
        #expect(count == file.numberOfTests)
        #expect(stricterCount == Self.stricterCounts.first { path.contains($0.key) }?.value ?? 0)
        return disagreements
    }

    /// The number of a file's cases that the three rules reject although they aren't invalid.
    private static let stricterCounts = [
        "hmac_": 33, "rsa_signature_": 1, "rsa_pss_2048_sha256_mgf1_0": 61, "rsa_pss_4096_sha512_mgf1_32": 132,
        "rsa_pss_misc": 147,
    ]

    private func octets(_ hex: String?) -> [UInt8] { [UInt8](hex: hex ?? "") }

    /// Returns the key of a group from DER, and checks that the JWK, if any, has the same key.
    private func key(_ group: Group, _ algorithm: JWSAlgorithm) throws -> VerificationKey {
        let key = try VerificationKey(der: octets(group.publicKeyDer), algorithm: algorithm)
        if let members = group.publicKeyJwk {
            var jwk = try JWK(JSONObject(members.map { ($0.key, JSONValue.string($0.value)) }))
            jwk.algorithm = algorithm.rawValue
            #expect(try VerificationKey(jwk: jwk).thumbprint == key.thumbprint)
        }
        return key
    }

    @Test("ECDSA", .shows("J26", "RFC 7518 §3.4"), arguments: paths("ecdsa_"))
    func ecdsa(path: String) throws {
        let algorithms: [String: JWSAlgorithm] = [
            "secp256r1_sha256": .es256, "secp384r1_sha384": .es384, "secp521r1_sha512": .es512,
            "secp256k1_sha256": .es256k,
        ]
        let algorithm = try #require(algorithms.first { path.contains($0.key) }).value
        #expect(try disagreements(path) { group, _ in try key(group, algorithm) } == [])
    }

    @Test("EdDSA under both names", .shows("RFC 9864"), arguments: paths("ed25519_") + paths("ed448_"))
    func edwards(path: String) throws {
        let algorithm: JWSAlgorithm = path.contains("ed448") ? .ed448 : .ed25519
        for algorithm in [algorithm, .edDSA] {
            #expect(try disagreements(path) { group, _ in try key(group, algorithm) } == [])
        }
    }

    @Test("RSASSA-PKCS1-v1_5", .shows("C6", "RFC 7518 §3.3"), arguments: paths("rsa_signature_"))
    func pkcs1(path: String) throws {
        let algorithm: JWSAlgorithm = path.contains("sha256") ? .rs256 : path.contains("sha384") ? .rs384 : .rs512
        #expect(try disagreements(path) { group, _ in try key(group, algorithm) } == [])
    }

    @Test("RSASSA-PSS", .shows("RFC 7518 §3.5"), arguments: paths("rsa_pss_"))
    func pss(path: String) throws {
        let algorithms: [String: (JWSAlgorithm, Int)] = [
            "SHA-256": (.ps256, 32), "SHA-384": (.ps384, 48), "SHA-512": (.ps512, 64),
        ]
        let disagreements = try disagreements(path) { group, _ in
            try key(group, algorithms[group.sha ?? ""]?.0 ?? .ps256)
        } isApplicable: { group in
            group.mgfSha == group.sha && algorithms[group.sha ?? ""]?.1 == group.sLen
        }
        // A valid signature with a salt of 32 bytes, in a file that expects an empty salt.
        #expect(disagreements == (path.hasSuffix("rsa_pss_2048_sha256_mgf1_0_test.json") ? [69] : []))
    }

    @Test("HMAC", .shows("RFC 7518 §3.2"), arguments: paths("hmac_"))
    func hmac(path: String) throws {
        let (algorithm, size): (JWSAlgorithm, Int) =
            path.contains("256") ? (.hs256, 32) : path.contains("384") ? (.hs384, 48) : (.hs512, 64)
        let disagreements = try disagreements(path) { _, test in
            try VerificationKey(unsafeShortSecret: octets(test.key), algorithm: algorithm)
        } isApplicable: { group in
            group.tagSize == size * 8
        }
        #expect(disagreements == [])
    }
}
