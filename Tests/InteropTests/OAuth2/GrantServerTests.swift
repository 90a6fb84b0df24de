import Foundation
import FoundationNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

@Suite("OAuth 2 servers: grants", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct GrantServerTests {
    @Test("Authenticates with a secret in the body", arguments: OAuth2Peer.allCases)
    func secretPost(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`client_secret_post`", peer) {
            let id = peer == .django ? peer.service : "client_secret_post"
            let authentication = StandardClientAuthentication.clientSecretPost(clientID: id, secret: peer.secret)
            if peer == .mock {
                let error = await #expect(throws: OAuth2Error.self) {
                    try await peer.source(peer.grant(clientID: id), authentication).token()
                }
                #expect(error?.code == .invalidClient)
                let oauth = try await peer.oauth(authentication)
                func tokens(_ oauth: OAuth2Client) async throws -> IssuedTokens {
                    let request = try oauth.authorizationRequest(
                        redirectURI: "https://client.example/callback",
                        scope: "profile"
                    )
                    let server = try await peer.server()
                    let grant = try request.grant(from: await peer.answer(to: request.url(at: server)), of: server)
                    return try await oauth.tokens(for: grant)
                }
                #expect(try await tokens(oauth).accessToken.scope == "profile")
                let wrong = StandardClientAuthentication.clientSecretPost(clientID: id, secret: Secret("wrong"))
                let stranger = try await peer.oauth(wrong)
                await #expect(throws: OAuth2Error.self) { try await tokens(stranger) }
                return .differs("accepts it for codes, but not for refresh tokens")
            }
            _ = try await peer.source(peer.grant(clientID: id), authentication).token()
            let wrong = StandardClientAuthentication.clientSecretPost(clientID: id, secret: Secret("wrong"))
            await #expect(throws: OAuth2Error.self) { try await peer.source(peer.grant(clientID: id), wrong).token() }
            return .passed
        }
    }

    @Test("Authenticates with an assertion signed with the secret", arguments: OAuth2Peer.allCases)
    func secretJWT(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("`client_secret_jwt`", peer) {
            let id = "client_secret_jwt"
            let methods = try await peer.server().values(of: "token_endpoint_auth_methods_supported")
            guard methods?.contains(id) == true else {
                let assertion = try StandardClientAuthentication.clientSecretJWT(
                    clientID: peer.service,
                    secret: peer.secret
                )
                #expect(try await peer.refusal(of: peer.grant(), assertion).code == .invalidClient)
                return .lacks
            }
            let byURL = try StandardClientAuthentication.clientSecretJWT(
                clientID: id,
                secret: peer.secret,
                audience: .tokenEndpoint
            )
            _ = try await peer.source(peer.grant(clientID: id), byURL).token()
            let byIssuer = try StandardClientAuthentication.clientSecretJWT(clientID: id, secret: peer.secret)
            if peer == .glewlwyd || peer == .idpyoidc {
                await #expect(throws: OAuth2Error.self) {
                    try await peer.source(peer.grant(clientID: id), byIssuer).token()
                }
                return .differs("requires the token endpoint's URL as the audience, not the issuer")
            }
            _ = try await peer.source(peer.grant(clientID: id), byIssuer).token()
            return .passed
        }
    }

    @Test("Gets a token with an assertion about a user", arguments: OAuth2Peer.allCases)
    func jwtBearer(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("JWT bearer", peer) {
            let type = "urn:ietf:params:oauth:grant-type:jwt-bearer"
            let grant = JWTBearerGrant(
                issuer: peer.web,
                subject: "ada",
                audience: peer == .canaille ? try await peer.server().tokenEndpoint.absoluteString : try peer.issuer,
                signingService: try ES256SigningService(key: OAuth2Peer.clientKey(), keyID: "client-1"),
                scope: "read"
            )
            guard try await peer.server().values(of: "grant_types_supported")?.contains(type) == true else {
                let refusal = try await peer.refusal(of: grant)
                guard peer == .canaille else {
                    #expect(peer.isRefusalOfGrant(refusal))
                    return .lacks
                }
                #expect(refusal.serverCode == "invalid_grant")
                return .serverRefuses("doesn't announce the grant, and rejects assertions signed with the client's key")
            }
            let token = try await peer.source(grant, peer.authentication(peer.web)).token()
            #expect(try await peer.oauth().introspect(token.value).subject == "ada")
            return .passed
        }
    }

    @Test("Exchanges one token for another", arguments: OAuth2Peer.allCases)
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
}

