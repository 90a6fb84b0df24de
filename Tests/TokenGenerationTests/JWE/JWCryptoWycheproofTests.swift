import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

private let path = "wycheproof/json_web_crypto_test.json"

/// C2SP/wycheproof's `json_web_crypto_test.json`: signed and encrypted texts that are changed,
/// incomplete, or made for another key. Deviations are documented in `Docs/Standards.md`.
@Suite(
    "Wycheproof JSON Web Crypto",
    .enabled(if: ExternalVector.exists(path), "\(ExternalVector.hint)"),
    .computing
)
struct JWCryptoWycheproofTests {
    /// The code with which a compact text is rejected; the other invalid cases have
    /// `malformedToken`.
    private static let codes: [(ids: Set<Int>, code: TokenError.Code)] = [
        ([2, 3, 5, 6, 8, 19, 20, 22, 23, 25, 32, 34, 35, 37, 38, 40, 49], .signatureInvalid),
        ([16, 31], .algorithmMismatch), ([46], .weakKey), ([47], .unsupportedKey),
        ([51, 54, 55, 57, 60, 63, 68, 71, 72, 74, 77], .decryptionFailed),
    ]

    @Test("Every test case has the expected result, except JSON serializations that are read as JSON", .shows("J26"))
    func all() throws {
        let file = try JSONObject(parsing: ExternalVector.data(path))
        var (count, json): (Int, [Int]) = (0, [])
        for group in try #require(file["testGroups"]?.array).compactMap(\.object) {
            let key = try #require((group["public"] ?? group["private"])?.object)
            for test in try #require(group["tests"]?.array).compactMap(\.object) {
                let id = try #require(test["tcId"]?.number?.integer)
                let text = try #require(test["jws"] ?? test["jwe"])
                let expected =
                    test["result"] == "valid" ? nil : Self.codes.first { $0.ids.contains(id) }?.code ?? .malformedToken
                let isEncrypted = test["jwe"] != nil
                let compact = text.string ?? text.object?.serialized() ?? ""
                #expect(code { try Self.read(compact: compact, isEncrypted, with: key) } == expected, "tcId \(id)")
                if let object = text.object, try !Self.read(json: object, isEncrypted, with: key).isEmpty {
                    json.append(id)
                }
                count += 1
            }
        }
        #expect(count == 83)
        #expect(json == [17, 66])
    }

    private static func read(compact: String, _ isEncrypted: Bool, with key: JSONObject) throws -> Data {
        try isEncrypted
            ? decrypter(key).decrypt(compact: compact).plaintext : verifier(key).verify(compact: compact).payload
    }

    private static func read(json: JSONObject, _ isEncrypted: Bool, with key: JSONObject) throws -> Data {
        try isEncrypted
            ? decrypter(key).decrypt(json: json).plaintext : verifier(key).verify(json: json, requiring: .all).payload
    }

    private static func decrypter(_ key: JSONObject) throws -> JWEDecrypter {
        JWEDecrypter(key: try DecryptionKey(jwk: JWK(key)), policy: JWEFixture.anyPolicy)
    }

    /// Returns a verifier for a key, or for a key set whose symmetric keys are allowed.
    private static func verifier(_ key: JSONObject) throws -> JWSVerifier {
        guard key["keys"] != nil else { return JWSVerifier(key: try VerificationKey(jwk: JWK(key))) }
        let selection = KeySelection(symmetricKeys: .unsafelyUsed)
        return JWSVerifier(keys: try JWKSet(parsing: key.serialized()), selection: selection)
    }
}
