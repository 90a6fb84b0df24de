import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

/// The samples of the OAuth2 catalog, run with mock servers.
@Suite("OAuth2 samples", .limitedConcurrency)
struct OAuth2Snippets {
    @Test("Authorizes requests and exposes the token for other clients")
    func overview() async throws {
        try await withServers { server, loopback in
            let (data, field) = try await reports(
                api: loopback.baseURL,
                tokenEndpoint: server.metadata.tokenEndpoint,
                secret: "s3cret"
            )
            #expect(data == Data("a report".utf8))
            #expect(field.hasPrefix("Bearer ey"))
            #expect(server.tokenRequestCount == 1)
        }
    }

    @Test("Discovers a server, and introspects and revokes a token")
    func asking() async throws {
        try await withServers { server, _ async throws in
            server.register(.init(id: "reports", secret: "s3cret"))
            let issuer = server.metadata.issuer
            let authentication: ClientSecretBasic = .clientSecretBasic(clientID: "reports", secret: Secret("s3cret"))
            let token = server.issueRefreshToken(clientID: "reports", subject: "ada", scope: "reports.read")
            let found = try await find(issuer)
            #expect(found == server.metadata)
            #expect(try await ask(found, token, authentication))
            #expect(try await !ask(found, token, authentication))
        }
    }

    @Test("Registers a client and fetches a user's information")
    func registering() async throws {
        try await withServers { server, _ async throws in
            let key = try SigningKey.generate(.es256)
            let registered = try await register(server.metadata, key.verificationKey, Secret("anything"))
            let authentication: JWTClientAuthentication = .privateKeyJWT(
                clientID: registered.clientID,
                signingService: try ES256SigningService(key: key)
            )
            server.setUsers { $0.claims["ada"] = ["name": "Ada"] }
            let token = server.issueRefreshToken(clientID: registered.clientID, subject: "ada")
            let authenticator = OAuth2Authenticator(
                server: server.metadata,
                clientAuthentication: authentication,
                grant: RefreshTokenGrant(refreshToken: token),
                resources: .everyHTTPSOrigin
            )
            let oauth = OAuth2Client(server: server.metadata, clientAuthentication: authentication)
            #expect(try await name(oauth, NetworkClient(interceptors: [authenticator]), "ada") == "Ada")
        }
    }

    @Test("Pushes and signs authorization requests")
    func pushing() async throws {
        try await withServers { server, _ async throws in
            let key = try SigningKey.generate(.es256)
            server.register(.init(id: "reports", key: key.verificationKey))
            let service = try ES256SigningService(key: key)
            let oauth = OAuth2Client(
                server: server.metadata,
                clientAuthentication: .privateKeyJWT(clientID: "reports", signingService: service)
            )
            let request = try AuthorizationRequest(clientID: "reports", redirectURI: "https://reports.example/callback")
            let (url, both) = try await push(oauth, request, server.metadata, service)
            #expect(url.query?.contains("request_uri=urn") == true)
            #expect(server.pushedAuthorizationRequest(both.requestURI)?["state"] == request.state)
        }
    }

    private func push(
        _ oauth: OAuth2Client,
        _ request: AuthorizationRequest,
        _ server: AuthorizationServer,
        _ service: any SigningService
    ) async throws -> (URL, PushedAuthorizationRequest) {
        let pushed = try await oauth.push(request)
        // Send the user there before `pushed.expiry`.
        let url = try pushed.url(at: server)
        let signed = try SignedAuthorizationRequest(
            request,
            for: server,
            signingService: service
        )
        let both = try await oauth.push(parameters: signed.parameters)
        return (url, both)
    }

    private func register(
        _ server: AuthorizationServer,
        _ key: VerificationKey,
        _ token: Secret
    ) async throws -> RegisteredClient {
        let registrar = ClientRegistrar(server: server)
        var metadata = ClientMetadata(["client_name": "Reports"])
        metadata.grantTypes = ["client_credentials"]
        metadata.tokenEndpointAuthenticationMethod = "private_key_jwt"
        metadata.keys = [key]
        var registered = try await registrar.register(
            metadata,
            initialAccessToken: token
        )
        metadata.scope = ["reports.read"]
        registered = try await registrar.update(registered, to: metadata)
        return registered
    }

    private func name(_ oauth: OAuth2Client, _ client: NetworkClient, _ subject: String) async throws -> String {
        let info = try await oauth.userInfo(subject: subject, authorized: client)
        let name = info["name"] ?? "somebody"
        return name
    }

