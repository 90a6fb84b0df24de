import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Changed JSON serializations", .computing)
struct JWSMutationTests {
    private let keys: [SigningKey]
    private let verifier: JWSVerifier

    init() throws {
        keys = [try Fixture.signingKey(), try .generate(.es256)]
        verifier = JWSVerifier(keys: keys.map(\.verificationKey))
    }

    /// The invariant content: the payload, and the protected header and key of each signature.
    private struct Meaning: Equatable {
        let payload: Data
        let signatures: [String]

        init(_ verified: VerifiedJWS) {
            payload = verified.payload
            signatures = verified.signatures.map { "\($0.key.thumbprint) \($0.protectedHeader.serialized())" }
        }
    }

    private func texts() throws -> [String] {
        let signers = try keys.enumerated().map { index, key in
            JWSSigner(
                signingService: try ES256SigningService(key: key),
                header: ["cty": "text"],
                unprotectedHeader: ["note": .string("é\(index)")]
            )
        }
        let payload = Data("a payload".utf8)
        let one = JWSGenerator(payload: payload, signers: [signers[0]])
        let unencoded = JWSGenerator(payload: payload, payloadEncoding: .unencoded, signers: [signers[0]])
        let two = JWSGenerator(payload: payload, signers: signers)
        return [
            try one.flattenedJSON().serialized(), try unencoded.flattenedJSON().serialized(),
            try two.generalJSON().prettyPrinted(),
        ]
    }

    /// Returns a Boolean value that indicates whether a changed text is rejected or has the same
    /// meaning.
    private func isHarmless(_ changed: [UInt8], _ meaning: Meaning) -> Bool {
        guard let verified = try? verifier.verify(json: Data(changed), requiring: .all) else { return true }
        return Meaning(verified) == meaning
    }

    @Test(
        "After a change of any bit or byte, or truncation, the text is rejected or has the same meaning",
        .shows("D17", "RFC 7515 §5.1, §5.2"),
        arguments: 0..<3
    )
    func bytes(index: Int) throws {
        let text = Array(try texts()[index].utf8)
        let meaning = Meaning(try verifier.verify(json: Data(text), requiring: .all))
        #expect(meaning.signatures.count == (index == 2 ? 2 : 1))
        for place in text.indices {
            for bit in 0..<8 {
                var changed = text
                changed[place] ^= 1 << bit
                #expect(isHarmless(changed, meaning), "bit \(bit) of byte \(place)")
            }
            for byte in "A\"\\{}[],: \u{0}".utf8 {
                var changed = text
                changed[place] = byte
                #expect(isHarmless(changed, meaning), "byte \(place) is \(byte)")
            }
            var changed = text
            changed.remove(at: place)
            #expect(isHarmless(changed, meaning), "byte \(place) is removed")
            changed = text
            changed.insert(text[place], at: place)
            #expect(isHarmless(changed, meaning), "byte \(place) is doubled")
            #expect(code { try verifier.verify(json: Data(text[..<place]), requiring: .any) } == .malformedToken)
        }
    }

    @Test("Rejects combined parts of two JWSs")
    func splicing() throws {
        let key = try ES256SigningService(key: keys[0])
        let first = try JWSGenerator(payload: Data("one".utf8), signingService: key).flattenedJSON()
        let second = try JWSGenerator(payload: Data("two".utf8), header: ["cty": "x"], signingService: key)
            .flattenedJSON()
        for name in ["payload", "protected", "signature"] {
            var spliced = first
            spliced[name] = second[name]
            #expect(code { try verifier.verify(json: spliced.serialized(), requiring: .any) } == .signatureInvalid)
        }
    }

    @Test(
        "Random members of a serialization never trap, and unsigned content is never accepted",
        .shows("C13"),
        arguments: 0..<4
    )
    func randomText(seed: Int) throws {
        var numbers = Fixture.SeededNumbers(state: UInt64(seed))
        let genuine = try JSONFixture.entry()
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"payload\":", "\"signatures\":", "\"protected\":", "\"header\":",
            "\"signature\":", "\"\"", "null", "true", "\"eyJhbGciOiJFUzI1NiJ9\"", "\"AA\"", "{}", "[]", "1e999",
            "{\"alg\":\"ES256\"}", genuine,
            "{\(genuine)}", "\"payload\":\"\(JSONFixture.payloadText)\"", "\"\\ud800\"", "\\", "é",
        ]
        for _ in 0..<2_000 {
            let count = Int.random(in: 0...12, using: &numbers)
            let text = (0..<count).map { _ in pieces[Int.random(in: pieces.indices, using: &numbers)] }.joined()
            if let verified = try? verifier.verify(json: text, requiring: .any) {
                #expect(verified.payload == JSONFixture.payload)
            }
            _ = try? UnverifiedJWS(json: text)
        }
    }
}
