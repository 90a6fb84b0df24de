import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

/// The OAuth2 catalog's samples with users, run with mock servers.
@Suite("OAuth2 samples with users", .limitedConcurrency)
struct AuthorizationSnippets {
    @Test("Signs in a user of a web service")
    func web() async throws {
        try await withServer { mock, oauth async throws in
            let (server, authentication) = (mock.metadata, oauth.clientAuthentication)
            let keys = RemoteKeySet(discovery: AuthorizationServerDiscovery(issuer: server.issuer))
            let browser = { @Sendable url in try await mock.visit(url) }
            func sample() async throws -> (IssuedTokens, user: String?) {
                let oauth = OAuth2Client(server: server, clientAuthentication: authentication)
                let verifier = IDTokenVerifier(
                    issuer: server.issuer,
                    clientID: "reports",
                    keys: keys,
                    algorithms: [.es256]
                )
                let request = try oauth.authorizationRequest(
                    redirectURI: "https://reports.example/callback",
                    scope: "openid reports.read"
                )
                let url = try request.url(at: oauth.server)
                let redirect = try await browser(url)
                let grant = try request.grant(from: redirect, of: oauth.server)
                let tokens = try await oauth.tokens(
                    for: grant,
                    idToken: .verified(by: verifier)
                )
                let user = tokens.idToken?.registered.subject
                return (tokens, user)
            }
            let (tokens, user) = try await sample()
            #expect(mock.isActive(tokens.accessToken.value.expose { $0 }))
            #expect(user == "ada")
        }
    }

    @Test("Verifies signed authorization responses")
    func signedAnswers() async throws {
        try await withServer { mock, oauth async throws in
            let (server, discovery) = (mock.metadata, AuthorizationServerDiscovery(issuer: mock.metadata.issuer))
            let browser = { @Sendable url in try await mock.visit(url) }
            func sample() async throws -> IssuedTokens {
                let keys = RemoteKeySet(discovery: discovery)
                let verifier = SignedResponseVerifier(keys: keys, algorithms: [.es256])
                let request = try oauth.authorizationRequest(
                    redirectURI: "https://reports.example/callback",
                    responseMode: .jwt
                )
                let url = try await oauth.push(request).url(at: server)
                let redirect = try await browser(url)
                let grant = try await request.grant(
                    from: redirect,
                    of: server,
                    verifiedBy: verifier
                )
                let tokens = try await oauth.tokens(for: grant)
                return tokens
            }
            #expect(mock.isActive(try await sample().accessToken.value.expose { $0 }))
        }
    }

    @Test("Signs in a user of a local program")
    func machine() async throws {
        try await withServer { mock, oauth async throws in
            let openBrowser = { @Sendable (url: URL) in
                _ = Task {
                    let redirect = try await mock.visit(url)
                    _ = try await NetworkClient().makeRequest(URLRequest(url: redirect))
                }
            }
            func sample() async throws -> IssuedTokens {
                let receiver = try LoopbackRedirectReceiver()
                let request = try oauth.authorizationRequest(
                    redirectURI: receiver.redirectURI,
                    scope: "reports.read"
                )
                openBrowser(try request.url(at: oauth.server))
                let redirect = try await receiver.redirect(for: request, within: .seconds(120))
                let tokens = try await oauth.tokens(
                    for: request.grant(from: redirect, of: oauth.server)
                )
                return tokens
            }
            #expect(mock.isActive(try await sample().accessToken.value.expose { $0 }))
        }
    }

    @Test("Asks the user on the user's own device")
    func ownDevice() async throws {
        let time = ManualTime(advancesWhenSleeping: true)
        try await withServer(time: time.timeSource) { mock, oauth async throws in
            let shown = Mutex<[String]>([])
            func sample(_ show: (String) -> Void) async throws -> IssuedTokens {
                let authentication = try await oauth.authenticateUser(
                    .loginHint("ada@example.com"),
                    bindingMessage: "W4-31"
                )
                show("Confirm W4-31 on your phone")
                let tokens = try await oauth.tokens(of: authentication)
                return tokens
            }
            async let user: Void = {
                while try await !mock.approveAuthentication(of: "ada@example.com") { await Task.yield() }
            }()
            let tokens = try await sample { text in shown.withLock { $0.append(text) } }
            try await user
            #expect(mock.isActive(tokens.accessToken.value.expose { $0 }))
            #expect(shown.withLock { $0 } == ["Confirm W4-31 on your phone"])
        }
    }

