import Foundation
import Networking
import OAuth2
import ResourceServer
import SharedStores
import TokenGeneration
import WorkloadIdentity

extension FuzzTarget {
    /// The answers of authorization servers, platforms and stores.
    static let answers: [FuzzTarget] = [
        .answerToken, .answerIntrospection, .answerMetadata, .answerKeySet, .answerDevice, .answerCIBA,
        .answerRegistration, .answerCloud, .answerEtcd, .answerVault, .answerConsul, .answerKubernetes,
    ]

    private static let server: AuthorizationServer = {
        func url(_ path: String) -> URL { URL(string: "https://as.example/\(path)") ?? URL(filePath: "/") }
        var server = AuthorizationServer(issuer: "https://as.example", tokenEndpoint: url("token"))
        server.introspectionEndpoint = url("introspect")
        server.pushedAuthorizationRequestEndpoint = url("par")
        server.deviceAuthorizationEndpoint = url("device")
        server.backchannelAuthenticationEndpoint = url("ciba")
        server.registrationEndpoint = url("register")
        server.userInfoEndpoint = url("userinfo")
        return server
    }()

    private static func oauth(_ answer: FuzzAnswer) -> OAuth2Client {
        OAuth2Client(
            server: server,
            clientAuthentication: .none(clientID: "app"),
            client: FuzzWorld.client(FuzzTransport(answer)),
            timing: FuzzWorld.timing
        )
    }

    // MARK: Authorization servers

    /// Requests tokens with a grant, an exchange and a refresh token.
    static func tokenAnswer(_ bytes: [UInt8]) {
        let oauth = oauth(FuzzAnswer(bytes))
        let subject = StaticTokenSource(AccessToken(value: Secret("subject"), requested: FuzzWorld.time.now()))
        FuzzWorld.run {
            guard let issued = try? await oauth.tokens(for: ClientCredentialsGrant()) else { return }
            require(issued.accessToken.value != Secret(""), "an empty token was accepted")
        }
        FuzzWorld.run {
            let grant = TokenExchangeGrant(
                subject: subject,
                identifier: "ada",
                requestedTokenType: .accessToken
            )
            guard let issued = try? await oauth.tokens(for: grant) else { return }
            require(issued.issuedTokenType == .accessToken, "a token of another type was accepted")
        }
        FuzzWorld.run { _ = try await oauth.tokens(refreshing: Secret("refresh")) }
    }

    /// Verifies a token by introspection.
    static func introspectionAnswer(_ bytes: [UInt8]) {
        var verifier = AccessTokenVerifier(issuer: server.issuer, audience: "https://api.example", keys: nil)
        verifier.policy.currentDate = FuzzWorld.time.date
        verifier.introspection = CachedTokenIntrospection(oauth(FuzzAnswer(bytes)), timeSource: FuzzWorld.time)
        FuzzWorld.run { [verifier] in
            let headers: HTTPHeaders = ["Authorization": "Bearer token"]
            let request = ProtectedRequest(method: .get, url: "https://api.example/", headers: headers)
            let token = try await verifier.verify(request)
            require(token.audience.contains("https://api.example"), "another audience was accepted")
            require(token.expiration.map { $0 > FuzzWorld.date - 120 } ?? true, "an expired token was accepted")
        }
    }

    /// Discovers a server and a protected resource.
    static func metadataAnswer(_ bytes: [UInt8]) {
        let client = FuzzWorld.client(FuzzTransport(FuzzAnswer(bytes)))
        var options = AuthorizationServerDiscovery.Options()
        options.timing = FuzzWorld.timing
        let discovery = AuthorizationServerDiscovery(issuer: "https://as.example", client: client, options: options)
        FuzzWorld.run {
            let server = try await discovery.server()
            require(server.issuer == "https://as.example", "another issuer was accepted")
            require(server.tokenEndpoint.host != nil, "an endpoint has no host")
        }
        guard let metadata = try? JSONObject(parsing: Data(bytes)) else { return }
        _ = try? ProtectedResource(metadata: metadata, identifier: "https://api.example")
    }

    /// Fetches a key set twice.
    static func keySetAnswer(_ bytes: [UInt8]) {
        guard let url = URL(string: "https://as.example/keys") else { return }
        let keys = RemoteKeySet(
            url: url,
            client: FuzzWorld.client(FuzzTransport(FuzzAnswer(bytes))),
            options: .init(timeout: .seconds(1_000), timeSource: FuzzWorld.time)
        )
        FuzzWorld.run {
            let set = try await keys.keys()
            require(set.keys.allSatisfy { !$0.isPrivate }, "a private key was accepted")
            _ = try await keys.keys()
        }
    }

    static func deviceAnswer(_ bytes: [UInt8]) {
        let oauth = oauth(FuzzAnswer(bytes))
        FuzzWorld.run {
            let device = try await oauth.authorizeDevice()
            require(device.interval >= .seconds(1), "the interval is too short")
            require(device.expiry >= FuzzWorld.time.now(), "the lifetime is negative")
        }
    }

