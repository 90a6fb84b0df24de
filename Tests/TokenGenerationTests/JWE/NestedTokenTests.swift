import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Nested tokens", .computing)
struct NestedTokenTests {
    private let signing: SigningKey
    private let decryption: DecryptionKey
    private let decrypter: JWEDecrypter

    init() throws {
        signing = try SigningKey.generate(.es256)
        decryption = try DecryptionKey.generate(.ecdhESA256KW, on: .x25519)
        decrypter = JWEDecrypter(
            key: decryption,
            policy: DecryptionPolicy(algorithms: [.ecdhESA256KW], encryptions: [.a256GCM])
        )
    }

    private var claims: JSONObject { ["iss": "me", "sub": "alice", "exp": 1_700_000_100] }

    private func verifier(issuer: String = "me") -> JWTVerifier {
        var policy = ValidationPolicy(issuer: .exactly(issuer))
        policy.currentDate = { Date(timeIntervalSince1970: 1_700_000_000) }
        return JWTVerifier(key: signing.verificationKey, policy: policy)
    }

    @Test("One call signs and encrypts, one call decrypts and verifies", .shows("J10")) func roundTrip() throws {
        let token = try signing.sign(claims, encryptedFor: decryption.encryptionKey)
        let header = try UnverifiedJWE(compact: token).unverifiedProtectedHeader
        #expect(header["cty"]?.string == "JWT")
        let verified = try verifier().verify(encrypted: token, with: decrypter)
        #expect(verified.claims == claims)
        #expect(verified.header["alg"]?.string == "ES256")
        let decoded = try verifier().verify(encrypted: token, with: decrypter).decode(as: RegisteredClaims.self)
        #expect(decoded.subject == "alice")
        // A token that's already signed.
        let other = try decryption.encryptionKey.encrypt(signedToken: signing.sign(claims))
        #expect(try verifier().verify(encrypted: other, with: decrypter).claims == claims)
    }

    @Test("Both policies apply", .shows("RFC 8725bis §3.3 (both layers)")) func policies() throws {
        let token = try signing.sign(claims, encryptedFor: decryption.encryptionKey)
        #expect(code { try verifier(issuer: "other").verify(encrypted: token, with: decrypter) } == .issuerMismatch)
        let strict = JWEDecrypter(
            key: decryption,
            policy: DecryptionPolicy(algorithms: [.ecdhESA256KW], encryptions: [.a128GCM])
        )
        #expect(code { try verifier().verify(encrypted: token, with: strict) } == .algorithmMismatch)
        let forged = try SigningKey.generate(.es256).sign(claims, encryptedFor: decryption.encryptionKey)
        #expect(code { try verifier().verify(encrypted: forged, with: decrypter) } == .signatureInvalid)
        let changed = try JWEFixture.changing(token, 4) { $0[0] ^= 1 }
        #expect(code { try verifier().verify(encrypted: changed, with: decrypter) } == .decryptionFailed)
    }

    @Test(
        "A signed token alone isn't accepted as an encrypted one, nor the other way round",
        .shows("E18", "RFC 7516 §9", "RFC 8725bis §3.3 (kinds)")
    ) func layers() throws {
        let signed = try signing.sign(claims)
        #expect(code { try verifier().verify(encrypted: signed, with: decrypter) } == .malformedToken)
        let nested = try signing.sign(claims, encryptedFor: decryption.encryptionKey)
        #expect(code { try verifier().verify(nested) } == .malformedToken)
    }

    @Test("Encrypted claims without a signature aren't accepted", .shows("E16", "RFC 8725bis §3.3 (both layers)"))
    func unsigned() throws {
        let key = decryption.encryptionKey
        let bare = try key.encrypt(claims)
        #expect(code { try verifier().verify(encrypted: bare, with: decrypter) } == .typeMismatch)
        let labeled = try key.encrypt(Data(claims.serialized().utf8), header: ["cty": "JWT"])
        #expect(code { try verifier().verify(encrypted: labeled, with: decrypter) } == .malformedToken)
        let binary = try key.encrypt(Data([0xFF, 0xFE]), header: ["cty": "JWT"])
        #expect(code { try verifier().verify(encrypted: binary, with: decrypter) } == .malformedToken)
    }

    @Test("The depth is two", .shows("E16")) func depth() throws {
        let key = decryption.encryptionKey
        let nested = try signing.sign(claims, encryptedFor: key)
        #expect(code { try key.encrypt(signedToken: nested) } == .unencodableContent)
        let deeper = try key.encrypt(Data(nested.utf8), header: ["cty": "JWT"])
        #expect(code { try verifier().verify(encrypted: deeper, with: decrypter) } == .malformedToken)
    }

    @Test(
        "cty must be JWT, as a media type",
        arguments: [
            ("JWT", true), ("jwt", true), ("application/jwt", true), ("JWS", false), ("", false), ("json", false),
        ]
    )
    func contentType(value: String, isAccepted: Bool) throws {
        let token = try decryption.encryptionKey.encrypt(
            Data(signing.sign(claims).utf8),
            header: ["cty": .string(value)]
        )
        #expect(code { try verifier().verify(encrypted: token, with: decrypter) } == (isAccepted ? nil : .typeMismatch))
        let made = code {
            try decryption.encryptionKey.encrypt(signedToken: signing.sign(claims), header: ["cty": .string(value)])
        }
        #expect(made == (isAccepted ? nil : .unencodableContent))
    }

    @Test(
        "Claims in the outer header must be the inner ones",
        arguments: [
            ("iss", "me", nil), ("iss", "other", .issuerMismatch), ("sub", "alice", nil),
            ("sub", "bob", .subjectMismatch), ("aud", "x", .audienceMismatch), ("other", "x", nil),
        ] as [(String, JSONValue, TokenError.Code?)]
    )
    func replicatedClaims(name: String, value: JSONValue, expected: TokenError.Code?) throws {
        let token = try decryption.encryptionKey.encrypt(signedToken: signing.sign(claims), header: [name: value])
        #expect(code { try verifier().verify(encrypted: token, with: decrypter) } == expected)
    }

    @Test("Claims that are only encrypted need the right name and a policy") func unauthenticatedClaims() throws {
        let jwe = try decrypter.decrypt(compact: decryption.encryptionKey.encrypt(claims))
        var policy = ValidationPolicy(issuer: "me")
        policy.currentDate = { Date(timeIntervalSince1970: 1_700_000_000) }
        #expect(try jwe.unauthenticatedClaims(policy: policy) == claims)
        policy.currentDate = { Date(timeIntervalSince1970: 1_800_000_000) }
        #expect(code { try jwe.unauthenticatedClaims(policy: policy) } == .expired)
        let nested = try decrypter.decrypt(compact: signing.sign(claims, encryptedFor: decryption.encryptionKey))
        #expect(code { try nested.unauthenticatedClaims(policy: policy) } == .typeMismatch)
        let text = try decrypter.decrypt(compact: decryption.encryptionKey.encrypt(Data("text".utf8)))
        #expect(code { try text.unauthenticatedClaims(policy: policy) } == .malformedToken)
    }

    @Test("Only signed tokens can be nested", arguments: ["", "a.b", "{}", "a.b.c"])
    func notSigned(text: String) throws {
        #expect(code { try decryption.encryptionKey.encrypt(signedToken: text) } == .unencodableContent)
    }
}
