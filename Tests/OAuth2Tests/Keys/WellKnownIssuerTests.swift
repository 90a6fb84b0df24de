import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("Well-known issuers", .limitedConcurrency, .tags(.concurrency))
struct WellKnownIssuerTests {
    private static let audience = "https://deploy.example"

    private let time = ManualTime()

    private var now: Int { Int(time.date.timeIntervalSince1970) }

    /// Creates a server with a document for each URL, and 404 for every other URL.
    private func server(_ documents: [String: String]) -> MockTransport {
        MockTransport(time: time.timeSource) { request in
            let text = documents[request.url.absoluteString]
            return HTTPTransportResponse(
                status: text == nil ? 404 : 200,
                headers: ["Content-Type": "application/json"],
                body: Data((text ?? "{}").utf8)
            )
        }
    }

    private func client(_ transport: MockTransport) -> NetworkClient {
        NetworkClient(transport: transport, options: .init(timeSource: time.timeSource, retryBudget: nil))
    }

    private func keys(_ issuer: TokenIssuer, _ transport: MockTransport) -> IssuerKeys {
        .published(by: issuer, client: client(transport), options: .init(timeSource: time.timeSource))
    }

    private func keySet(_ issuer: TokenIssuer, _ transport: MockTransport) throws -> RemoteKeySet {
        try #require(keys(issuer, transport).keySet)
    }

    private func claims(_ members: JSONObject) -> JSONObject {
        var claims: JSONObject = [
            "aud": .string(Self.audience), "jti": "1", "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + 300)),
        ]
        for member in members { claims[member.name] = member.value }
        return claims
    }

    private func stopped(_ issuer: TokenIssuer) -> TokenIssuer {
        var issuer = issuer
        issuer.policy.currentDate = time.timeSource.date
        return issuer
    }

    // MARK: Keys

