import Foundation
import TestVectors
import Testing
import TokenGeneration

private let path = "wycheproof/json_web_signature_test.json"

/// C2SP/wycheproof's `json_web_signature_test.json`. Deviations are documented in
/// `Docs/Wycheproof.md`.
@Suite(
    "Wycheproof JSON Web Signature",
    .enabled(if: ExternalVector.exists(path), "\(ExternalVector.hint)"),
    .serialized
)
struct JWSWycheproofTests {
    /// Test cases whose label contradicts the format or another test case.
    private static let errata: Set = [367, 370, 372, 373]
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

    @Test("Every test case except the documented ones has the expected result, in compact form and JSON")
    func all() throws {
        let cases = try Self.cases()
        #expect(cases.count == 401)
        var disagreements: Set<Int> = []
        for test in cases {
            let accepts = Self.accepts(test)
            if accepts.compact != test.isValid { disagreements.insert(test.id) }
            #expect(accepts.json == accepts.compact, "tcId \(test.id)")
        }
        #expect(disagreements == Self.errata)
    }

    @Test("Cases labeled as wrongly padded equal a valid case, and cases with a “?” are rejected")
    func errata() throws {
        let cases = try Self.cases()
        func text(_ id: Int) throws -> String { try #require(cases.first { $0.id == id }).text }
        #expect(try text(367) == text(357))
        #expect(try text(370) == text(357))
        // In the payload, it's found after the signature, which covers the text without it.
        for (id, expected) in [(372, .malformedToken), (373, .signatureInvalid)] as [(Int, TokenError.Code)] {
            let test = try #require(cases.first { $0.id == id })
            #expect(test.text.contains("?"))
            #expect(
                code { try JWSVerifier(key: VerificationKey(jwk: test.key)).verify(compact: test.text) } == expected
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

    @Test("Rejects keys for encryption before checking a signature", arguments: [353, 354, 355, 356])
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
