import OpenSSLCrypto
import TestVectors
import Testing

/// Each vector is a case; a test per file reports the numbers of the cases with an unexpected
/// verdict.
///
/// Three rules make this module stricter than the verdicts: codes are never truncated (tagSize),
/// PSS uses MGF1 with the same hash and a salt of the hash's length, and “acceptable” cases are
/// rejected (a DigestInfo without NULL).
@Suite(
    "Wycheproof",
    .enabled(if: ExternalVector.exists("wycheproof"), Comment(rawValue: ExternalVector.hint)),
    .serialized
)
struct WycheproofTests {
    /// The numbers of the cases with an unexpected verdict.
    private func disagreements(
        _ path: String,
        _ verifier: (WycheproofFile.Group) throws -> (WycheproofFile.Case) -> Bool,
        isApplicable: (WycheproofFile.Group) -> Bool = { _ in true }
    ) throws -> [Int] {
        let file = try WycheproofFile(path: path)
        var count = 0
        var stricterCount = 0
        var disagreements: [Int] = []
        for group in file.testGroups {
            let isValid = try verifier(group)
            for item in group.tests {
                count += 1
                let expected = item.result == .valid && isApplicable(group)
                if item.result != .invalid, !expected { stricterCount += 1 }
                if isValid(item) != expected { disagreements.append(item.tcId) }
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

    private func hashFunction(_ group: WycheproofFile.Group) -> HashFunction? {
        switch group.hash {
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        case nil: nil
        }
    }

    @Test("ECDSA with raw signatures", arguments: WycheproofFile.paths("ecdsa_"))
    func ecdsa(path: String) throws {
        let disagreements = try disagreements(path) { group in
            guard case .ellipticCurve(let key) = try PublicKey(der: octets(group.publicKeyDer)) else {
                throw CryptoError(.wrongKeyType, path)
            }
            let hash = try #require(hashFunction(group))
            return { key.isValidSignature(octets($0.sig), for: octets($0.msg), hash: hash) }
        }
        #expect(disagreements == [])
    }

    @Test("EdDSA", arguments: WycheproofFile.paths("ed25519_", "ed448_"))
    func edwards(path: String) throws {
        let disagreements = try disagreements(path) { group in
            guard case .edwards(let key) = try PublicKey(der: octets(group.publicKeyDer)) else {
                throw CryptoError(.wrongKeyType, path)
            }
            return { key.isValidSignature(octets($0.sig), for: octets($0.msg)) }
        }
        #expect(disagreements == [])
    }

    @Test("RSASSA-PKCS1-v1_5", arguments: WycheproofFile.paths("rsa_signature_"))
    func pkcs1(path: String) throws {
        let disagreements = try disagreements(path) { group in
            guard case .rsa(let key) = try PublicKey(der: octets(group.publicKeyDer)) else {
                throw CryptoError(.wrongKeyType, path)
            }
            let verifier = try key.verifier(.pkcs1v15, hash: #require(hashFunction(group)))
            return { verifier.isValidSignature(octets($0.sig), for: octets($0.msg)) }
        }
        #expect(disagreements == [])
    }

    @Test("RSASSA-PSS", arguments: WycheproofFile.paths("rsa_pss_"))
    func pss(path: String) throws {
        let disagreements = try disagreements(path) { group in
            guard case .rsa(let key) = try PublicKey(der: octets(group.publicKeyDer)) else {
                throw CryptoError(.wrongKeyType, path)
            }
            // SHA-1 and SHA-224 aren't supported. Their signatures must not be valid with another
            // hash either.
            let verifier = try key.verifier(.pss, hash: hashFunction(group) ?? .sha256)
            return { verifier.isValidSignature(octets($0.sig), for: octets($0.msg)) }
        } isApplicable: { group in
            hashFunction(group).map { group.sLen == $0.digestSize && group.mgfSha == group.sha } ?? false
        }
        // A valid signature with a salt of 32 bytes, in a file whose verdicts assume no salt.
        let isWithoutSalt = path.hasSuffix("rsa_pss_2048_sha256_mgf1_0_test.json")
        #expect(disagreements == (isWithoutSalt ? [69] : []))
    }

    @Test("HMAC", arguments: WycheproofFile.paths("hmac_"))
    func hmac(path: String) throws {
        let hash: HashFunction = path.contains("256") ? .sha256 : path.contains("384") ? .sha384 : .sha512
        let disagreements = try disagreements(path) { _ in
            { item in
                guard let mac = try? HMAC(hash, key: octets(item.key).secret) else { return false }
                return mac.isValid(octets(item.tag), for: octets(item.msg))
            }
        } isApplicable: { group in
            group.tagSize == hash.digestSize * 8
        }
        #expect(disagreements == [])
    }
}
