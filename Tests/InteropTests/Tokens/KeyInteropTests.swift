import Foundation
import Testing
import TokenGeneration

@Suite("Interoperability: P-256 keys", .enabled(if: Interop.isPrepared, Interop.hint))
struct KeyInteropTests {
    private static let password = "correct horse"
    private static let claims: JSONObject = [
        "sub": "user", "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)),
    ]

    @Test("Reads the peer's private key formats and signs tokens that it verifies", arguments: Peer.allCases)
    func theirPrivateKeys(peer: Peer) async throws {
        let made = try await peer.generate()
        let spki = try #require(made["spki"]?.string)
        var keys = [
            try SigningKey(pem: try #require(made["pkcs8"]?.string)),
            try SigningKey(pem: try #require(made["sec1"]?.string)),
            try SigningKey(pem: try #require(made["encryptedPKCS8"]?.string), password: Self.password),
        ]
        if let jwk = made["privateJWK"]?.object { keys.append(try SigningKey(jwk: JWK(jwk))) }
        #expect(keys.count == (peer == .openSSL ? 3 : 4))
        let tokens = try keys.map { key in
            try JWTGenerator(payload: Self.claims, signingService: ES256SigningService(key: key)).token()
        }
        let verdicts = try await peer.check(tokens, key: .pem(spki))
        #expect(verdicts.map(\.isAccepted) == keys.map { _ in true })
        for key in keys {
            #expect(try Self.lines(key.verificationKey.pem()) == Self.lines(spki))
        }
    }

    @Test("Reads the peer's public key formats and verifies its token", arguments: Peer.allCases)
    func theirPublicKeys(peer: Peer) async throws {
        let made = try await peer.generate()
        let token = try await peer.make(
            key: .pem(try #require(made["pkcs8"]?.string)),
            header: [:],
            claims: Self.claims
        )
        let publicJWK = try JWK(try #require(made["publicJWK"]?.object))
        for key in [try VerificationKey(pem: try #require(made["spki"]?.string)), try VerificationKey(jwk: publicJWK)] {
            #expect(try JWTVerifier(key: key).verify(token).claims == Self.claims)
            if let thumbprint = made["thumbprint"]?.string { #expect(key.thumbprint == thumbprint) }
        }
    }

    @Test("Throws an error for a wrong or missing password of the peer's encrypted key", arguments: Peer.allCases)
    func wrongPassword(peer: Peer) async throws {
        let pem = try #require(try await peer.generate()["encryptedPKCS8"]?.string)
        #expect(throws: TokenError(.incorrectPassword, "")) { try SigningKey(pem: pem, password: "wrong horse") }
        #expect(throws: TokenError(.passwordRequired, "")) { try SigningKey(pem: pem) }
    }

    @Test("Writes private keys with which the peer signs tokens", arguments: Peer.allCases)
    func ourPrivateKeys(peer: Peer) async throws {
        let key = try SigningKey.generate(.es256)
        var forms: [JSONValue] = [.pem(try key.pem())]
        if peer != .openSSL { forms.append(.jwk(try key.privateJWK())) }
        for form in forms {
            let token = try await peer.make(key: form, header: [:], claims: Self.claims)
            #expect(try JWTVerifier(key: key.verificationKey).verify(token).claims == Self.claims)
        }
    }

    @Test("Writes public keys that the peer reads", arguments: Peer.allCases)
    func ourPublicKeys(peer: Peer) async throws {
        let key = try SigningKey.generate(.es256).verificationKey
        var forms: [JSONValue] = [.pem(try key.pem())]
        if peer != .openSSL { forms.append(.jwk(key.jwk)) }
        for form in forms {
            let theirs = try await peer.describe(form)
            #expect(try Self.lines(#require(theirs["spki"]?.string)) == Self.lines(key.pem()))
            for name in ["kty", "crv", "x", "y"] {
                #expect(theirs["publicJWK"]?.object?[name] == key.jwk.members[name])
            }
            if let thumbprint = theirs["thumbprint"]?.string { #expect(thumbprint == key.thumbprint) }
        }
    }

    private static func lines(_ pem: String) -> [Substring] { pem.split(whereSeparator: \.isNewline) }
}
