import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestSupport
import Testing
import TokenGeneration

/// The samples of “Tokens of well-known issuers”, which are run without the issuers' servers.
@Suite("Well-known issuer samples", .limitedConcurrency)
struct IssuerSnippets {
    private let key: SigningKey
    private let time = ManualTime()

    init() throws {
        key = try SigningKey.generate(.es256)
    }

    private func token(_ claims: JSONObject) throws -> String {
        var claims = claims
        claims.setTimes(lifetime: .seconds(300))
        return try JWTGenerator(payload: claims, signingService: key).token()
    }

    func signIn(_ idToken: String, nonce: String) async throws -> VerifiedToken {
        let users = IDTokenVerifier(
            .google(hostedDomain: "example.com"),
            clientID: "1234.apps.googleusercontent.com"
        )
        let user = try await users.verify(idToken, nonce: nonce)

        if user.hasVerifiedEmail, let email = user.claims["email"]?.string {
            print("verified: \(email)")
        }
        return user
    }

    func deploy(_ token: String) async throws -> VerifiedToken {
        let jobs = RemoteJWTVerifier(
            .gitHubActions(requiring: [
                "repository_id": "456789",
                "environment": "production",
            ]),
            audience: "https://deploy.example"
        )
        let job = try await jobs.verify(token)

        let cache = InMemoryReplayCache()
        let once = try await jobs.verify(token, onceIn: cache)
        #expect(once.claims == job.claims)
        return job
    }

    func workload(_ token: String, bundleURL: URL) async throws -> SPIFFEID {
        let domains = [
            "prod.example": RemoteJWTVerifier(
                .spiffe(trustDomain: "prod.example", bundleURL: bundleURL),
                audience: "spiffe://prod.example/reports"
            )
        ]
        let sender = try UnverifiedToken(token).unverifiedClaims["sub"]?.string ?? ""
        guard let verifier = domains[try SPIFFEID(sender).trustDomain] else {
            throw TokenError(.subjectMismatch, "the trust domain is unknown")
        }
        let workload = try SPIFFEID(
            try await verifier.verify(token).registered.subject ?? ""
        )
        return workload
    }

    // The keys are ES256, which these issuers don't use, so that nothing is fetched.
    @Test("Rejects tokens of other algorithms and of unknown trust domains without any request")
    func rejected() async throws {
        let idToken = try token(["iss": "https://accounts.google.com"])
        await #expect(throws: TokenError(.algorithmMismatch, "")) { try await signIn(idToken, nonce: "n") }
        let svid = try token(["sub": "spiffe://test.example/orders"])
        let url = try #require(URL(string: "https://spire.example/bundle"))
        await #expect(throws: TokenError(.subjectMismatch, "")) { try await workload(svid, bundleURL: url) }
    }

    @Test("Compares a claim of another issuer")
    func customPolicy() throws {
        var policy = ValidationPolicy.plain(
            issuer: "https://id.example",
            audience: "orders"
        )
        policy.algorithms = [.es256]
        policy.checks = [.claim("tenant", is: "acme")]

        let verifier = JWTVerifier(key: key.verificationKey, policy: policy)
        let claims: JSONObject = ["iss": "https://id.example", "aud": "orders", "tenant": "acme"]
        #expect(try verifier.verify(token(claims)).claims["tenant"] == "acme")
        var other = claims
        other["tenant"] = "other"
        #expect(throws: TokenError(.claimMismatch, "")) { try verifier.verify(token(other)) }
    }