    static func cibaAnswer(_ bytes: [UInt8]) {
        let oauth = oauth(FuzzAnswer(bytes))
        FuzzWorld.run {
            let authentication = try await oauth.authenticateUser(.loginHint("ada"))
            require(authentication.interval >= .seconds(1), "the interval is too short")
            _ = try authentication.notified(authorization: "Bearer token", body: Data(bytes))
        }
    }

    static func registrationAnswer(_ bytes: [UInt8]) {
        let client = FuzzWorld.client(FuzzTransport(FuzzAnswer(bytes)))
        let registrar = ClientRegistrar(server: server, client: client, timing: FuzzWorld.timing)
        FuzzWorld.run {
            let registered = try await registrar.register(ClientMetadata())
            require(!registered.clientID.isEmpty, "an empty client ID was accepted")
            _ = try await registrar.read(registered)
        }
    }

    // MARK: Platforms

    /// Gets a token from the platform that the first byte chooses.
    static func cloudAnswer(_ bytes: [UInt8]) {
        let sources = platforms(FuzzTransport(FuzzAnswer(bytes.dropFirst())))
        guard let first = bytes.first else { return }
        let source = sources[Int(first) % sources.count]
        FuzzWorld.run {
            let token = try await source.token(for: TokenRequirements())
            require(token.expiry.map { $0 > FuzzWorld.time.now() } ?? true, "an expired token was accepted")
        }
    }

    private static func platforms(_ transport: FuzzTransport) -> [any TokenSource] {
        let variables = [
            "ACTIONS_ID_TOKEN_REQUEST_URL": "https://actions.example/token?api-version=2",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "secret", "KUBERNETES_SERVICE_HOST": "10.0.0.1",
            "KUBERNETES_SERVICE_PORT": "443",
        ]
        let environment = WorkloadEnvironment(
            variable: { variables[$0] },
            timeSource: FuzzWorld.time,
            transport: transport,
            random: { 0 }
        )
        let credential = StaticTokenSource(AccessToken(value: Secret("credential"), requested: FuzzWorld.time.now()))
        var sources: [any TokenSource] = [
            AzureManagedIdentitySource(resource: "https://api.example", environment: environment),
            GoogleMetadataSource(environment: environment),
            GitHubActionsSource(audience: nil, environment: environment),
            KubernetesTokenRequestSource(
                audience: "https://api.example",
                serviceAccount: "app",
                folder: Seeds.serviceAccountFolder,
                environment: environment
            ),
        ]
        if let url = URL(string: "https://vault.example"),
            let vault = try? VaultLoginSource(server: url, role: "app", jwt: credential, environment: environment),
            let google = try? GoogleImpersonationSource(
                serviceAccount: "app@project.iam.gserviceaccount.com",
                source: credential,
                client: FuzzWorld.client(transport),
                environment: environment
            )
        {
            sources += [vault, google]
        }
        return sources
    }

    // MARK: Stores

    /// Reads, writes and removes a record, with the same answer to each request.
    static func storeAnswer(_ store: (some TokenStore)?) {
        guard let store else { defect("the store can't be created") }
        let record = TokenRecord(accessToken: Secret("access"), refreshToken: Secret("refresh"))
        FuzzWorld.run {
            let found = try? await store.load("k")
            let version = found?.version ?? TokenRecordVersion("9223372036854775807")
            _ = try? await store.compareAndSwap("k", expectedVersion: nil, record: record)
            _ = try? await store.compareAndSwap("k", expectedVersion: version, record: record)
            _ = try? await store.remove("k", ifVersion: version)
        }
    }

    static func etcdAnswer(_ bytes: [UInt8]) { storeAnswer(Seeds.etcdStore(FuzzTransport(FuzzAnswer(bytes)))) }

    static func vaultAnswer(_ bytes: [UInt8]) {
        let server = Seeds.storeURL.flatMap { url in
            try? VaultServer(
                url,
                transport: FuzzTransport(FuzzAnswer(bytes)),
                timeout: .seconds(100),
                timeSource: FuzzWorld.time
            )
        }
        storeAnswer(server.flatMap { try? VaultTokenStore($0, keys: Seeds.recordKeys) })
    }

    static func consulAnswer(_ bytes: [UInt8]) {
        let agent = Seeds.storeURL.flatMap { url in
            try? ConsulAgent(
                url,
                transport: FuzzTransport(FuzzAnswer(bytes)),
                timeout: .seconds(100),
                timeSource: FuzzWorld.time
            )
        }
        storeAnswer(agent.flatMap { try? ConsulTokenStore($0, keys: Seeds.recordKeys) })
    }

    static func kubernetesAnswer(_ bytes: [UInt8]) {
        let namespace = Seeds.storeURL.flatMap { url in
            try? KubernetesNamespace(
                "app",
                server: url,
                transport: FuzzTransport(FuzzAnswer(bytes)),
                timeout: .seconds(100),
                timeSource: FuzzWorld.time
            )
        }
        storeAnswer(namespace.flatMap { try? KubernetesTokenStore($0, keys: Seeds.recordKeys) })
    }
}
