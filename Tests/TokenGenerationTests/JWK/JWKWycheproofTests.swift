import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

private let path = "wycheproof/json_web_key_test.json"

/// C2SP/wycheproof's `json_web_key_test.json`: the keys that a verifier may use from a key set.
@Suite("Wycheproof JSON Web Key", .enabled(if: ExternalVector.exists(path), "\(ExternalVector.hint)"), .computing)
struct JWKWycheproofTests {
    @Test(
        "Every test case has the expected result, with symmetric keys in sets that have no others",
        .shows("A11", "J26", "RFC 7517 §5 (sets)")
    )
    func all() throws {
        let file = try JSONObject(parsing: ExternalVector.data(path))
        var (count, disagreements): (Int, [Int]) = (0, [])
        for group in try #require(file["testGroups"]?.array) {
            let group = try #require(group.object)
            let set = try #require((group["public"] ?? group["private"])?.object)
            let keys = try JWKSet(parsing: set.serialized())
            let verifier = JWSVerifier(keys: keys, selection: KeySelection(symmetricKeys: .unsafelyUsed))
            for test in try #require(group["tests"]?.array).compactMap(\.object) {
                let text = try #require(test["jws"]?.string)
                let isAccepted = code { try verifier.verify(compact: text) } == nil
                count += 1
                if isAccepted != (test["result"] == "valid"), let id = test["tcId"]?.number?.integer {
                    disagreements.append(id)
                }
            }
        }
        #expect(count == 26)
        #expect(disagreements == [])
    }
}
