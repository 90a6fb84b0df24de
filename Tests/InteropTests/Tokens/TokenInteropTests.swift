import Foundation
import Testing
import TokenGeneration

@Suite("Interoperability: ES256 tokens", .enabled(if: Interop.isPrepared, Interop.hint))
struct TokenInteropTests {
    private static let claims: JSONObject = [
        "iss": "https://issuer.example", "sub": "Ünï “quoted” \\ 😀", "aud": ["one", "two"],
        "exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) + 3600)),
        "nested": ["list": [1, 2.5, nil, true], "path": "a/b"],
    ]

    @Test("The peer verifies a token of the library, with the same header and claims", arguments: Peer.allCases)
    func ours(peer: Peer) async throws {
        let service = try ES256SigningService.generate(keyID: "key-1")
        let token = try JWTGenerator(header: ["cty": "text"], payload: Self.claims, signingService: service).token()
        let verdict = try await peer.check(token, key: .pem(service.verificationKey.pem()))
        #expect(verdict.isAccepted, "\(verdict.reason)")
        #expect(verdict.header == ["alg": "ES256", "cty": "text", "kid": "key-1", "typ": "JWT"])
        #expect(verdict.claims == Self.claims)
    }

    @Test("The peer verifies a token created from dictionaries", arguments: Peer.allCases)
    func ourDictionaries(peer: Peer) async throws {
        let service = try ES256SigningService.generate()
        let content = JWTRepresentation(
            header: ["typ": "JWT"],
            payload: ["sub": "user", "admin": true, "exp": Date().timeIntervalSince1970.rounded() + 3600]
        )
        let token = try JWTGenerator(jwtRepresentation: content, signingService: service).token()
        let verdict = try await peer.check(token, key: .pem(service.verificationKey.pem()))
        #expect(verdict.isAccepted, "\(verdict.reason)")
        #expect(verdict.claims?["admin"] == true)
    }

    @Test("The library verifies a token of the peer, with the same header and claims", arguments: Peer.allCases)
    func theirs(peer: Peer) async throws {
        let key = try SigningKey.generate(.es256)
        let token = try await peer.make(
            key: .pem(try key.pem()),
            header: ["kid": "key-2", "typ": "JWT"],
            claims: Self.claims
        )
        let policy = ValidationPolicy(issuer: "https://issuer.example", audience: "two", type: "JWT")
        let verified = try JWTVerifier(key: key.verificationKey, policy: policy).verify(token)
        #expect(verified.header == ["alg": "ES256", "kid": "key-2", "typ": "JWT"])
        #expect(verified.claims == Self.claims)
    }

    @Test("Both sides reject a token signed with another key", arguments: Peer.allCases)
    func anotherKey(peer: Peer) async throws {
        let key = try SigningKey.generate(.es256)
        let other = try SigningKey.generate(.es256)
        let theirs = try await peer.make(key: .pem(try other.pem()), header: [:], claims: Self.claims)
        #expect(throws: TokenError(.signatureInvalid, "")) {
            try JWTVerifier(key: key.verificationKey).verify(theirs)
        }
        let ours = try JWTGenerator(payload: Self.claims, signingService: ES256SigningService(key: other)).token()
        #expect(try await !peer.check(ours, key: .pem(key.verificationKey.pem())).isAccepted)
    }

    @Test("Both sides reject an expired token", arguments: Peer.libraries)
    func expired(peer: Peer) async throws {
        let service = try ES256SigningService.generate()
        let claims: JSONObject = ["exp": .number(JSONNumber(Int(Date().timeIntervalSince1970) - 3600))]
        let token = try JWTGenerator(payload: claims, signingService: service).token()
        #expect(throws: TokenError(.expired, "")) {
            try JWTVerifier(key: service.verificationKey).verify(token)
        }
        #expect(try await !peer.check(token, key: .pem(service.verificationKey.pem())).isAccepted)
    }

    @Test(
        "The peer verifies 200 signatures, including some with leading zeros",
        arguments: Peer.libraries
    )
    func manySignatures(peer: Peer) async throws {
        let service = try ES256SigningService.generate()
        let generator = JWTGenerator(payload: Self.claims, signingService: service)
        let tokens = try (0..<200).map { _ in try generator.token() }
        let verdicts = try await peer.check(tokens, key: .jwk(service.verificationKey.jwk))
        #expect(verdicts.allSatisfy { $0.isAccepted })
    }
}