    private func find(_ issuer: String) async throws -> AuthorizationServer {
        let discovery = AuthorizationServerDiscovery(issuer: issuer)
        let server = try await discovery.server()
        return server
    }

    private func ask(
        _ server: AuthorizationServer,
        _ token: Secret,
        _ authentication: any ClientAuthentication
    ) async throws -> Bool {
        let oauth = OAuth2Client(server: server, clientAuthentication: authentication)
        let found = try await oauth.introspect(token, kind: .accessToken)
        if found.isActive, found.scope.contains("reports.read") {
            print(found.subject ?? "somebody")
        }
        try await oauth.revoke(token)
        return found.isActive
    }

    private func reports(api: URL, tokenEndpoint: URL, secret: String) async throws -> (Data, String) {
        let authenticator = OAuth2Authenticator(
            server: AuthorizationServer(
                issuer: "https://as.example",
                tokenEndpoint: tokenEndpoint
            ),
            clientAuthentication: .clientSecretBasic(
                clientID: "reports",
                secret: Secret(secret)
            ),
            grant: ClientCredentialsGrant(scope: "reports.read"),
            resources: [api]
        )
        let client = NetworkClient(interceptors: [authenticator])
        let data = try await client.makeRequest(
            URLRequest(url: api.appending(path: "reports"))
        )
        let token = try await authenticator.accessToken()
        let field = token.value.expose { "Bearer \($0)" }
        return (data, field)
    }

    @Test("Authenticates the client with a signed assertion")
    func assertion() async throws {
        try await withServers { server, _ async throws in
            let pem = try SigningKey.generate(.es256).pem()
            let key = try SigningKey(pem: pem)
            let authentication: JWTClientAuthentication = .privateKeyJWT(
                clientID: "reports",
                signingService: try ES256SigningService(
                    key: key,
                    keyID: key.verificationKey.thumbprint
                ),
                audience: .issuer
            )
            server.register(.init(id: "reports", key: key.verificationKey))
            #expect(try await isAccepted(authentication, by: server))
        }
    }

    @Test("Authenticates the client with a secret")
    func secret() async throws {
        try await withServers { server, _ async throws in
            let secret = "s3cret"
            let authentication: ClientSecretBasic = .clientSecretBasic(
                clientID: "reports",
                secret: Secret(secret)
            )
            #expect(try await isAccepted(authentication, by: server))
        }
    }

