import Foundation
import FoundationNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

@Suite("OAuth 2 servers: grants", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(10)))
struct GrantServerTests {
    @Test("A secret in the body", arguments: OAuth2Peer.allCases)
    func secretPost(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`client_secret_post`", peer) {
            let id = peer == .django ? peer.service : "client_secret_post"
            let authentication = ClientSecretPost(clientID: id, secret: peer.secret)
            _ = try await peer.source(peer.grant(clientID: id), authentication).token()
            let wrong = ClientSecretPost(clientID: id, secret: Secret("wrong"))
            await #expect(throws: OAuth2Error.self) { try await peer.source(peer.grant(clientID: id), wrong).token() }
            return .passed
        }
    }

    @Test("An assertion that is signed with the secret", arguments: OAuth2Peer.allCases)
    func secretJWT(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`client_secret_jwt`", peer) {
            let id = "client_secret_jwt"
            let methods = try await peer.server().values(of: "token_endpoint_auth_methods_supported")
            guard methods?.contains(id) == true else {
                let assertion = try ClientSecretJWT(clientID: peer.service, secret: peer.secret)
                #expect(try await peer.refusal(of: peer.grant(), assertion).code == .invalidClient)
                return .lacks
            }
            let byURL = try ClientSecretJWT(clientID: id, secret: peer.secret, audience: .tokenEndpoint)
            _ = try await peer.source(peer.grant(clientID: id), byURL).token()
            let byIssuer = try ClientSecretJWT(clientID: id, secret: peer.secret)
            if peer == .glewlwyd || peer == .idpyoidc {
                await #expect(throws: OAuth2Error.self) {
                    try await peer.source(peer.grant(clientID: id), byIssuer).token()
                }
                return .differs("wants the token endpoint's URL as the audience, not the issuer")
            }
            _ = try await peer.source(peer.grant(clientID: id), byIssuer).token()
            return .passed
        }
    }

    @Test("An assertion about a user", arguments: OAuth2Peer.allCases)
    func jwtBearer(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("JWT bearer", peer) {
            let type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
            let grant = JWTBearerGrant(
                issuer: peer.web,
                subject: "ada",
                audience: try peer.issuer,
                signingService: try ES256SigningService(key: OAuth2Peer.clientKey(), keyID: "client-1"),
                scope: "read"
            )
            guard try await peer.server().values(of: "grant_types_supported")?.contains(type) == true else {
                #expect(try await peer.isRefusalOfGrant(peer.refusal(of: grant)))
                return .lacks
            }
            let token = try await peer.source(grant, peer.authentication(peer.web)).token()
            #expect(try await peer.oauth().introspect(token.value).subject == "ada")
            return .passed
        }
    }

    @Test("One token is exchanged for another", arguments: OAuth2Peer.allCases)
    func exchange(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Token exchange", peer) {
            let type = "urn:ietf:params:oauth:grant-type:token-exchange"
            let server = try await peer.server()
            guard server.values(of: "grant_types_supported")?.contains(type) == true else {
                #expect(try await !peer.mentions(type))
                let subject = StaticTokenSource(AccessToken(value: Secret("a-token"), requested: .now))
                let refusal = try await peer.refusal(of: TokenExchangeGrant(subject: subject, identifier: "ada"))
                #expect(peer.isRefusalOfGrant(refusal))
                return .lacks
            }
            let refresh = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: "openid profile"))
            let user = CachedTokenSource(try await peer.source(refresh, peer.authentication(peer.web)))
            let grant = TokenExchangeGrant(subject: user, identifier: "ada", scope: "profile")
            let token = try await peer.source(grant, peer.authentication(peer.web)).token()
            #expect(try await token.value != user.token().value)
            let found = try await peer.oauth().introspect(token.value)
            #expect(found.isActive)
            #expect(found.scope == ["profile"])
            return .passed
        }
    }

    @Test("A code with PKCE, whose answer is checked", arguments: OAuth2Peer.allCases)
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
            let redirect = try #require(URL(string: try await answer(to: url, of: peer)))
            let grant = try request.grant(from: redirect, of: server)
            let tokens = try await oauth.tokens(for: grant)
            #expect(try await oauth.introspect(tokens.accessToken.value).isActive)
            // The same code with another verifier: used, and not ours.
            let other = try oauth.authorizationRequest(
                redirectURI: "https://client.example/callback",
                scope: scope
            )
            let stolen = try #require(URL(string: try await answer(to: other.url(at: server), of: peer)))
            #expect(throws: OAuth2Error(.stateMismatch, "")) { try request.grant(from: stolen, of: server) }
            let swapped = try AuthorizationRequest(
                clientID: peer.web,
                redirectURI: "https://client.example/callback",
                scope: scope,
                state: other.state
            )
            let forged = try swapped.grant(from: stolen, of: server)
            await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: forged) }
            return .passed
        }
    }

    @Test("A device that a user lets in, and one that is not let in", arguments: OAuth2Peer.allCases)
    func device(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Device authorization", peer) {
            if peer == .idpyoidc {
                let server = try await peer.server()
                #expect(server.deviceAuthorizationEndpoint == nil)
                #expect(try await !peer.mentions("device_authorization_endpoint"))
                let type = "urn:ietf:params:oauth:grant-type:device_code"
                let grant = ExtensionGrant(type: type, identifier: "device", isRepeatable: true) {
                    [("device_code", "a")]
                }
                #expect(try await peer.isRefusalOfGrant(peer.refusal(of: grant)))
                return .lacks
            }
            if peer == .django {
                var server = try await peer.server()
                server.deviceAuthorizationEndpoint = URL(string: try peer.base + "/device-authorization/")
                let oauth = OAuth2Client(
                    server: server,
                    clientAuthentication: PublicClient(clientID: "device"),
                    client: peer.client,
                    options: .init(attempts: 1)
                )
                let error = await #expect(throws: OAuth2Error.self) { try await oauth.authorizeDevice(scope: "read") }
                #expect(error?.status == 500)
                return .differs("answers every device with 500 under oauthlib 4; its metadata don't name the endpoint")
            }
            let oauth = try await peer.oauth()
            let device = try await oauth.authorizeDevice(scope: peer == .glewlwyd ? "openid read" : "read")
            #expect(!device.userCode.isEmpty)
            if peer == .glewlwyd {
                let text = "\(device.verificationURI.absoluteString)?code=\(device.userCode)&g_continue"
                var request = URLRequest(url: try #require(URL(string: text)))
                request.setValue(try await peer.glewlwydSession(), forHTTPHeaderField: "Cookie")
                let browser = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
                let redirect = await #expect(throws: ServerError.self) { try await browser.makeRequest(request) }
                #expect(redirect?.headers["Location"]?.contains("deviceComplete") == true)
            } else {
                _ = try await peer.post("/test/device", ["user_code": device.userCode, "allowed": "yes"])
            }
            let tokens = try await oauth.tokens(for: device)
            #expect(try await oauth.introspect(tokens.accessToken.value).isActive)
            guard peer == .authlib else { return .passed }
            let refused = try await oauth.authorizeDevice(scope: "read")
            _ = try await peer.post("/test/device", ["user_code": refused.userCode, "allowed": "no"])
            let error = await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: refused) }
            #expect(error?.code == .authorizationDenied)
            return .passed
        }
    }

    /// Where the user `ada`, who is logged in, is sent by the authorization endpoint.
    private func answer(to url: URL, of peer: OAuth2Peer) async throws -> String {
        let client = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
        var request = URLRequest(url: url)
        switch peer {
        case .authlib, .idpyoidc: break
        case .django: request.setValue(try await peer.djangoSession(), forHTTPHeaderField: "Cookie")
        case .glewlwyd:
            let cookie = try await peer.glewlwydSession()
            request = URLRequest(url: try #require(URL(string: url.absoluteString + "&g_continue")))
            request.setValue(cookie, forHTTPHeaderField: "Cookie")
        }
        do {
            _ = try await client.makeRequest(request)
            Issue.record("the authorization endpoint did not redirect")
            return ""
        } catch let error as ServerError {
            return try #require(error.headers["Location"], "the answer was \(error.errorCode)")
        }
    }
}
