import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: tokens", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct TokenServerTests {
    @Test("Discovers a server", arguments: OAuth2Peer.allCases)
    func discovery(peer: OAuth2Peer) async throws {
        for (name, document) in [("OpenID Connect", WellKnownDocument.openID), ("RFC 8414", .oauth2)] {
            try await InteropMatrix.record("Discovery (\(name))", peer) {
                var options = AuthorizationServerDiscovery.Options()
                options.documents = [document]
                options.timing.timeout = .seconds(120)
                let find = {
                    try await AuthorizationServerDiscovery(issuer: peer.issuer, client: peer.client, options: options)
                        .server()
                }
                if peer == .glewlwyd || peer == .mock, document == .oauth2 {
                    let error = await #expect(throws: OAuth2Error.self) { try await find() }
                    #expect(error?.status == 404)
                    return .lacks
                }
                let server = try await find()
                let issuer = try peer.issuer
                #expect(server.issuer == issuer)
                #expect(server.keySetURL != nil)
                if peer == .django, document == .openID {
                    #expect(server.introspectionEndpoint == nil && server.registrationEndpoint == nil)
                    return .differs(
                        "lacks the introspection, revocation and registration endpoints of the other document"
                    )
                }
                // The mock has neither, as their rows say.
                #expect((server.introspectionEndpoint != nil) == (peer != .mock))
                #expect((server.revocationEndpoint != nil) == (peer != .mock))
                return .passed
            }
        }
    }

    @Test("Gets a token with client credentials", arguments: OAuth2Peer.allCases)
    func clientCredentials(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Client credentials", peer) {
            if peer == .idpyoidc {
                let grant = ClientCredentialsGrant(scope: "openid")
                let authentication = peer.authentication("service")
                #expect(try await peer.refusal(of: grant, authentication).code == .unsupportedTokenType)
                #expect(try await peer.refusal(of: grant, authentication).status == 500)
                return .libraryRefuses("returns the token type `access_token`; fails on the client's second request")
            }
            if peer == .mock {
                let refusal = try await peer.refusal(of: ClientCredentialsGrant(scope: "read"))
                #expect(peer.isRefusalOfGrant(refusal))
                return .lacks
            }
            let token = try await peer.source(
                ClientCredentialsGrant(scope: "read"),
                peer.authentication(peer.service)
            ).token()
            #expect(token.type.lowercased() == "bearer")
            #expect(token.scope == "read")
            #expect(token.expiry.map { $0 > .now } == true)
            return .passed
        }
    }

    @Test("Authenticates with an encoded secret in the header", arguments: OAuth2Peer.allCases)
    func secretBasic(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`client_secret_basic`", peer) {
            _ = try await peer.source(peer.grant(), peer.authentication(peer.service)).token()
            let grant = try await peer.grant()
            let wrong = StandardClientAuthentication.clientSecretBasic(clientID: peer.service, secret: Secret("wrong"))
            let error = await #expect(throws: OAuth2Error.self) { try await peer.source(grant, wrong).token() }
            switch peer {
            case .glewlwyd:
                #expect(error?.code == .protocolViolation)
                #expect(error?.status == 403)
                return .differs("doesn't decode the ID and secret; sends 403 and an empty body for wrong ones")
            case .idpyoidc:
                #expect(error?.code == .invalidClient)
                return .differs("doesn't decode the ID and secret")
            case .authlib, .canaille, .mock:
                #expect(error?.code == .invalidClient)
                return .differs("doesn't decode `+` as a space, so it works only for secrets without spaces")
            case .django:
                #expect(error?.code == .invalidClient)
                return .passed
            }
        }
    }

    @Test("Authenticates with a signed assertion", arguments: OAuth2Peer.allCases)
    func privateKeyJWT(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`private_key_jwt`", peer) {
            let server = try await peer.server()
            let service = try ES256SigningService(key: OAuth2Peer.clientKey(), keyID: "client-1")
            guard server.values(of: "token_endpoint_auth_methods_supported")?.contains("private_key_jwt") == true else {
                let assertion = StandardClientAuthentication.privateKeyJWT(
                    clientID: peer.service,
                    signingService: service
                )
                #expect(try await peer.refusal(of: peer.grant(), assertion).code == .invalidClient)
                return .lacks
            }
            let byIssuer = StandardClientAuthentication.privateKeyJWT(
                clientID: "private_key_jwt",
                signingService: service
            )
            let byURL = StandardClientAuthentication.privateKeyJWT(
                clientID: "private_key_jwt",
                signingService: service,
                audience: .tokenEndpoint
            )
            let grant = { try await peer.grant(clientID: byURL.clientID) }
            _ = try await peer.source(grant(), byURL).token()
            let other = StandardClientAuthentication.privateKeyJWT(
                clientID: "private_key_jwt",
                signingService: try ES256SigningService(key: .generate(.es256), keyID: "client-1")
            )
            await #expect(throws: OAuth2Error.self) { try await peer.source(grant(), other).token() }
            if peer == .glewlwyd || peer == .idpyoidc || peer == .canaille {
                await #expect(throws: OAuth2Error.self) { try await peer.source(grant(), byIssuer).token() }
                return .differs("requires the token endpoint's URL as the audience, not the issuer")
            }
            _ = try await peer.source(grant(), byIssuer).token()
            return .passed
        }
    }

    @Test("Verifies JWT access tokens with the published keys", arguments: OAuth2Peer.allCases)
    func accessTokens(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("JWT access tokens (RFC 9068)", peer) {
            let source = try await peer.source(peer.grant(), peer.authentication(peer.service))
            let token = try await source.token().value.expose { $0 }
            if peer == .django || peer == .mock {
                #expect(token.split(separator: ".").count == 1)
                return .lacks
            }
            let url = try #require(try await peer.server().keySetURL)
            let keys = try JWKSet(parsing: try await peer.client.makeRequest(URLRequest(url: url)))
            let audience =
                switch peer {
                case .glewlwyd: "read"
                case .idpyoidc, .canaille: peer.service
                default: "\(try peer.base)/api"
                }
            let policy = ValidationPolicy.accessToken(issuer: try peer.issuer, audience: audience)
            if peer == .idpyoidc {
                #expect(throws: TokenError(.typeMismatch, "")) {
                    try JWTVerifier(keys: keys, policy: policy).verify(token)
                }
                let lenient = ValidationPolicy(issuer: .exactly(try peer.issuer), audience: .contains(audience))
                _ = try JWTVerifier(keys: keys, policy: lenient).verify(token)
                return .differs("`typ` is missing; `aud` is the client")
            }
            if peer == .canaille {
                var strict = policy
                strict.algorithms = [.rs512]
                #expect(throws: TokenError(.typeMismatch, "")) {
                    _ = try JWTVerifier(keys: keys, policy: strict).verify(token)
                }
                var lenient = ValidationPolicy(issuer: .exactly(try peer.issuer), audience: .contains(audience))
                lenient.algorithms = [.rs512]
                let verified = try JWTVerifier(keys: keys, policy: lenient).verify(token)
                #expect(verified.registered.jwtID == nil && verified.claims["scope"] == nil)
                let refresh = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: "read"))
                let nobody = try await peer.source(refresh, peer.authentication(peer.web)).token().value.expose { $0 }
                #expect(try UnverifiedToken(nobody).unverifiedClaims["sub"] == nil)
                return .differs(
                    "`typ` is `JWT`, `aud` is the client, `scope` and `jti` are missing, and also `sub` without the "
                        + "scope `openid`, so that a client's tokens of the same second are equal for all users"
                )
            }
            let verified = try JWTVerifier(keys: keys, policy: policy).verify(token)
            #expect(verified.registered.subject == peer.service)
            #expect(verified.claims["scope"] == "read")
            return peer == .glewlwyd ? .differs("`aud` is the scope") : .passed
        }
    }
}