    @Test("Authenticates the client with a custom method")
    func ownAuthentication() async throws {
        struct AttestedClient: ClientAuthentication {
            let clientID: String
            let attestation: Secret
            let key: SigningKey
            var usesAssertion: Bool { true }

            func authenticate(_ request: inout TokenRequest, at date: Date) throws {
                var proof: JSONObject = ["iss": .string(clientID)]
                proof["aud"] = .string(request.server.issuer)
                proof["jti"] = .string(UUID().uuidString)
                proof["iat"] = JSONValue(date: date)
                let type: JSONObject = ["typ": "oauth-client-attestation-pop+jwt"]
                request.set("client_id", clientID)
                request.headers["OAuth-Client-Attestation"] = attestation.expose { $0 }
                request.headers["OAuth-Client-Attestation-PoP"] = try JWTGenerator(
                    header: type,
                    payload: proof,
                    signingService: key
                ).token()
            }
        }
        let transport = MockTransport(.json(#"{"access_token":"a","token_type":"Bearer"}"#))
        let key = try SigningKey.generate(.es256)
        let server = try server("https://as.example/token")
        let authenticator = OAuth2Authenticator(
            server: server,
            clientAuthentication: AttestedClient(clientID: "reports", attestation: Secret("a+b"), key: key),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin,
            client: NetworkClient(transport: transport)
        )
        _ = try await authenticator.accessToken()
        let request = try #require(transport.requests.first)
        var policy = ValidationPolicy(
            issuer: .exactly("reports"),
            audience: .only(server.issuer),
            type: .exactly("oauth-client-attestation-pop+jwt"),
            expiration: .optional,
            maximumAge: .seconds(60),
            requiredClaims: ["iss", "aud", "jti", "iat"]
        )
        policy.algorithms = [.es256]
        let proof = try #require(request.headers["OAuth-Client-Attestation-PoP"])
        _ = try JWTVerifier(key: key.verificationKey, policy: policy).verify(proof)
        #expect(String(decoding: request.body, as: UTF8.self) == "grant_type=client_credentials&client_id=reports")
        #expect(request.headers["OAuth-Client-Attestation"] == "a+b")
    }

    @Test("Names the scope that a resource may demand")
    func additionalScope() {
        var options = OAuth2Authenticator.Options()
        options.additionalScope = "reports.write"
        #expect(!options.sendsDemandedClaims)
    }

    @Test("Sends no credential and no identifier")
    func noAuthentication() {
        let authentication = PublicClient.none(
            clientID: "reports",
            sendsClientID: false
        )
        #expect(authentication.clientID == "reports")
    }

    @Test("Asks the user to sign in when the refresh token is rejected")
    func refreshToken() async throws {
        try await withServers { mock, loopback in
            let server = mock.metadata
            let authentication: ClientSecretBasic = .clientSecretBasic(clientID: "reports", secret: Secret("s3cret"))
            let firstToken = mock.issueRefreshToken(clientID: "reports", subject: "ada")
            let api = loopback.baseURL
            let store = InMemoryTokenStore()
            let authenticator = OAuth2Authenticator(
                server: server,
                clientAuthentication: authentication,
                grant: RefreshTokenGrant(refreshToken: firstToken),
                resources: [api],
                store: store
            )
            let client = NetworkClient(interceptors: [authenticator])
            let request = URLRequest(url: loopback.url(for: "/reports"))
            var isAsked = false
            let askTheUserAgain = { isAsked = true }
            for _ in 1...2 {
                do {
                    _ = try await client.makeRequest(request)
                } catch let error as NetworkError {
                    if (error.cause as? OAuth2Error)?.code == .reauthenticationRequired {
                        askTheUserAgain()
                    }
                }
                mock.revokeRefreshTokens()
            }
            #expect(isAsked)
        }
    }

    @Test("Reports why a request wasn't retried")
    func reason() async throws {
        try await withServers { server, loopback in
            loopback.on(.get, "/closed", .status(401, headers: ["WWW-Authenticate": "Bearer"]))
            let authenticator = OAuth2Authenticator(
                server: server.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                grant: ClientCredentialsGrant(),
                resources: .everyHTTPSOrigin
            )
            let client = NetworkClient(interceptors: [authenticator])
            let request = URLRequest(url: loopback.url(for: "/closed"))
            var codes: [OAuth2Error.Code] = []
            let report = { (code: OAuth2Error.Code) in codes.append(code) }
            do {
                _ = try await client.makeRequest(request)
            } catch let error as ServerError where error.errorCode == 401 {
                if case .custom(let reason as OAuth2Error)? = error.retry?.reason {
                    report(reason.code)
                }
            }
            #expect(codes == [.freshTokenRejected])
        }
    }

    @Test("Stores tokens in files")
    func files() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "snippet-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: directory) }
        let key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
        let store = try FileTokenStore(directory: directory, encryptionKey: Secret(key))
        #expect(try await store.load("k") == nil)
    }

    @Test("Combines token sources")
    func sources() async throws {
        try await withServers { mock, loopback in
            let (server, api) = (mock.metadata, loopback.baseURL)
            let authentication: ClientSecretBasic = .clientSecretBasic(clientID: "reports", secret: Secret("s3cret"))
            let readToken = { @Sendable () throws -> Secret in Secret("another") }
            let source = FallbackTokenSource(
                GrantTokenSource(
                    server: server,
                    clientAuthentication: authentication,
                    grant: ClientCredentialsGrant()
                ),
                ClosureTokenSource { _ in
                    AccessToken(value: try readToken(), requested: .now)
                }
            )
            let client = NetworkClient(interceptors: [
                OAuth2Authenticator(source: source, resources: [api])
            ])
            let data = try await client.makeRequest(URLRequest(url: loopback.url(for: "/reports")))
            #expect(data == Data("a report".utf8))
        }
    }

    @Test("Exchanges a user's token")
    func exchange() async throws {
        try await withServers { mock, loopback async throws in
            let (server, api) = (mock.metadata, loopback.baseURL)
            let authentication: ClientSecretBasic = .clientSecretBasic(clientID: "reports", secret: Secret("s3cret"))
            let first = mock.issueRefreshToken(clientID: "reports", subject: "ada")
            let user = CachedTokenSource(
                GrantTokenSource(
                    server: server,
                    clientAuthentication: authentication,
                    grant: RefreshTokenGrant(refreshToken: first)
                )
            )
            let authenticator = OAuth2Authenticator(
                server: server,
                clientAuthentication: authentication,
                grant: TokenExchangeGrant(
                    subject: user,
                    identifier: "ada",
                    audiences: ["reports"]
                ),
                resources: [api]
            )
            let token = try await authenticator.accessToken()
            #expect(mock.isActive(token.value.expose { $0 }))
        }
    }

    @Test("Binds tokens to a key")
    func dpop() async throws {
        try await withServers { mock, loopback in
            let (server, api) = (mock.metadata, loopback.baseURL)
            let authentication: ClientSecretBasic = .clientSecretBasic(clientID: "reports", secret: Secret("s3cret"))
            let authenticator = OAuth2Authenticator(
                server: server,
                clientAuthentication: authentication,
                grant: ClientCredentialsGrant(),
                resources: [api],
                dpop: .generated()
            )
            let client = NetworkClient(interceptors: [authenticator])
            let data = try await client.makeRequest(URLRequest(url: loopback.url(for: "/reports")))
            #expect(data == Data("a report".utf8))
            #expect(try await authenticator.accessToken().type == "DPoP")
        }
    }

    @Test("Reports events as they occur")
    func events() async throws {
        try await withServers { server, _ async throws in
            let codes = Mutex<[OAuth2Error.Code]>([])
            let grantAlert = GrantAlert { code, _ in codes.withLock { $0.append(code) } }
            let authenticator = OAuth2Authenticator(
                server: server.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                grant: RefreshTokenGrant(refreshToken: Secret("unknown")),
                resources: .everyHTTPSOrigin
            )
            let client = NetworkClient(
                interceptors: [authenticator],
                options: .init(observers: [grantAlert])
            )
            _ = try? await client.makeRequest(URLRequest(url: server.metadata.tokenEndpoint))
            #expect(codes.withLock { $0 } == [.reauthenticationRequired])
        }
    }

    // MARK: Mock servers

    private func server(_ tokenEndpoint: String) throws -> AuthorizationServer {
        AuthorizationServer(issuer: "https://as.example", tokenEndpoint: try #require(URL(string: tokenEndpoint)))
    }

    private func isAccepted(
        _ authentication: some ClientAuthentication,
        by server: MockAuthorizationServer
    ) async throws -> Bool {
        let authenticator = OAuth2Authenticator(
            server: server.metadata,
            clientAuthentication: authentication,
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        return server.isActive(try await authenticator.accessToken().value.expose { $0 })
    }

    private func withServers(_ body: (MockAuthorizationServer, LoopbackServer) async throws -> Void) async throws {
        let server = try MockAuthorizationServer.start(clients: [.init(id: "reports", secret: "s3cret")])
        try await withLoopbackServer { loopback async throws in
            loopback.on(.get, "/reports", server.protecting { _ in .text("a report") })
            try await body(server, loopback)
        }
        await server.stop()
    }
}

/// ExchangeChainTests runs it.
func crossAppAccess(
    _ identityProvider: AuthorizationServer,
    _ authenticationAtProvider: any ClientAuthentication,
    _ user: any TokenSource,
    _ server: AuthorizationServer,
    _ authentication: any ClientAuthentication,
    _ api: URL
) -> OAuth2Authenticator {
    let assertion = GrantTokenSource(
        server: identityProvider,
        clientAuthentication: authenticationAtProvider,
        grant: TokenExchangeGrant(
            subject: user,
            subjectTokenType: .idToken,
            identifier: "ada",
            audiences: [server.issuer],
            requestedTokenType: .identityAssertion
        )
    )
    let authenticator = OAuth2Authenticator(
        server: server,
        clientAuthentication: authentication,
        grant: JWTBearerGrant(assertion: assertion, identifier: "ada"),
        resources: [api]
    )
    return authenticator
}

final class GrantAlert: ClientObserver {
    private let alert: @Sendable (OAuth2Error.Code, Bool) -> Void

    init(_ alert: @escaping @Sendable (OAuth2Error.Code, Bool) -> Void) {
        self.alert = alert
    }

    func observe(_ event: any ObservedEvent) {
        if case .dead(let code, let isLost)? = event as? OAuth2Event {
            alert(code, isLost)
        }
    }
}
