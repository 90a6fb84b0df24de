import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("JWS as a JSON object", .computing)
struct JWSObjectTests {
    private let verifier: JWSVerifier

    init() throws { verifier = try JSONFixture.verifier() }

    private func object(_ text: String) throws -> JSONObject { try JSONObject(parsing: text) }

    private func objects() throws -> [JSONObject] {
        let entry = try JSONFixture.entry(#"{"alg":"ES256","n":1}"#, unprotected: #"{"note":"e\u0301/"}"#)
        return [try object(JSONFixture.flattened(entry)), try object(JSONFixture.general([entry, entry]))]
    }

    @Test("Flattened and general JWSs verify as objects, like their text")
    func accepted() throws {
        for (json, count) in zip(try objects(), [1, 2]) {
            let verified = try verifier.verify(json: json, requiring: .all)
            #expect(verified.payload == JSONFixture.payload)
            #expect(verified.signatures.count == count)
            #expect(verified.signatures[0].protectedHeader == ["alg": "ES256", "n": 1])
            #expect(verified.signatures[0].unprotectedHeader == ["note": "e\u{301}/"])
            #expect(try verifier.verify(json: json.serialized(), requiring: .all).payload == verified.payload)
        }
        let signer = JWSSigner(signingService: try ES256SigningService(key: Fixture.signingKey()))
        let generator = JWSGenerator(payload: JSONFixture.payload, signers: [signer])
        for json in [try generator.generalJSON(), try generator.flattenedJSON()] {
            #expect(try verifier.verify(json: json, requiring: .everyKey).payload == JSONFixture.payload)
        }
    }

    @Test("An invalid object has the same error as its text")
    func refused() throws {
        let other = Base64URL.encode(Array(#"{"exp":2}"#.utf8))
        for json in try objects() {
            func refusal(_ name: String, _ value: JSONValue?) -> TokenError.Code? {
                var changed = json
                changed[name] = value
                return code { try verifier.verify(json: changed, requiring: .any) }
            }
            let isGeneral = json["signatures"] != nil
            // The error has the specific reason only if there is a single signature.
            #expect(refusal("payload", .string(other)) == (isGeneral ? .insufficientSignatures : .signatureInvalid))
            #expect(refusal("payload", nil) == .malformedToken)
            #expect(refusal("payload", 5) == .malformedToken)
            #expect(refusal("ciphertext", "AA") == .malformedToken)
            #expect(refusal(isGeneral ? "signature" : "signatures", isGeneral ? "AA" : []) == .malformedToken)
            #expect(refusal(isGeneral ? "signatures" : "signature", nil) == .malformedToken)
            #expect(refusal("padding", .string(String(repeating: "x", count: 65_536))) == .tooLarge)
        }
        let none: JSONObject = ["payload": .string(JSONFixture.payloadText), "signatures": []]
        #expect(code { try verifier.verify(json: none, requiring: .any) } == .malformedToken)
        let stranger = JWSVerifier(key: try SigningKey.generate(.es384).verificationKey)
        #expect(code { try stranger.verify(json: objects()[0], requiring: .any) } == .algorithmMismatch)
        #expect(code { try stranger.verify(json: objects()[1], requiring: .any) } == .insufficientSignatures)
    }

    @Test("A detached payload is passed with the object, which must not contain a payload")
    func detached() throws {
        for json in try objects() {
            var detached = json
            detached["payload"] = nil
            func refusal(_ json: JSONObject, _ payload: Data) -> TokenError.Code? {
                code { try verifier.verify(json: json, detachedPayload: payload, requiring: .all) }
            }
            let payload = JSONFixture.payload
            #expect(try verifier.verify(json: detached, detachedPayload: payload, requiring: .all).payload == payload)
            #expect(refusal(json, payload) == .malformedToken)
            let isGeneral = json["signatures"] != nil
            #expect(refusal(detached, Data("{}".utf8)) == (isGeneral ? .insufficientSignatures : .signatureInvalid))
        }
    }
}
