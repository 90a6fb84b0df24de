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
                if peer == .glewlwyd, document == .oauth2 {
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
                #expect(server.introspectionEndpoint != nil && server.revocationEndpoint != nil)
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
                return .differs("returns the token type `access_token`; fails on the client's second request")
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
            let wrong = ClientSecretBasic.clientSecretBasic(clientID: peer.service, secret: Secret("wrong"))
            let error = await #expect(throws: OAuth2Error.self) { try await peer.source(grant, wrong).token() }
            switch peer {
            case .glewlwyd:
                #expect(error?.code == .protocolViolation)
                #expect(error?.status == 403)
                return .differs("doesn't decode the ID and secret; sends 403 and an empty body for wrong ones")
            case .idpyoidc:
                #expect(error?.code == .invalidClient)
                return .differs("doesn't decode the ID and secret")
            case .authlib:
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
                let assertion = JWTClientAuthentication.privateKeyJWT(clientID: peer.service, signingService: service)
                #expect(try await peer.refusal(of: peer.grant(), assertion).code == .invalidClient)
                return .lacks
            }
            let byIssuer = JWTClientAuthentication.privateKeyJWT(clientID: "private_key_jwt", signingService: service)
            let byURL = JWTClientAuthentication.privateKeyJWT(
                clientID: "private_key_jwt",
                signingService: service,
                audience: .tokenEndpoint
            )
            let grant = { try await peer.grant(clientID: byURL.clientID) }
            _ = try await peer.source(grant(), byURL).token()
            let other = JWTClientAuthentication.privateKeyJWT(
                clientID: "private_key_jwt",
                signingService: try ES256SigningService(key: .generate(.es256), keyID: "client-1")
            )
            await #expect(throws: OAuth2Error.self) { try await peer.source(grant(), other).token() }
            if peer == .glewlwyd || peer == .idpyoidc {
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
            if peer == .django {
                #expect(token.split(separator: ".").count == 1)
                return .lacks
            }
            let url = try #require(try await peer.server().keySetURL)
            let keys = try JWKSet(parsing: try await peer.client.makeRequest(URLRequest(url: url)))
            let audience =
                switch peer {
                case .glewlwyd: "read"
                case .idpyoidc: peer.service
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
            let first = try await peer.refreshToken(scope: peer == .idpyoidc ? "openid" : "read")
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
            let error = await #expect(throws: OAuth2Error.self) { try await late.token() }
            switch peer {
            case .glewlwyd:
                #expect(error?.code == .protocolViolation)
                #expect(error?.status == 400)
                return .differs("responds to a used token with 400 and an empty body instead of `invalid_grant`")
            case .idpyoidc:
                #expect(error?.serverCode == "invalid_request")
                return .differs("responds to a used token with `invalid_request` instead of `invalid_grant`")
            case .django, .authlib:
                #expect(error?.code == .reauthenticationRequired)
                return .passed
            }
        }
    }

    @Test("Reuse of a refresh token revokes its successors", arguments: OAuth2Peer.allCases)
    func reuse(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Refresh token reuse detection", peer) {
            let oauth = try await peer.oauth()
            let first = try await peer.refreshToken(scope: peer == .idpyoidc ? "openid" : "read")
            let second = try #require(await oauth.tokens(for: RefreshTokenGrant(refreshToken: first)).refreshToken)
            let third = try #require(await oauth.tokens(for: RefreshTokenGrant(refreshToken: second)).refreshToken)
            await #expect(throws: OAuth2Error.self) {
                try await oauth.tokens(for: RefreshTokenGrant(refreshToken: first))
            }
            let latest = await Task { try await oauth.tokens(for: RefreshTokenGrant(refreshToken: third)) }.result
            switch peer {
            case .glewlwyd, .django:
                #expect(throws: OAuth2Error.self) { try latest.get() }
                return .passed
            case .authlib, .idpyoidc:
                _ = try latest.get()
                return .lacks
            }
        }
    }

    @Test("A client can repeat a refresh for a while if it lost the response", arguments: OAuth2Peer.allCases)
    func grace(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Grace period for lost refresh responses", peer) {
            let scope = peer == .idpyoidc ? "openid" : "read"
            guard peer == .django else {
                let oauth = try await peer.oauth()
                let first = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: scope))
                _ = try await oauth.tokens(for: first)
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
            let redirect = try await answer(to: url, of: peer)
            let grant = try request.grant(from: redirect, of: server)
            // The servers sign ID tokens with different algorithms, which this test isn't about.
            let tokens = try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
            #expect(try await oauth.introspect(tokens.accessToken.value).isActive)
            // A stolen code, redeemed with another code verifier.
            let other = try oauth.authorizationRequest(
                redirectURI: "https://client.example/callback",
                scope: scope
            )
            let stolen = try await answer(to: other.url(at: server), of: peer)
            #expect(throws: OAuth2Error(.stateMismatch, "")) { try request.grant(from: stolen, of: server) }
            let swapped = try AuthorizationRequest(
                clientID: peer.web,
                redirectURI: "https://client.example/callback",
                scope: scope,
                state: other.state
            )
            let forged = try swapped.grant(from: stolen, of: server)
            await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: forged, idToken: .skipIDTokenCheck) }
            return .passed
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
                let back = try await answer(to: request.url(at: server), of: peer, clientID: clientID)
                let other = try AuthorizationRequest(
                    clientID: clientID,
                    redirectURI: "https://client.example/callback",
                    state: request.state
                )
                let grant = try (isForged ? other : request).grant(from: back, of: server)
                return try await oauth.tokens(for: grant, idToken: .skipIDTokenCheck)
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

    /// Returns the URL to which the authorization endpoint redirects the signed-in user `ada`.
    private func answer(to url: URL, of peer: OAuth2Peer, clientID: String? = nil) async throws -> URL {
        let client = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
        var request = URLRequest(url: url)
        switch peer {
        case .authlib, .idpyoidc: break
        case .django: request.setValue(try await peer.djangoSession(), forHTTPHeaderField: "Cookie")
        case .glewlwyd:
            let cookie = try await peer.glewlwydSession(clientID: clientID)
            request = URLRequest(url: try #require(URL(string: url.absoluteString + "&g_continue")))
            request.setValue(cookie, forHTTPHeaderField: "Cookie")
        }
        let back = try await #require(throws: ServerError.self, "the authorization endpoint didn't redirect") {
            try await client.makeRequest(request)
        }
        let location = try #require(back.headers["Location"], "the status was \(back.errorCode)")
        return try #require(URL(string: location))
    }
}