    @Test("Shares keys between two clients of one provider")
    func sharedKeys() async throws {
        let transport = MockTransport(.json(#"{"keys":[]}"#), time: time.timeSource)
        let client = NetworkClient(transport: transport, options: .init(timeSource: time.timeSource))
        let provider = IdentityProvider.apple()
        let keys = RemoteKeySet(provider, client: client)
        let app = IDTokenVerifier(provider, clientID: "com.example.shop", keys: keys)
        let web = IDTokenVerifier(provider, clientID: "com.example.web", keys: keys)
        for verifier in [app, web] {
            let text = try token(["iss": "https://appleid.apple.com"])
            await #expect(throws: TokenError(.algorithmMismatch, "")) { try await verifier.verify(text, nonce: nil) }
        }
        #expect(transport.requests.count == 1)
    }

    @Test("Verifies the tokens of a service account with local keys")
    func localKeys() throws {
        let keys = JWKSet(keys: [key.verificationKey.jwk])
        let verifier = JWTVerifier(
            .kubernetes(
                issuer: "https://cluster.example",
                namespace: "shop",
                serviceAccount: "orders"
            ),
            audience: "https://api.example",
            keys: keys
        )
        let claims: JSONObject = [
            "iss": "https://cluster.example", "sub": "system:serviceaccount:shop:orders",
            "aud": ["https://api.example"],
            "kubernetes.io": [
                "namespace": "shop", "serviceaccount": ["name": "orders", "uid": "1"],
                "pod": ["name": "orders-1", "uid": "2"],
            ],
        ]
        #expect(try verifier.verify(token(claims)).registered.subject == "system:serviceaccount:shop:orders")
    }

    @Test("Accepts an assertion once")
    func singleUse() async throws {
        let verifier = JWTVerifier(
            key: key.verificationKey,
            policy: .clientAssertion(
                audience: "https://id.example",
                clientID: "batch"
            )
        )
        let text = try token(["iss": "batch", "sub": "batch", "aud": "https://id.example", "jti": "1"])
        let cache = InMemoryReplayCache()
        let assertion = try await verifier.verify(text, onceIn: cache)
        #expect(assertion.registered.issuer == "batch")
        await #expect(throws: TokenError(.replayed, "")) { try await verifier.verify(text, onceIn: cache) }
    }

    @Test("Protects an API with an issuer's rules, and accepts each token once")
    func api() {
        var verifier = AccessTokenVerifier(
            .entra(tenants: ["8eaef023-2b34-4da1-9baa-8bc8c9d6a490"]),
            audience: "6e74172b-be56-4843-9ff4-e66a39bb12e3"
        )
        verifier.replayCache = InMemoryReplayCache()
        #expect(verifier.scopeClaim == "scp")
    }

    @Test("Protects an API with the rules of an authorization server")
    func authorizationServers() throws {
        let keycloak = AccessTokenVerifier(
            .keycloak(issuer: "https://id.example/realms/shop"),
            audience: "orders"
        )
        let auth0 = AccessTokenVerifier(
            .auth0(issuer: "https://shop.eu.auth0.com/"),
            audience: "https://orders.example"
        )
        let okta = AccessTokenVerifier(
            .okta(issuer: "https://shop.okta.com/oauth2/default"),
            audience: "api://default"
        )
        let cognito = AccessTokenVerifier(
            .cognito(
                issuer: "https://cognito-idp.eu-west-1.amazonaws.com/eu-west-1_AbC",
                clients: ["57cbishk4j24pabc1234567890"]
            ),
            audience: "https://orders.example"
        )
        #expect([keycloak, auth0, okta, cognito].map(\.scopeClaim) == ["scope", "scope", "scp", "scope"])

        let grant = ClientCredentialsGrant(
            additionalParameters: ["audience": "https://orders.example"]
        )
        #expect(try grant.parameters(at: Date())?.last?.name == "audience")
    }

    @Test("Tests an API against the double of an authorization server")
    func dialect() async throws {
        let server = try MockAuthorizationServer.start(
            configuration: .init(dialect: .keycloak),
            clients: [.init(id: "reports", secret: "s3cret-of-reports")]
        )
        let verifier = AccessTokenVerifier(
            .keycloak(issuer: server.metadata.issuer),
            audience: "account"
        )
        let token = try server.issueAccessToken(clientID: "reports", subject: "ada")
        let headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
        let found = try await verifier.verify(
            ProtectedRequest(method: .get, url: "https://api.example/", headers: headers)
        )
        await server.stop()
        #expect(found.clientID == "reports")
    }
}
