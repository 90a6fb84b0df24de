import Foundation
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing
import TokenGeneration

private let path = "wycheproof/json_web_signature_test.json"

/// C2SP/wycheproof's `json_web_signature_test.json`. Deviations are documented in
/// `Docs/Standards.md`.
@Suite(
    "Wycheproof JSON Web Signature",
    .enabled(if: ExternalVector.exists(path), "\(ExternalVector.hint)"),
    .computing
)
struct JWSWycheproofTests {
    /// Test cases that are labeled valid, but whose key, a secret of zeros, is refused.
    private static let weakKeys: Set = [357, 358, 359, 372, 373, 376, 377]
    /// The codes of the cases with a secret of zeros, if a strong secret replaces it.
    ///
    /// 367 and 370 are labeled as wrongly padded, but equal 357, which is labeled valid. 372 and
    /// 373 are labeled valid, but contain a “?”, and the signature is over the text without it.
    private static let strongKeys: [(ids: [Int], code: TokenError.Code?)] = [
        ([357, 358, 359, 367, 370, 376, 377], nil),
        ([360, 361, 362, 363, 364, 365, 366, 368, 369, 371, 372, 375], .malformedToken),
        ([373, 374], .signatureInvalid),
    ]
    /// Valid test cases whose key states an algorithm other than the signature's (PS256 for PS384),
    /// or a nonexistent one (`ES521`). These tests ignore it.
    private static let wrongAlgorithms: [Int: TokenError.Code] = [
        346: .algorithmMismatch, 350: .algorithmMismatch, 347: .unsupportedAlgorithm, 351: .unsupportedAlgorithm,
    ]

    private struct Case {
        let id: Int
        let text: String
        let isValid: Bool
        let key: JWK
    }

    @Test("Every test case except the documented ones has the expected result, in compact form and JSON", .shows("J26"))
    func all() throws {
        let cases = try Self.cases()
        #expect(cases.count == 401)
        var disagreements: Set<Int> = []
        for test in cases {
            let accepts = Self.accepts(test)
            if accepts.compact != test.isValid { disagreements.insert(test.id) }
            #expect(accepts.json == accepts.compact, "tcId \(test.id)")
        }
        #expect(disagreements == Self.weakKeys)
    }

    @Test("Cases whose secret is zeros are rejected as weak, and for their text if the secret is strong", .shows("J26"))
    func weakKeys() throws {
        let cases = try Self.cases().filter { (357...377).contains($0.id) }
        #expect(Set(cases.map(\.id)) == Set(Self.strongKeys.flatMap(\.ids)))
        let zeros = try HMAC(.sha256, key: [UInt8](repeating: 0, count: 32).withBytes { SecretBytes(copying: $0) })
        let strong = try SigningKey(secret: UInt8(1)...32, algorithm: .hs256)
        for test in cases {
            #expect(code { try VerificationKey(jwk: test.key) } == .weakKey)
            let expected = try #require(Self.strongKeys.first { $0.ids.contains(test.id) }).code
            // Only a valid signature is replaced by one of the strong secret.
            var segments = test.text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
            let input = Array(segments.prefix(2).joined(separator: ".").utf8)
            if try segments[2] == Base64URL.encode(input.withBytes({ try zeros.authenticationCode(for: $0) })) {
                segments[2] = Base64URL.encode(try strong.signature(over: input))
            }
            let verifier = JWSVerifier(key: strong.verificationKey)
            #expect(
                code { try verifier.verify(compact: segments.joined(separator: ".")) } == expected,
                "tcId \(test.id)"
            )
        }
    }

    @Test("Unmodified keys that state a wrong algorithm don't verify")
    func wrongAlgorithms() throws {
        for test in try Self.cases() {
            guard let expected = Self.wrongAlgorithms[test.id] else { continue }
            #expect(test.isValid)
            #expect(
                code { try JWSVerifier(key: VerificationKey(jwk: test.key)).verify(compact: test.text) } == expected,
                "tcId \(test.id)"
            )
        }
    }

    @Test("Rejects keys for encryption before checking a signature", .shows("A10"), arguments: [353, 354, 355, 356])
    func encryptionKeys(id: Int) throws {
        let test = try #require(Self.cases().first { $0.id == id })
        let algorithm: JWSAlgorithm? = test.key.keyType == "EC" ? .es256 : .rs256
        #expect(code { try VerificationKey(jwk: test.key, algorithm: algorithm) } == .keyMismatch)
    }

    private static func cases() throws -> [Case] {
        // The file exceeds the limits of the package's parser on members and bytes.
        let file = try #require(JSONSerialization.jsonObject(with: ExternalVector.data(path)) as? [String: Any])
        var cases: [Case] = []
        for group in try #require(file["testGroups"] as? [[String: Any]]) {
            // The key of a group is in “public”, or in “private” if it's symmetric.
            let members = try JSONSerialization.data(withJSONObject: #require(group["public"] ?? group["private"]))
            let key = try JWK(parsing: members)
            for test in try #require(group["tests"] as? [[String: Any]]) {
                let result = try #require(test["result"] as? String)
                cases.append(
                    Case(
                        id: try #require(test["tcId"] as? Int),
                        text: try #require(test["jws"] as? String),
                        isValid: result == "valid",
                        key: key
                    )
                )
            }
        }
        return cases
    }

    private static func accepts(_ test: Case) -> (compact: Bool, json: Bool) {
        var jwk = test.key
        if wrongAlgorithms[test.id] != nil { jwk.members["alg"] = nil }
        // A key without an algorithm gets the token's algorithm, which only accepts more here.
        let stated = (try? UnverifiedJWS(compact: test.text))?.unverifiedSignatures.first?.unverifiedProtectedHeader[
            "alg"
        ]
        let wanted = jwk.algorithm == nil ? stated?.string.flatMap { JWSAlgorithm(rawValue: $0) } : nil
        guard let key = try? VerificationKey(jwk: jwk, algorithm: wanted) else { return (false, false) }
        let verifier = JWSVerifier(key: key)
        let parts = test.text.split(separator: ".", omittingEmptySubsequences: false).map {
            JSONValue.string(String($0))
        }
        guard parts.count == 3 else { return ((try? verifier.verify(compact: test.text)) != nil, false) }
        let json: JSONObject = ["protected": parts[0], "payload": parts[1], "signature": parts[2]]
        return (
            (try? verifier.verify(compact: test.text)) != nil,
            (try? verifier.verify(json: json.serialized(), requiring: .all)) != nil
        )
    }
}