@Suite("OAuth 2 servers: refresh tokens", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct RefreshServerTests {
    @Test("Rotates refresh tokens, and the server rejects an old one", arguments: OAuth2Peer.allCases)
    func refresh(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Refresh token rotation", peer) {
            let first = try await peer.refreshToken(scope: peer.userScope)
            let store = InMemoryTokenStore()
            let authenticator = OAuth2Authenticator(
                client: OAuth2Client(
                    server: try await peer.server(),
                    clientAuthentication: peer.authentication(peer.web),
                    client: peer.client
                ),
                grant: RefreshTokenGrant(refreshToken: first),
                resources: .everyHTTPSOrigin,
                store: store
            )
            _ = try await authenticator.accessToken()
            // A source without the store has only the first token, which is already used.
            let late = try await peer.source(RefreshTokenGrant(refreshToken: first), peer.authentication(peer.web))
            if peer == .mock {
                _ = try await late.token()
                return .lacks
            }
            let error = await #expect(throws: OAuth2Error.self) { try await late.token() }
            switch peer {
            case .glewlwyd:
                #expect(error?.code == .protocolViolation)
                #expect(error?.status == 400)
                return .differs("responds to a used token with 400 and an empty body instead of `invalid_grant`")
            case .idpyoidc:
                #expect(error?.serverCode == "invalid_request")
                return .differs("responds to a used token with `invalid_request` instead of `invalid_grant`")
            case .canaille:
                #expect(error?.code == .reauthenticationRequired)
                let oauth = try await peer.oauth()
                let refresh = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: peer.userScope))
                let issued = try await oauth.tokens(for: refresh)
                _ = try await peer.post("/test/expire", ["token": issued.accessToken.value.expose { $0 }])
                let next = RefreshTokenGrant(refreshToken: try #require(issued.refreshToken))
                let expired = await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: next) }
                #expect(expired?.code == .reauthenticationRequired)
                return .differs("a refresh token expires with its access token")
            case .django, .authlib, .mock:
                #expect(error?.code == .reauthenticationRequired)
                return .passed
            }
        }
    }

    @Test("Reuse of a refresh token revokes its successors", arguments: OAuth2Peer.allCases)
    func reuse(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Refresh token reuse detection", peer) {
            let oauth = try await peer.oauth()
            let first = try await peer.refreshToken(scope: peer.userScope)
            let renewed = try await oauth.tokens(for: RefreshTokenGrant(refreshToken: first)).refreshToken
            if peer == .mock {
                #expect(renewed == first)
                return .lacks
            }
            let second = try #require(renewed)
            let third = try #require(await oauth.tokens(for: RefreshTokenGrant(refreshToken: second)).refreshToken)
            await #expect(throws: OAuth2Error.self) {
                try await oauth.tokens(for: RefreshTokenGrant(refreshToken: first))
            }
            let latest = await Task { try await oauth.tokens(for: RefreshTokenGrant(refreshToken: third)) }.result
            switch peer {
            case .glewlwyd, .django:
                #expect(throws: OAuth2Error.self) { try latest.get() }
                return .passed
            case .authlib, .idpyoidc, .canaille, .mock:
                _ = try latest.get()
                return .lacks
            }
        }
    }

    @Test("A client can repeat a refresh for a while if it lost the response", arguments: OAuth2Peer.allCases)
    func grace(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Grace period for lost refresh responses", peer) {
            let scope = peer.userScope
            guard peer == .django else {
                let oauth = try await peer.oauth()
                let first = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: scope))
                _ = try await oauth.tokens(for: first)
                // Without rotation, there's no response to lose.
                guard peer != .mock else { return .lacks }
                await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: first) }
                return .lacks
            }
            let base = try Interop.required("INTEROP_DJANGO_GRACE")
            var options = AuthorizationServerDiscovery.Options()
            options.documents = [.oauth2]
            let oauth = OAuth2Client(
                server: try await AuthorizationServerDiscovery(issuer: base, client: peer.client, options: options)
                    .server(),
                clientAuthentication: peer.authentication(peer.web),
                client: peer.client,
                timing: .init(timeout: .seconds(120))
            )
            let form = ["client_id": peer.web, "scope": scope]
            let answer = try await peer.post("/test/refresh-token", form, base: base)
            let first = RefreshTokenGrant(refreshToken: Secret(try #require(answer["refresh_token"]?.string)))
            _ = try await oauth.tokens(for: first)
            let again = try await oauth.tokens(for: first)
            #expect(try await oauth.introspect(again.accessToken.value).isActive)
            // The grace period ends when the client uses the new refresh token.
            let next = RefreshTokenGrant(refreshToken: try #require(again.refreshToken))
            let latest = RefreshTokenGrant(refreshToken: try #require(await oauth.tokens(for: next).refreshToken))
            for dead in [first, latest] {
                let error = await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: dead) }
                #expect(error?.code == .reauthenticationRequired)
            }
            return .passed
        }
    }
}