@Suite("OAuth 2 servers: endpoints", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct EndpointServerTests {
    @Test("Introspects a token", arguments: OAuth2Peer.allCases)
    func introspection(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Introspection", peer) {
            let oauth = try await peer.oauth()
            let token = try await userToken(of: peer)
            if peer == .mock {
                let error = await #expect(throws: OAuth2Error.self) { try await oauth.introspect(token) }
                #expect(error?.code == .endpointMissing)
                return .lacks
            }
            let found = try await oauth.introspect(token, kind: .accessToken)
            #expect(found.isActive)
            #expect(found.clientID == peer.web)
            #expect(found.scope.contains(peer.userScope))
            #expect(found.expiration.map { $0 > Date() } == true)
            #expect(try await !oauth.introspect(Secret("nobody's")).isActive)
            let stranger = try await peer.oauth(
                StandardClientAuthentication.clientSecretBasic(clientID: peer.web, secret: Secret("wrong"))
            )
            await #expect(throws: OAuth2Error.self) { try await stranger.introspect(token) }
            return .passed
        }
    }

    @Test("Revokes a token", arguments: OAuth2Peer.allCases)
    func revocation(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Revocation", peer) {
            let oauth = try await peer.oauth()
            let token = try await userToken(of: peer)
            if peer == .mock {
                let error = await #expect(throws: OAuth2Error.self) { try await oauth.revoke(token) }
                #expect(error?.code == .endpointMissing)
                return .lacks
            }
            try await oauth.revoke(token, kind: .accessToken)
            #expect(try await !oauth.introspect(token).isActive)
            let refresh = try await peer.refreshToken(scope: peer.userScope)
            try await oauth.revoke(refresh, kind: .refreshToken)
            let source = try await peer.source(RefreshTokenGrant(refreshToken: refresh), peer.authentication(peer.web))
            await #expect(throws: OAuth2Error.self) { try await source.token() }
            return .passed
        }
    }

    private func userToken(of peer: OAuth2Peer) async throws -> Secret {
        let scope = peer.userScope
        let grant = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: scope))
        return try await peer.source(grant, peer.authentication(peer.web)).token().value
    }
}

