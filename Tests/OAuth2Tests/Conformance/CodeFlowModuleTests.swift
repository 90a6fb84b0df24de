import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The scenarios of oauth4webapi's conformance modules about codes and tokens, under their original
/// names.
@Suite("Conformance modules: codes and tokens", .limitedConcurrency)
struct CodeFlowModuleTests {
    @Test(
        "happy-path: code, PKCE, tokens, ID token, refresh",
        .shows("O4", "RFC 6749 §4.1", "FAPI 2.0 §5.3.3.1 (6)", "FAPI 2.0 §5.3.3.2 (1)", "happy-path")
    )
    func happyPath() async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let tokens = try await client.tokens(
                for: fixture.code(client, scope: "openid read"),
                idToken: fixture.idToken(client)
            )
            #expect(fixture.server.isActive(tokens.accessToken.value.expose { $0 }))
            #expect(tokens.accessToken.scope == "openid read")
            #expect(try fixture.claims(tokens)["sub"] == "ada")
            let claims = try #require(tokens.idToken).claims
            #expect((claims["aud"], claims["nonce"]?.string?.count) == ("public", 43))
            let refreshed = try await client.tokens(refreshing: try #require(tokens.refreshToken))
            #expect(fixture.server.isActive(refreshed.accessToken.value.expose { $0 }))
            #expect(refreshed.refreshToken != nil)
            #expect(refreshed.refreshToken != tokens.refreshToken)
        }
    }

    @Test(
        "client-secret-basic and the other client authentication methods",
        .shows("FAPI 2.0 §5.3.3.1 (2)", "client-secret-basic")
    )
    func clientAuthentications() async throws {
        try await ServerFixture.with { fixture in
            for authentication in try fixture.authentications() where authentication.clientID != "public" {
                let client = fixture.client(authentication)
                for _ in 1...2 {
                    let tokens = try await client.tokens(for: ClientCredentialsGrant(scope: "read"))
                    #expect(try fixture.claims(tokens)["client_id"]?.string == authentication.clientID)
                }
            }
        }
    }

    @Test("The server denies an unregistered authentication method, and no error has the secret")
    func wrongAuthentications() async throws {
        try await ServerFixture.with { fixture in
            let secret = Secret(ServerFixture.secret)
            let wrong: [any ClientAuthentication] = [
                StandardClientAuthentication.clientSecretBasic(clientID: "basic:é", secret: Secret("wrong")),
                StandardClientAuthentication.clientSecretBasic(clientID: "post", secret: secret),
                StandardClientAuthentication.clientSecretPost(clientID: "basic:é", secret: secret),
                StandardClientAuthentication.clientSecretBasic(clientID: "raw", secret: secret),
                StandardClientAuthentication.none(clientID: "post"),
                StandardClientAuthentication.none(clientID: "nobody"),
                try StandardClientAuthentication.clientSecretJWT(clientID: "keyed", secret: secret),
                try StandardClientAuthentication.clientSecretJWT(
                    clientID: "mac",
                    secret: Secret("another secret of thirty-two octets")
                ),
                try fixture.keyed(.custom("https://another.example")), try fixture.keyed(key: .generate(.es256)),
            ]
            for authentication in wrong {
                let error = await failure {
                    try await fixture.client(authentication).tokens(for: ClientCredentialsGrant())
                }
                #expect((error?.code, error?.serverCode, error?.status) == (.invalidClient, "invalid_client", 401))
                #expect(error?.serverText?.expose { $0.contains("error_description: ") } == true)
                #expect(error?.isRetryable == false)
                #expect(error.map { "\($0)".contains("thirty-two") } == false)
            }
            let basic = await #expect(throws: OAuth2Error.self) {
                try await fixture.client(wrong[0]).tokens(for: ClientCredentialsGrant())
            }
            #expect(basic?.serverText?.expose { $0.hasSuffix(#"WWW-Authenticate: Basic realm="mock""#) } == true)
            // A public client has no credentials.
            let error = await failure { try await fixture.client().tokens(for: ClientCredentialsGrant()) }
            #expect((error?.code, error?.serverCode) == (.requestRejected, "unauthorized_client"))
        }
    }

    @Test(
        "FAPI: the audience of an assertion is the issuer, as a string, and each assertion is new",
        .shows("FAPI 2.0 §5.3.3.1 (5)")
    )
    func assertionAudience() async throws {
        try await ServerFixture.with { fixture in
            let issuer = fixture.client(try fixture.keyed())
            for _ in 1...3 { _ = try await issuer.tokens(for: ClientCredentialsGrant()) }
            let endpoint = fixture.client(try fixture.keyed(.tokenEndpoint))
            await #expect(throws: OAuth2Error(.invalidClient, "")) {
                try await endpoint.tokens(for: ClientCredentialsGrant())
            }
            // The retry after the server's failure has a new assertion.
            fixture.server.misbehave(.unavailable(retryAfter: "0"), .lostAnswer)
            _ = try await fixture.client(try fixture.keyed(), attempts: 4).tokens(for: ClientCredentialsGrant())
            let assertions = fixture.server.server.requests(for: "/token").compactMap {
                $0.formValue("client_assertion")
            }
            let claims = try assertions.map { try UnverifiedToken($0).unverifiedClaims }
            #expect(claims.contains { $0["aud"] == .string(fixture.server.metadata.issuer) })
            let identifiers = claims.map { $0["jti"]?.string }
            #expect(assertions.count == 7)
            #expect(Set(identifiers).count == 7)
        }
    }

    @Test(
        "Accepts unusual token responses, without guessing what they omit",
        .shows(
            "no-scope-in-token-endpoint-response",
            "token-endpoint-response-without-expires_in",
            "token-type-case-insensitivity"
        ),
        arguments: [
            ("token-type-case-insensitivity", .members(["token_type": "bearer"]), "bearer"),
            ("token-type-case-insensitivity", .members(["token_type": "BEARER"]), "BEARER"),
            ("token-type-case-insensitivity", .members(["token_type": "bEaReR"]), "bEaReR"),
            ("token-endpoint-response-without-expires_in", .noLifetime, "Bearer"),
            ("no-scope-in-token-endpoint-response", .members(["scope": nil]), "Bearer"),
        ] as [(String, MockAuthorizationServer.Fault, String)]
    )
    func tolerance(module: String, fault: MockAuthorizationServer.Fault, type: String) async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            let grant = try await fixture.code(client, scope: "openid read")
            fixture.server.misbehave(fault)
            let tokens = try await client.tokens(for: grant, idToken: fixture.idToken(client))
            #expect(fixture.server.isActive(tokens.accessToken.value.expose { $0 }))
            #expect(try fixture.claims(tokens)["scope"] == "openid read")
            #expect(tokens.accessToken.type == type)
            #expect((tokens.accessToken.expiry == nil) == module.hasSuffix("expires_in"))
            #expect(tokens.accessToken.scope == (module.hasPrefix("no-scope") ? nil : "openid read"))
        }
    }

    @Test(
        "discovery-issuer-mismatch: rejects metadata of another issuer at each location",
        .shows("FAPI 2.0 §5.3.3.1 (9)", "FAPI 2.0 §5.3.3.1 (11)", "discovery-issuer-mismatch")
    )
    func otherIssuer() async throws {
        try await ServerFixture.with { fixture in
            let issuer = fixture.server.metadata.issuer
            for other in ["https://another.example", issuer + "/", issuer.uppercased()] {
                fixture.server.misbehave(at: .metadata, .members(["issuer": .string(other)]))
                await #expect(throws: OAuth2Error(.issuerMismatch, "")) {
                    try await AuthorizationServerDiscovery(issuer: issuer, client: fixture.network).server()
                }
            }
            fixture.server.misbehave(at: .metadata, .members(["issuer": nil]))
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await AuthorizationServerDiscovery(issuer: issuer, client: fixture.network).server()
            }
            let found = try await AuthorizationServerDiscovery(issuer: issuer, client: fixture.network).server()
            #expect(found == fixture.server.metadata)
        }
    }

    @Test(
        "Rejects a manipulated authorization response without using its code",
        .shows(
            "G12",
            "RFC 6749 §4.1",
            "RFC 9207",
            "FAPI 2.0 §5.3.3.1 (12)",
            "FAPI 2.0 §5.3.3.2 (5)",
            "ensure-authorization-response-with-invalid-missing-state-fails",
            "ensure-authorization-response-with-invalid-state-fails",
            "invalid-authorization-response-iss",
            "remove-authorization-response-iss"
        ),
        arguments: [
            ("remove-authorization-response-iss", ["iss": nil], .issuerMismatch),
            ("invalid-authorization-response-iss", ["iss": "https://another.example"], .issuerMismatch),
            (
                "ensure-authorization-response-with-invalid-missing-state-fails", ["state": nil],
                .stateMismatch
            ),
            ("ensure-authorization-response-with-invalid-state-fails", ["state": "another"], .stateMismatch),
        ] as [(String, [String: String?], OAuth2Error.Code)]
    )
    func invalidResponses(module: String, parameters: [String: String?], code: OAuth2Error.Code) async throws {
        try await ServerFixture.with { fixture in
            let client = fixture.client()
            fixture.server.misbehave(at: .authorization, .redirectParameters(parameters))
            #expect(await failureCode { try await fixture.code(client) } == code, "\(module)")
            #expect(fixture.server.tokenRequestCount == 0)
            // The next response is valid.
            _ = try await client.tokens(for: fixture.code(client))
        }
    }

    @Test(
        "Rejects another server's authorization response before using its code (mix-up attack)",
        .shows("G12", "RFC 9207", "FAPI 2.0 §5.3.3.2 (5)")
    )
    func mixUp() async throws {
        try await ServerFixture.with { honest in
            try await ServerFixture.with { attacker in
                let client = honest.client()
                let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI)
                let redirect = try await attacker.server.visit(
                    try request.url(at: attacker.server.metadata),
                    client: honest.network
                )
                await #expect(throws: OAuth2Error(.issuerMismatch, "")) {
                    try await request.grant(from: redirect, of: client.server)
                }
                #expect(honest.server.tokenRequestCount + attacker.server.tokenRequestCount == 0)
            }
        }
    }

    @Test(
        "happy-path-no-dpop-nonce: binds the code to the key, with and without nonces",
        .shows(
            "RFC 9449 §10",
            "FAPI 2.0 §5.3.3.1 (1)",
            "FAPI 2.0 §5.3.3.1 (8)",
            "FAPI 2.0 §5.3.3.1 (note 2)",
            "happy-path-no-dpop-nonce"
        ),
        arguments: [false, true]
    )
    func dpop(requiresNonces: Bool) async throws {
        try await ServerFixture.with({
            $0.dpop = .required
            $0.requiresNonces = requiresNonces
        }) { fixture in
            let client = fixture.client(try fixture.keyed(), dpop: .generated())
            let grant = try await fixture.code(client)
            let tokens = try await client.tokens(for: grant)
            let thumbprint = try #require(tokens.accessToken.proofGenerator?.thumbprint)
            #expect(tokens.accessToken.type == "DPoP")
            #expect(try fixture.claims(tokens)["cnf"] == ["jkt": .string(thumbprint)])
            #expect(fixture.server.tokenRequestCount == (requiresNonces ? 2 : 1))
            _ = try await client.tokens(refreshing: try #require(tokens.refreshToken))
            // A stolen code and its verifier are useless without the key.
            let stolen = try await fixture.code(client)
            let thief = fixture.client(try fixture.keyed(), dpop: .generated())
            let error = await failure { try await thief.tokens(for: stolen) }
            #expect(error?.code == .reauthenticationRequired)
            #expect(error?.serverText?.expose { $0.contains("a different key") } == true)
        }
    }

    @Test("Works with a server that accepts only pushed requests")
    func pushedOnly() async throws {
        try await ServerFixture.with({ $0.requiresPushedAuthorizationRequests = true }) { fixture in
            let client = fixture.client()
            let known = try await client.server
            #expect(known.requiresPushedAuthorizationRequests)
            let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI)
            await #expect(throws: OAuth2Error(.malformedRequest, "")) { try await request.url(at: client.server) }
            // A client without the server's metadata would send this.
            var naive = known.metadata
            naive["require_pushed_authorization_requests"] = nil
            let server = try await AuthorizationServer(metadata: naive, issuer: client.server.issuer)
            let refused = URLRequest(url: try request.url(at: server))
            let error = await #expect(throws: ServerError.self) { try await fixture.network.makeRequest(refused) }
            #expect(error?.errorCode == 400)
            let pushed = try await client.push(request).url(at: client.server)
            let redirect = try await fixture.server.visit(pushed, client: fixture.network)
            _ = try await client.tokens(for: request.grant(from: redirect, of: client.server))
        }
    }
}