@Suite("OAuth 2 servers: codes", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct CodeServerTests {
    @Test("Gets tokens with a code and PKCE, and checks the response", arguments: OAuth2Peer.allCases)
    func code(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Authorization code with PKCE", peer) {
            let server = try await peer.server()
            let oauth = try await peer.oauth()
            let scope = peer == .idpyoidc ? "openid" : "openid read"
            let request = try oauth.authorizationRequest(
                redirectURI: "https://client.example/callback",
                scope: scope
            )
            let url = try request.url(at: server)
            let redirect = try await peer.answer(to: url)
            let grant = try request.grant(from: redirect, of: server)
            let tokens = try await oauth.tokens(for: grant, idToken: idTokenRule(of: peer, server))
            if peer != .mock { #expect(try await oauth.introspect(tokens.accessToken.value).isActive) }
            // A stolen code, redeemed with another code verifier.
            let other = try oauth.authorizationRequest(
                redirectURI: "https://client.example/callback",
                scope: scope
            )
            let stolen = try await peer.answer(to: other.url(at: server))
            #expect(throws: OAuth2Error(.stateMismatch, "")) { try request.grant(from: stolen, of: server) }
            let swapped = try AuthorizationRequest(
                clientID: peer.web,
                redirectURI: "https://client.example/callback",
                scope: scope,
                state: other.state
            )
            let forged = try swapped.grant(from: stolen, of: server)
            if peer == .mock {
                _ = try await oauth.tokens(for: forged, idToken: .skipIDTokenCheck)
                return .differs("ignores the code challenge, so it also accepts codes without their verifiers")
            }
            await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: forged, idToken: .skipIDTokenCheck) }
            guard peer == .canaille else { return .passed }
            return .differs("signs ID tokens with RS512 for clients that have no algorithm, instead of RS256")
        }
    }

    @Test("A public client requires the code verifier", arguments: OAuth2Peer.allCases)
    func publicClient(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`none`", peer) {
            var configuration = try await peer.server()
            if peer == .idpyoidc {
                configuration.tokenEndpoint = try #require(URL(string: try peer.base + "/public-token"))
            }
            let server = configuration
            func tokens(_ clientID: String, isForged: Bool = false) async throws -> IssuedTokens {
                let oauth = OAuth2Client(
                    server: server,
                    clientAuthentication: .none(clientID: clientID),
                    client: peer.client,
                    timing: .init(timeout: .seconds(120))
                )
                let request = try AuthorizationRequest(
                    clientID: clientID,
                    redirectURI: "https://client.example/callback",
                    scope: peer == .glewlwyd ? "openid read" : "openid"
                )
                let back = try await peer.answer(to: request.url(at: server), clientID: clientID)
                let other = try AuthorizationRequest(
                    clientID: clientID,
                    redirectURI: "https://client.example/callback",
                    state: request.state
                )
                let grant = try (isForged ? other : request).grant(from: back, of: server)
                return try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
            }
            if peer == .mock {
                let error = await #expect(throws: OAuth2Error.self) { try await tokens("none") }
                #expect(error?.code == .invalidClient)
                return .serverRefuses("registers such clients, but its token endpoint rejects them")
            }
            #expect(try await tokens("none").accessToken.type.lowercased() == "bearer")
            await #expect(throws: OAuth2Error.self) { try await tokens("none", isForged: true) }
            // A client with a secret must authenticate with it.
            if peer == .idpyoidc {
                _ = try await tokens(peer.web)
                return .differs("an endpoint that accepts such clients doesn't require any client's secret")
            }
            await #expect(throws: OAuth2Error.self) { try await tokens(peer.web) }
            return .passed
        }
    }

    /// Returns the check of ID tokens, for the servers whose keys have no `alg`.
    ///
    /// The others sign with different algorithms, which the test isn't about.
    private func idTokenRule(of peer: OAuth2Peer, _ server: AuthorizationServer) throws -> IDTokenRule {
        let algorithm: JWSAlgorithm
        switch peer {
        case .canaille: algorithm = .rs512
        case .mock: algorithm = .rs256
        default: return .skipIDTokenCheck
        }
        var keys = IssuerKeys.url(try #require(server.keySetURL), client: peer.client)
        keys.selection = KeySelection(assumedAlgorithms: [algorithm])
        return .verified(
            by: IDTokenVerifier(issuer: server.issuer, clientID: peer.web, keys: keys, algorithms: [algorithm])
        )
    }
}