    @Test("Signs in on another device")
    func device() async throws {
        let time = ManualTime(advancesWhenSleeping: true)
        try await withServer(time: time.timeSource) { mock, oauth async throws in
            let shown = Mutex<[String]>([])
            func show(_ text: String) {
                shown.withLock { $0.append(text) }
                if let code = text.split(separator: " ").last { mock.approveDevice(userCode: String(code)) }
            }
            func sample() async throws -> IssuedTokens {
                let device = try await oauth.authorizeDevice(scope: "reports.read")
                show("Open \(device.verificationURI) and enter \(device.userCode)")
                let tokens = try await oauth.tokens(for: device) { progress in
                    show("\(progress.timeLeft) left")
                }
                return tokens
            }
            #expect(mock.isActive(try await sample().accessToken.value.expose { $0 }))
            #expect(shown.withLock { $0.last } == "600.0 seconds left")
        }
    }

    @Test("Continues with the tokens of a sign-in")
    func goingOn() async throws {
        try await withServer { mock, oauth async throws in
            let (server, authentication, store) = (mock.metadata, oauth.clientAuthentication, InMemoryTokenStore())
            let api = try #require(URL(string: "https://api.example"))
            let request = try oauth.authorizationRequest(redirectURI: "https://reports.example/callback")
            let redirect = try await mock.visit(try request.url(at: oauth.server))
            let tokens = try await oauth.tokens(for: request.grant(from: redirect, of: oauth.server))
            let authenticator = OAuth2Authenticator(
                server: server,
                clientAuthentication: authentication,
                grant: UserGrant(identifier: "ada"),
                resources: [api],
                store: store
            )
            try await authenticator.signIn(with: tokens)
            #expect(try await authenticator.accessToken().value == tokens.accessToken.value)
        }
    }