    @Test(
        "Fetches the keys from the documented URL",
        .shows("J28"),
        arguments: [
            (
                .gitHubActions(requiring: ["repository_id": "74"]),
                "https://token.actions.githubusercontent.com/.well-known/jwks"
            ),
            (.googleServiceAccounts(["a"]), "https://www.googleapis.com/oauth2/v3/certs"),
            (
                .entra(tenants: ["72f988bf-86f1-41af-91ab-2d7cd011db47"]),
                "https://login.microsoftonline.com/72f988bf-86f1-41af-91ab-2d7cd011db47/discovery/v2.0/keys"
            ),
            (
                .entraSkippingTenantCheck(version: .v1), "https://login.microsoftonline.com/common/discovery/keys"
            ),
            (
                .spiffe(trustDomain: "prod.example", bundleURL: URL(string: "https://spire.example/bundle")),
                "https://spire.example/bundle"
            ),
            (.google(), "https://www.googleapis.com/oauth2/v3/certs"),
            (.apple(), "https://appleid.apple.com/auth/keys"),
            (.entra(tenants: []), "https://login.microsoftonline.com/common/discovery/v2.0/keys"),
        ] as [(TokenIssuer, String)]
    )
    func keySetURL(issuer: TokenIssuer, url: String) async throws {
        let transport = server([url: #"{"keys":[]}"#])
        #expect(try await keySet(issuer, transport).keys().keys.isEmpty)
        #expect(transport.requests.map(\.url.absoluteString) == [url])
    }

    @Test(
        "Finds the keys in metadata that has no token endpoint, as clusters publish it",
        .shows("OpenID Connect Discovery §3"),
        arguments: [
            (
                .kubernetes(issuer: "https://cluster.example", namespace: "shop", serviceAccount: "orders"),
                "https://cluster.example"
            ),
            (
                .gitHubActions(requiring: ["repository_id": "74"], issuer: "https://ghes.example/_services/token"),
                "https://ghes.example/_services/token"
            ),
            (.gitLab(requiring: ["project_id": "20"], issuer: "https://gitlab.example"), "https://gitlab.example"),
        ] as [(TokenIssuer, String)]
    )
    func discovery(issuer: TokenIssuer, name: String) async throws {
        let transport = server([
            "\(name)/.well-known/openid-configuration":
                #"{"issuer":"\#(name)","jwks_uri":"https://10.0.0.1:6443/openid/v1/jwks"}"#,
            "https://10.0.0.1:6443/openid/v1/jwks": #"{"keys":[]}"#,
        ])
        let keys = try keySet(issuer, transport)
        #expect(try await keys.keys().keys.isEmpty)
        #expect(transport.requests.count == 2)
        // The metadata is cached longer than the keys.
        time.advance(by: .seconds(301))
        _ = try await keys.keys()
        #expect(transport.requests.count == 3)
    }

    @Test("Finds a provider's keys in its metadata if their URL isn't known")
    func providerDiscovery() async throws {
        let transport = server([
            "https://appleid.apple.com/.well-known/openid-configuration":
                #"{"issuer":"https://appleid.apple.com","jwks_uri":"https://keys.apple.com/jwks"}"#,
            "https://keys.apple.com/jwks": #"{"keys":[]}"#,
        ])
        var provider = TokenIssuer.apple()
        provider.keySetURL = nil
        #expect(try await keySet(provider, transport).keys().keys.isEmpty)
        #expect(transport.requests.count == 2)
    }

    @Test(
        "Rejects metadata of another issuer or without keys",
        .shows("I16", "OpenID Connect Discovery §3"),
        arguments: [
            (#"{"issuer":"https://other.example","jwks_uri":"https://cluster.example/jwks"}"#, .issuerMismatch),
            (#"{"issuer":"https://cluster.example/","jwks_uri":"https://cluster.example/jwks"}"#, .issuerMismatch),
            (#"{"jwks_uri":"https://cluster.example/jwks"}"#, .protocolViolation),
            (#"{"issuer":"https://cluster.example"}"#, .protocolViolation),
            (#"{"issuer":"https://cluster.example","jwks_uri":1}"#, .protocolViolation),
            (#"{"issuer":"https://cluster.example","jwks_uri":"http://cluster.example/jwks"}"#, .insecureTransport),
            (#"{"issuer":"https://cluster.example","jwks_uri":"https://127.0.0.1/jwks"}"#, .insecureTransport),
        ] as [(String, OAuth2Error.Code)]
    )
    func badMetadata(metadata: String, expected: OAuth2Error.Code) async throws {
        let transport = server(["https://cluster.example/.well-known/openid-configuration": metadata])
        let issuer = TokenIssuer.kubernetes(
            issuer: "https://cluster.example",
            namespace: "shop",
            serviceAccount: "orders"
        )
        await #expect(throws: OAuth2Error(expected, "")) { try await keySet(issuer, transport).keys() }
    }

    @Test("A trust domain without a bundle's URL needs keys from another source")
    func withoutURL() async throws {
        let transport = server([:])
        let keys = try keySet(.spiffe(trustDomain: "prod.example"), transport)
        await #expect(throws: OAuth2Error(.endpointMissing, "")) { try await keys.keys() }
        #expect(transport.requests.isEmpty)
    }

    // MARK: Verification

    @Test("Verifies a workflow's token with fetched keys, and fetches nothing for another algorithm", .shows("I1"))
    func workflow() async throws {
        let key = try IssuerKey(.rs256, id: "1")
        let published = PublishedKeys([key])
        let issuer = TokenIssuer.gitHubActions(requiring: ["repository_id": "74", "ref": "refs/heads/main"])
        var profile = issuer
        profile.policy.currentDate = published.time.timeSource.date
        let verifier = RemoteJWTVerifier(profile, audience: Self.audience, keys: .remote(published.keySet()))
        let now = Int(published.time.date.timeIntervalSince1970)
        let claims: JSONObject = [
            "iss": "https://token.actions.githubusercontent.com",
            "sub": "repo:octo-org@65/octo-repo@74:ref:refs/heads/main",
            "aud": .string(Self.audience), "jti": "1", "iat": .number(JSONNumber(now)),
            "exp": .number(JSONNumber(now + 300)), "repository_id": "74", "ref": "refs/heads/main",
        ]
        let token = try await verifier.verify(try key.token(claims))
        #expect(token.claims["repository_id"] == "74")
        #expect(published.fetchCount == 1)
        let other = try IssuerKey(.es256, id: "2")
        for keyID in ["2", nil] {
            let foreign = try other.token(claims, keyID: .some(keyID))
            await #expect(throws: TokenError(.algorithmMismatch, "")) { try await verifier.verify(foreign) }
        }
        #expect(published.fetchCount == 1)
    }

    @Test("Verifies a JWT-SVID with the keys of a bundle", .shows("JWT-SVID §3–§6"))
    func workload() async throws {
        let key = try IssuerKey(.es256, id: "1")
        var jwk = key.jwk
        jwk.members["use"] = "jwt-svid"
        jwk.members["alg"] = nil
        var certificate = jwk
        certificate.members["use"] = "x509-svid"
        certificate.members["kid"] = nil
        let bundle: JSONObject = [
            "spiffe_sequence": 1, "spiffe_refresh_hint": 60,
            "keys": [.object(certificate.members), .object(jwk.members)],
        ]
        let transport = server(["https://spire.example/bundle": bundle.serialized()])
        let issuer = stopped(
            .spiffe(trustDomain: "prod.example", bundleURL: URL(string: "https://spire.example/bundle"))
        )
        let verifier = RemoteJWTVerifier(issuer, audience: Self.audience, keys: keys(issuer, transport))
        let token = try key.token(claims(["sub": "spiffe://prod.example/orders"]))
        #expect(try await verifier.verify(token).registered.subject == "spiffe://prod.example/orders")
        let other = try key.token(claims(["sub": "spiffe://test.example/orders"]))
        await #expect(throws: TokenError(.subjectMismatch, "")) { try await verifier.verify(other) }
    }

    @Test("Verifies users of Google, whose app requested the token")
    func user() async throws {
        let key = try IssuerKey(.rs256, id: "1")
        var verifier = IDTokenVerifier(
            .google(hostedDomain: "example.com"),
            clientID: "server",
            keys: .fixed(JWKSet(keys: [key.jwk]))
        )
        verifier.currentDate = time.timeSource.date
        verifier.authorizedParties = ["app"]
        #expect(verifier.issuer == "https://accounts.google.com")
        #expect(verifier.algorithms == [.rs256])
        let rows: [(JSONObject, TokenError.Code?)] = [
            ([:], nil), (["iss": "https://accounts.google.com"], nil),
            (["iss": "https://accounts.example"], .issuerMismatch), (["azp": "other"], .authorizedPartyMismatch),
            (["hd": "other.example"], .claimMismatch), (["nonce": "m"], .nonceMismatch),
            (["aud": ["server", "other"]], .audienceMismatch),
        ]
        for (changes, code) in rows {
            var claims = claims([
                "iss": "accounts.google.com", "sub": "1", "aud": "server", "azp": "app", "hd": "example.com",
                "nonce": "n",
            ])
            for member in changes { claims[member.name] = member.value }
            let token = try key.token(claims)
            #expect(await flaw { try await verifier.verify(token, nonce: "n") } == code, "\(changes.serialized())")
        }
    }

    @Test("Rejects an ID token of another algorithm before the keys are fetched")
    func otherAlgorithm() async throws {
        let published = PublishedKeys([])
        let verifier = IDTokenVerifier(.entra(tenants: []), clientID: "c", keys: .remote(published.keySet()))
        #expect(verifier.issuer == "https://login.microsoftonline.com/{tenantid}/v2.0")
        let token = try IssuerKey(.es256, id: "1").token(["sub": "x"])
        await #expect(throws: TokenError(.algorithmMismatch, "")) { try await verifier.verify(token, nonce: nil) }
        #expect(published.fetchCount == 0)
    }

    // MARK: Kinds of tokens

    @Test("Rejects every token of a kind for which the issuer has no rules, and fetches nothing")
    func otherKind() async throws {
        let key = try IssuerKey(.rs256, id: "1")
        let published = PublishedKeys([key])
        let keys = IssuerKeys.remote(published.keySet())
        // It meets the rules for the other kind.
        let now = Int(published.time.date.timeIntervalSince1970)
        func token(_ changes: JSONObject) throws -> String {
            var claims: JSONObject = [
                "sub": "ada", "aud": "shop", "iat": .number(JSONNumber(now)), "exp": .number(JSONNumber(now + 300)),
            ]
            for member in changes { claims[member.name] = member.value }
            return try key.token(claims)
        }
        for (provider, issuer) in [
            (TokenIssuer.apple(), "https://appleid.apple.com"), (.google(), "https://accounts.google.com"),
        ] {
            let text = try token(["iss": .string(issuer)])
            var users = IDTokenVerifier(provider, clientID: "shop", keys: .fixed(JWKSet(keys: [key.jwk])))
            users.currentDate = published.time.timeSource.date
            #expect(try await users.verify(text, nonce: nil).registered.subject == "ada")
            let services = RemoteJWTVerifier(provider, audience: "shop", keys: keys)
            let error = await #expect(throws: TokenError(.typeMismatch, "")) { try await services.verify(text) }
            #expect(error?.message == "the issuer has no rules for tokens to services, only for ID tokens")
        }
        let realm = "https://id.example/realms/shop"
        let text = try token(["iss": .string(realm), "azp": "shop", "typ": "Bearer"])
        let issuer = TokenIssuer.keycloak(issuer: realm)
        var stopped = issuer
        stopped.policy.currentDate = published.time.timeSource.date
        #expect(
            try await RemoteJWTVerifier(stopped, audience: "shop", keys: .fixed(JWKSet(keys: [key.jwk]))).verify(text)
                .registered.subject == "ada"
        )
        var users = IDTokenVerifier(issuer, clientID: "shop", keys: keys)
        users.currentDate = published.time.timeSource.date
        let client = users
        let error = await #expect(throws: TokenError(.typeMismatch, "")) { try await client.verify(text, nonce: nil) }
        #expect(error?.message == "the issuer has no rules for ID tokens")
        #expect(published.fetchCount == 0)
    }

    // MARK: Single use

    @Test("Of concurrent verifications with fetched keys, exactly one succeeds")
    func singleUse() async throws {
        let key = try IssuerKey(id: "1")
        let published = PublishedKeys([key])
        let verifier = published.verifier()
        let cache = InMemoryReplayCache()
        let now = Int(published.time.date.timeIntervalSince1970)
        let token = try key.token([
            "iss": .string(PublishedKeys.issuer), "jti": "1", "exp": .number(JSONNumber(now + 60)),
        ])
        let codes = await withTaskGroup(of: TokenError.Code?.self) { group in
            for _ in 0..<50 {
                group.addTask { await flaw { try await verifier.verify(token, onceIn: cache) } }
            }
            return await group.reduce(into: [TokenError.Code?]()) { $0.append($1) }
        }
        #expect(codes.count { $0 == nil } == 1)
        #expect(codes.count { $0 == .replayed } == 49)
        #expect(published.fetchCount == 1)
    }

    @Test("A token whose key is new is remembered once")
    func rotation() async throws {
        let (old, new) = (try IssuerKey(id: "1"), try IssuerKey(id: "2"))
        let published = PublishedKeys([old])
        let verifier = published.verifier()
        let cache = InMemoryReplayCache()
        let now = Int(published.time.date.timeIntervalSince1970)
        func token(_ key: IssuerKey, _ name: String) throws -> String {
            try key.token([
                "iss": .string(PublishedKeys.issuer), "jti": .string(name), "exp": .number(JSONNumber(now + 300)),
            ])
        }
        _ = try await verifier.verify(try token(old, "a"), onceIn: cache)
        published.publish([old, new])
        published.time.advance(by: .seconds(31))
        _ = try await verifier.verify(try token(new, "b"), onceIn: cache)
        #expect(cache.count == 2)
        await #expect(throws: TokenError(.replayed, "")) {
            try await verifier.verify(try token(new, "b"), onceIn: cache)
        }
        let full = InMemoryReplayCache(capacity: 0)
        await #expect(throws: TokenError(.replayCacheFull, "")) {
            try await verifier.verify(try token(new, "c"), onceIn: full)
        }
    }
}
