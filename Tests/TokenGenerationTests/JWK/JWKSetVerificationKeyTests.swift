import Foundation
import Testing
import TokenGeneration

@Suite(.serialized)
struct JWKSetVerificationKeyTests {
    private func key(_ id: String, _ algorithm: JWSAlgorithm = .es256) throws -> JWK {
        try SigningKey.generate(algorithm).identified(by: id).verificationKey.jwk
    }

    @Test("returns the only key with an ID")
    func selection() throws {
        let set = JWKSet(keys: [try key("a"), try key("b")])
        let found = try set.verificationKey(withID: "b")
        #expect(try found.thumbprint == set.keys[1].thumbprint)
        #expect(throws: TokenError(.unknownKey, "")) { _ = try set.verificationKey(withID: "c") }
        // Canonically equivalent text is another ID.
        let equivalent = JWKSet(keys: [try key("\u{E9}")])
        #expect(throws: TokenError(.unknownKey, "")) { _ = try equivalent.verificationKey(withID: "e\u{301}") }
    }

    @Test("rejects an ID of different keys, and accepts a repeated key")
    func ambiguity() throws {
        let first = try key("a")
        #expect(throws: TokenError(.ambiguousKey, "")) {
            _ = try JWKSet(keys: [first, try key("a")]).verificationKey(withID: "a")
        }
        _ = try JWKSet(keys: [first, first]).verificationKey(withID: "a")
    }

    @Test("rejects a key that can't verify, for its reason")
    func unusableKeys() throws {
        var encryption = try key("a").members
        encryption["use"] = "enc"
        #expect(throws: TokenError(.keyMismatch, "")) {
            _ = try JWKSet(keys: [JWK(encryption)]).verificationKey(withID: "a")
        }
        var rsa = try key("a", .rs256).members
        rsa["alg"] = nil
        let set = JWKSet(keys: [try JWK(rsa)])
        #expect(throws: TokenError(.algorithmRequired, "")) { _ = try set.verificationKey(withID: "a") }
        let found = try set.verificationKey(withID: "a", selection: KeySelection(assumedAlgorithms: [.ps256]))
        #expect(found.algorithm == .ps256)
    }

    @Test("ignores symmetric keys unless they are used and alone")
    func symmetricKeys() throws {
        let secret = try JWK([
            "kty": "oct", "kid": "s", "alg": "HS256", "k": .string(String(repeating: "QUFB", count: 10) + "QUE"),
        ])
        let used = KeySelection(symmetricKeys: .unsafelyUsed)
        #expect(throws: TokenError(.unsupportedKey, "")) { _ = try JWKSet(keys: [secret]).verificationKey(withID: "s") }
        #expect(try JWKSet(keys: [secret]).verificationKey(withID: "s", selection: used).algorithm == .hs256)
        #expect(throws: TokenError(.unsupportedKey, "")) {
            _ = try JWKSet(keys: [secret, try key("a")]).verificationKey(withID: "s", selection: used)
        }
    }

    @Test("prepares a key once")
    func preparation() throws {
        let set = JWKSet(keys: [try key("a"), try key("b")])
        for _ in 0..<3 { _ = try set.verificationKey(withID: "a") }
        #expect(set.preparationCount == 1)
    }
}