    @Test("Authenticates the client with a certificate")
    func certificate() async throws {
        let authority = try MockCertificateAuthority()
        let issued = try authority.issueClientCertificate(name: "reports")
        var tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        tls.clientAuthentication = .requested(issuedBy: authority)
        var configuration = MockAuthorizationServer.Configuration()
        configuration.mutualTLS = tls
        let mock = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [.init(id: "reports", authentication: .tlsClientAuth(subject: issued.subject))]
        )
        let (certificate, privateKey, server) = (issued.chainPEM, issued.privateKeyPEM, mock.metadata)
        let api = try #require(URL(string: "https://api.example"))
        let roots = try TrustRoots.pem(authority.certificatePEM)
        let identity = try ClientIdentity(
            certificateChain: certificate,
            privateKey: privateKey
        )
        let authenticator = OAuth2Authenticator(
            server: server,
            clientAuthentication: .tlsClientAuth(clientID: "reports"),
            grant: ClientCredentialsGrant(),
            resources: [api],
            client: try NetworkClient(
                tls: TLSConfiguration(trustRoots: roots, clientIdentity: identity)
            )
        )
        #expect(mock.isActive(try await authenticator.accessToken().value.expose { $0 }))
        await mock.stop()
    }

    // MARK: GOV.UK One Login

    @Test("GOV.UK One Login: signs in a user", arguments: ["ES256", "RS256"])
    func oneLogin(name: String) async throws {
        let algorithm = try #require(JWSAlgorithm(rawValue: name))
        try await withOneLogin(algorithm) { simulator, pem async throws in
            let tokens = try await signIn(pem: pem, algorithm, at: simulator)
            #expect(tokens.idToken?.registered.subject == "ada")
            let lifetime = try #require(tokens.accessToken.expiry) - tokens.accessToken.requested
            #expect(lifetime == .seconds(180))
            let requests = simulator.server.requests(for: "/token")
            #expect(requests.count == 1)
            #expect(requests.allSatisfy { $0.headers["User-Agent"]?.isEmpty == false })
        }
    }

    @Test(
        "GOV.UK One Login: recovers from the invalid_grant of a wrong clock without a new sign-in",
        arguments: [600, -600]
    )
    func oneLoginSkew(seconds: Int) async throws {
        try await withOneLogin(.es256, clockOffset: .seconds(seconds)) { simulator, pem async throws in
            let tokens = try await signIn(pem: pem, at: simulator, leeway: .seconds(660))
            #expect(simulator.isActive(tokens.accessToken.value.expose { $0 }))
            #expect(simulator.tokenRequestCount == 2)
        }
    }

    @Test("GOV.UK One Login: rejects another audience, another key and a missing user agent")
    func oneLoginRefusals() async throws {
        try await withOneLogin(.es256) { simulator, pem async throws in
            let key = try SigningKey(pem: pem)
            func code(_ key: SigningKey, _ audience: AssertionAudience) async -> OAuth2Error? {
                let oauth = OAuth2Client(
                    server: simulator.metadata,
                    clientAuthentication: .privateKeyJWT(
                        clientID: "reports",
                        signingService: key,
                        audience: audience
                    )
                )
                do {
                    _ = try await oauth.tokens(for: ClientCredentialsGrant())
                    return nil
                } catch { return error as? OAuth2Error }
            }
            for audience in [AssertionAudience.issuer, .tokenEndpoint] { #expect(await code(key, audience) == nil) }
            for error in [
                await code(key, .custom("https://another.example")), await code(try .generate(.es256), .issuer),
            ] {
                #expect(error?.code == .invalidClient)
                #expect(error?.status == 400)
            }
            var request = URLRequest(url: simulator.metadata.tokenEndpoint)
            request.httpMethod = "POST"
            request.setValue("", forHTTPHeaderField: "User-Agent")
            let error = await #expect(throws: ServerError.self) { try await NetworkClient().makeRequest(request) }
            #expect(error?.errorCode == 403)
        }
    }

    private func signIn(
        pem: String,
        _ algorithm: JWSAlgorithm = .es256,
        at simulator: MockAuthorizationServer,
        leeway: Duration = .seconds(60)
    ) async throws -> IssuedTokens {
        let server = simulator.metadata
        let browser = { @Sendable url in try await simulator.visit(url) }
        var verifier = IDTokenVerifier(
            issuer: server.issuer,
            clientID: "reports",
            keys: simulator.keys,
            algorithms: [.es256]
        )
        verifier.leeway = leeway
        let key = try SigningKey(pem: pem, algorithm: algorithm)  // .es256 or .rs256
        let oauth = OAuth2Client(
            server: server,
            clientAuthentication: .privateKeyJWT(
                clientID: "reports",
                signingService: key.identified(by: "2026-11"),
                audience: .tokenEndpoint,
                lifetime: .seconds(300)
            )
        )
        let request = try oauth.authorizationRequest(
            redirectURI: "https://reports.example/callback",
            scope: "openid email",
            additionalParameters: ["vtr": #"["Cl.Cm"]"#, "ui_locales": "en"]
        )
        let redirect = try await browser(try request.url(at: oauth.server))
        let tokens = try await oauth.tokens(
            for: request.grant(from: redirect, of: oauth.server),
            idToken: .verified(by: verifier)
        )
        return tokens
    }

    private func withOneLogin(
        _ algorithm: JWSAlgorithm,
        clockOffset: Duration = .zero,
        _ body: (MockAuthorizationServer, String) async throws -> Void
    ) async throws {
        let key = try SigningKey.generate(algorithm)
        let client = MockAuthorizationServer.Client(
            id: "reports",
            authentication: .privateKeyJWT(key.verificationKey),
            redirectURIs: ["https://reports.example/callback"]
        )
        let simulator = try simulator(for: client, clockOffset)
        let result: Result<Void, any Error>
        do { result = .success(try await body(simulator, try key.pem())) } catch { result = .failure(error) }
        await simulator.stop()
        try result.get()
    }

    private func simulator(
        for client: MockAuthorizationServer.Client,
        _ clockOffset: Duration
    ) throws -> MockAuthorizationServer {
        if clockOffset != .zero {
            var skewed = MockAuthorizationServer.Configuration(tokenLifetime: .seconds(180))
            skewed.dialect = .govUKOneLogin
            skewed.clockOffset = clockOffset
            return try MockAuthorizationServer.start(configuration: skewed, clients: [client])
        }
        var configuration = MockAuthorizationServer.Configuration(
            tokenLifetime: .seconds(180)
        )
        configuration.dialect = .govUKOneLogin
        let simulator = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [client]
        )
        return simulator
    }

    // MARK: Mock servers

    private func withServer(
        time: TimeSource = .system,
        _ body: (MockAuthorizationServer, OAuth2Client) async throws -> Void
    ) async throws {
        let places = ["https://reports.example/callback", "http://127.0.0.1/callback"]
        let mock = try MockAuthorizationServer.start(
            configuration: .init(time: time),
            clients: [.init(id: "reports", authentication: .none, redirectURIs: places)]
        )
        let oauth = OAuth2Client(
            server: mock.metadata,
            clientAuthentication: .none(clientID: "reports"),
            timing: .init(timeSource: time)
        )
        let result: Result<Void, any Error>
        do { result = .success(try await body(mock, oauth)) } catch { result = .failure(error) }
        await mock.stop()
        try result.get()
    }
}
