import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// Access tokens that are signed and then encrypted (RFC 9068 §4).
@Suite("AccessTokenVerifier: encrypted tokens", .limitedConcurrency)
struct EncryptedAccessTokenTests {
    private var api: GuardedAPI
    private let key: DecryptionKey
    private let recipient: EncryptionKey

    init() throws {
        key = try DecryptionKey.generate(.ecdhESA256KW).identified(by: "rs-1")
        recipient = key.encryptionKey
        api = try GuardedAPI()
        api.verifier.decrypter = JWEDecrypter(keys: [key], policy: Self.policy)
    }

    private static var policy: DecryptionPolicy {
        DecryptionPolicy(algorithms: [.ecdhESA256KW], encryptions: [.a256GCM])
    }

    @Test("Accepts a nested token, also from the server's discovered keys", .shows("O26", "RFC 9068 §4"))
    func accepted() async throws {
        let token = try await api.verify(bearer: recipient.encrypt(signedToken: api.token()))
        #expect(token.subject == "ada" && token.clientID == "shop" && token.scope.count == 2)
        #expect(api.issuer.fetchCount == 1)
    }

    @Test(
        "Rejects a token that is only signed, and one that is encrypted without a decrypter",
        .shows("E20", "RFC 9068 §4")
    )
    func registration() async throws {
        let signed = try api.token()
        #expect(await api.verifier.flaw(of: signed) == .algorithmMismatch)
        var plain = api
        plain.verifier.decrypter = nil
        #expect(try await plain.verify(bearer: signed).subject == "ada")
        let nested = try recipient.encrypt(signedToken: signed)
        let error = await #expect(throws: AccessRefusal(.invalidToken, "")) { try await plain.verify(bearer: nested) }
        #expect((error?.cause as? TokenError)?.code == .malformedToken)
        #expect(error?.message.contains("encrypted") == true)
    }

    @Test(
        "Each invalid nested token has its own error, before the issuer's keys are loaded",
        .shows("E21", "RFC 9068 §4")
    )
    func refusals() async throws {
        let signed = try api.token()
        let other = try DecryptionKey.generate(.ecdhESA256KW).identified(by: "rs-1").encryptionKey
        let stranger = try DecryptionKey.generate(.rsaOAEP256).encryptionKey
        let nested = try recipient.encrypt(signedToken: signed)
        let cases: [(String, TokenError.Code)] = [
            (try other.encrypt(signedToken: signed), .decryptionFailed),
            (try stranger.encrypt(signedToken: signed), .algorithmMismatch),
            (try recipient.encrypt(signedToken: signed, encryption: .a128GCM), .algorithmMismatch),
            (try recipient.encrypt(api.claims()), .typeMismatch),
            (try recipient.encrypt(Data(signed.utf8), header: ["cty": "at+jwt"]), .typeMismatch),
            (try recipient.encrypt(Data(nested.utf8), header: ["cty": "JWT"]), .malformedToken),
            (try recipient.encrypt(Data("{}".utf8), header: ["cty": "JWT"]), .malformedToken),
            (String(nested.dropLast(4)) + "AAAA", .decryptionFailed),
            (try recipient.encrypt(Data(repeating: 65, count: 300_000), header: ["cty": "JWT"]), .tooLarge),
        ]
        for (index, (token, code)) in cases.enumerated() {
            #expect(await api.verifier.flaw(of: token) == code, "case \(index)")
        }
        #expect(api.issuer.fetchCount <= 1)
    }

    @Test("Verifies the signed token inside like any other", .shows("RFC 8725bis §3.11 (nested)"))
    func inner() async throws {
        let stranger = try IssuerKey(id: "1")
        let cases: [(String, TokenError.Code)] = [
            (try api.token(key: stranger), .signatureInvalid), (try api.token(["exp": 1]), .expired),
            (try api.token(type: "JWT"), .typeMismatch), (try api.token(["aud": "other"]), .audienceMismatch),
        ]
        for (token, code) in cases {
            #expect(await api.verifier.flaw(of: try recipient.encrypt(signedToken: token)) == code)
        }
        let header: JSONObject = ["iss": "https://evil.example"]
        let mixed = try recipient.encrypt(signedToken: try api.token(), header: header)
        #expect(await api.verifier.flaw(of: mixed) == .issuerMismatch)
    }