/// Tests of tokens that another program has written to a file, at servers that support their use.
@Suite("OAuth 2 servers: tokens in files", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
final class PlatformTokenServerTests {
    private let file = FileManager.default.temporaryDirectory.appending(path: "platform-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: file) }

    private func write(_ token: String) throws {
        try Data((token + "\n").utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
    }

    /// Writes a JWT that the client's key signs, as a platform would.
    private func source(issuer: String, subject: String, audience: String) throws -> FileTokenSource {
        var claims = RegisteredClaims(
            issuer: issuer,
            subject: subject,
            audience: [audience],
            jwtID: UUID().uuidString
        )
        claims.setTimes(lifetime: .seconds(300), issuedAt: Date())
        try write(OAuth2Peer.clientKey().identified(by: "client-1").sign(claims))
        return FileTokenSource(path: file.path, audience: audience)
    }

    @Test(
        "Authenticates the client with an assertion in a file",
        .shows("RFC 7521 §4.2, RFC 7523 §2.2 (of others)"),
        arguments: [OAuth2Peer.authlib, .idpyoidc]
    )
    func assertion(peer: OAuth2Peer) async throws {
        let server = try await peer.server()
        let client = "private_key_jwt"
        // See TokenServerTests.privateKeyJWT.
        let audience = peer == .idpyoidc ? server.tokenEndpoint.absoluteString : server.issuer
        let authentication = StandardClientAuthentication.signedAssertion(
            clientID: client,
            assertion: try source(issuer: client, subject: client, audience: audience)
        )
        let token = try await peer.source(peer.grant(clientID: client), authentication).token()
        let isEmpty = token.value.expose { $0.isEmpty }
        #expect(!isEmpty)
    }

    @Test("Sends an assertion in a file as a grant", arguments: [OAuth2Peer.authlib])
    func jwtBearer(peer: OAuth2Peer) async throws {
        let assertion = try source(issuer: peer.web, subject: "ada", audience: try peer.issuer)
        let grant = JWTBearerGrant(assertion: assertion, identifier: "ada", scope: "read")
        let token = try await peer.source(grant, peer.authentication(peer.web)).token()
        #expect(try await peer.oauth().introspect(token.value).subject == "ada")
    }

    @Test("Exchanges a token in a file", arguments: [OAuth2Peer.idpyoidc])
    func exchange(peer: OAuth2Peer) async throws {
        let refresh = RefreshTokenGrant(refreshToken: try await peer.refreshToken(scope: "openid profile"))
        let user = try await peer.source(refresh, peer.authentication(peer.web)).token()
        try write(user.value.expose { $0 })
        let grant = TokenExchangeGrant(
            subject: FileTokenSource(path: file.path, type: .accessToken),
            identifier: "ada",
            scope: "profile"
        )
        let token = try await peer.source(grant, peer.authentication(peer.web)).token()
        #expect(token.value != user.value)
        let found = try await peer.oauth().introspect(token.value)
        #expect(found.scope == ["profile"])
    }
}

@Suite("OAuth 2 servers: devices", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct DeviceServerTests {
    @Test("A device gets tokens when its user approves, and an error when they deny", arguments: OAuth2Peer.allCases)
    func device(peer: OAuth2Peer) async throws {
        try await InteropMatrix.record("Device authorization", peer) {
            if peer == .idpyoidc || peer == .canaille || peer == .mock {
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
                    clientAuthentication: .none(clientID: "device"),
                    client: peer.client,
                    timing: .init(attempts: 1)
                )
                let error = await #expect(throws: OAuth2Error.self) { try await oauth.authorizeDevice(scope: "read") }
                #expect(error?.status == 500)
                return .serverRefuses(
                    "responds to all devices with 500 under oauthlib 4; its metadata lacks the endpoint"
                )
            }
            let oauth = try await peer.oauth()
            let begun = try await oauth.authorizeDevice(scope: peer == .glewlwyd ? "openid read" : "read")
            #expect(!begun.userCode.isEmpty)
            // This device polls too often, and its user approves after the slow_down.
            var hasty = begun
            hasty.interval = .seconds(1)
            let device = hasty
            if peer == .authlib {
                _ = try await peer.post("/test/device", ["user_code": device.userCode, "hurries": "yes"])
            }
            let (events, continuation) = AsyncStream.makeStream(of: DeviceAuthorizationProgress.Event.self)
            async let user: Void = {
                for await event in events where event == .slowedDown { try await letIn(device, at: peer) }
            }()
            var seen: [DeviceAuthorizationProgress.Event] = []
            let result = await tokens(of: oauth, device) {
                seen.append($0)
                continuation.yield($0)
            }
            continuation.finish()
            try await user
            #expect(seen.first == .begun && seen.contains(.slowedDown))
            if peer == .glewlwyd { #expect(seen.contains(.pending)) }
            #expect(try await oauth.introspect(result.get().accessToken.value).isActive)
            guard peer == .authlib else { return .passed }
            let refused = try await oauth.authorizeDevice(scope: "read")
            _ = try await peer.post("/test/device", ["user_code": refused.userCode, "allowed": "no"])
            let error = await #expect(throws: OAuth2Error.self) { try await oauth.tokens(for: refused) }
            #expect(error?.code == .authorizationDenied)
            return .passed
        }
    }

    private func tokens(
        of oauth: OAuth2Client,
        _ device: DeviceAuthorization,
        events: (DeviceAuthorizationProgress.Event) -> Void
    ) async -> Result<IssuedTokens, any Error> {
        do {
            return .success(try await oauth.tokens(for: device) { events($0.event) })
        } catch {
            return .failure(error)
        }
    }

    /// Approves a device as the user.
    private func letIn(_ device: DeviceAuthorization, at peer: OAuth2Peer) async throws {
        guard peer == .glewlwyd else {
            _ = try await peer.post("/test/device", ["user_code": device.userCode, "allowed": "yes"])
            return
        }
        let text = "\(device.verificationURI.absoluteString)?code=\(device.userCode)&g_continue"
        var request = URLRequest(url: try #require(URL(string: text)))
        request.setValue(try await peer.glewlwydSession(), forHTTPHeaderField: "Cookie")
        let browser = NetworkClient(options: .init(timeout: .seconds(120), redirects: .never))
        let redirect = await #expect(throws: ServerError.self) { try await browser.makeRequest(request) }
        #expect(redirect?.headers["Location"]?.contains("deviceComplete") == true)
    }
}