    @Test("A DPoP proof covers the encrypted token")
    func bound() async throws {
        let prover = try DPoPProofGenerator(key: .generate(.es256))
        let signed = try api.token(["cnf": ["jkt": .string(prover.thumbprint)]])
        let nested = try recipient.encrypt(signedToken: signed)
        func proof(_ token: String) throws -> String {
            try prover.proof(method: "GET", url: GuardedAPI.url, accessToken: token, date: api.issuer.time.date)
        }
        #expect(try await api.verify(dpop: nested, proof: proof(nested)).binding == .key)
        let inner = try proof(signed)
        await #expect(throws: AccessRefusal(.invalidProof, "")) { try await api.verify(dpop: nested, proof: inner) }
    }

    @Test("Selects the issuer by the signed token inside")
    func issuers() async throws {
        let partnerKey = try IssuerKey(id: "1")
        let partners = JWKSet(keys: [partnerKey.jwk])
        var verifier = try AccessTokenVerifier(
            issuers: [
                TrustedIssuer(issuer: PublishedKeys.issuer, keys: .remote(api.issuer.keySet())),
                TrustedIssuer(issuer: "https://partners.example", keys: .fixed(partners)),
            ],
            audience: GuardedAPI.audience
        ).at(api.issuer.time)
        verifier.decrypter = api.verifier.decrypter
        let theirs = try api.token(["iss": "https://partners.example"], key: partnerKey)
        let nested = try recipient.encrypt(signedToken: theirs)
        #expect(try await verifier.verify(bearer: nested).issuer == "https://partners.example")
        let mine = try recipient.encrypt(signedToken: try api.token())
        #expect(try await verifier.verify(bearer: mine).issuer == PublishedKeys.issuer)
        #expect(await verifier.flaw(of: theirs) == .algorithmMismatch)
    }

    @Test("Introspects opaque tokens, and encrypted ones that only the server can read")
    func introspection() async throws {
        let transport = MockTransport(
            .json(#"{"active":true,"sub":"ada","aud":"https://api.example"}"#),
            .json(#"{"active":true,"sub":"bob","aud":"https://api.example"}"#)
        )
        let cache = CachedTokenIntrospection(transport, time: ManualTime())
        var mixed = api
        mixed.verifier.introspection = cache
        #expect(try await mixed.verify(bearer: "opaque").subject == "ada")
        // Its own encrypted tokens are verified here, and never sent to the server.
        let nested = try recipient.encrypt(signedToken: try api.token())
        #expect(try await mixed.verify(bearer: nested).clientID == "shop")
        #expect(transport.requests.count == 1)
        mixed.verifier.decrypter = nil
        let serverKey = try DecryptionKey.generate(.a256KW).encryptionKey
        let foreign = try serverKey.encrypt(api.claims())
        #expect(try await mixed.verify(bearer: foreign).subject == "bob")
    }

    @Test("The mock server issues encrypted access tokens")
    func mock() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.accessTokenRecipient = recipient
        try await withAuthorizationServer(configuration) { server in
            let token = try server.issueAccessToken(
                clientID: "shop",
                subject: "ada",
                audience: GuardedAPI.audience
            )
            var verifier = AccessTokenVerifier(
                issuer: server.metadata.issuer,
                audience: GuardedAPI.audience,
                keys: .fixed(server.keys)
            )
            verifier.decrypter = JWEDecrypter(key: key, policy: Self.policy)
            let request = ProtectedRequest(
                method: .get,
                url: GuardedAPI.url,
                headers: ["Authorization": "Bearer \(token)"]
            )
            #expect(try await verifier.verify(request).subject == "ada")
            #expect(server.isActive(token))
        }
    }
}
