import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration
import WorkloadIdentity

/// Reads a token of the platform and exchanges it, with the types of OAuth2.
@Suite("Chains of reading and exchanging", .limitedConcurrency, .tags(.concurrency))
struct ExchangeChainTests {
    /// The way to use the platform's token at the authorization server.
    enum Use: CaseIterable {
        case tokenExchange, jwtBearer, assertion

        /// The form's field with the platform's token.
        var field: String {
            switch self {
            case .tokenExchange: "subject_token"
            case .jwtBearer: "assertion"
            case .assertion: "client_assertion"
            }
        }
    }

    private let folder: TokenFolder
    private let time: ManualTime
    private let server = AuthorizationServer(
        issuer: "https://as.example",
        tokenEndpoint: URL(string: "https://as.example/token")!
    )

    init() throws { try self.init(time: ManualTime(advancesWhenSleeping: true)) }

    /// Creates the fixture for a test with a cache, which sleeps until its timeout.
    private init(time: ManualTime) throws {
        self.time = time
        folder = try TokenFolder()
    }

    private var file: FileTokenSource {
        FileTokenSource(
            path: folder.path,
            audience: "https://as.example",
            environment: WorkloadEnvironment(timeSource: time.timeSource)
        )
    }

    private func source(_ use: Use, _ transport: MockTransport, subject: (any TokenSource)? = nil) -> GrantTokenSource {
        let subject = subject ?? file
        let grant: any Grant =
            switch use {
            case .tokenExchange: TokenExchangeGrant(subject: subject, subjectTokenType: .jwt, identifier: "reports")
            case .jwtBearer: JWTBearerGrant(assertion: subject, identifier: "reports", scope: "read")
            case .assertion: ClientCredentialsGrant()
            }
        return GrantTokenSource(
            client: OAuth2Client(
                server: server,
                clientAuthentication: use == .assertion
                    ? StandardClientAuthentication.signedAssertion(clientID: "reports", assertion: subject)
                    : .none(clientID: "reports"),
                client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
                timing: OAuth2Timing(timeSource: time.timeSource, random: { 0 })
            ),
            grant: grant,
            store: InMemoryTokenStore(timeSource: time.timeSource)
        )
    }

    private func sent(_ transport: MockTransport, _ use: Use) -> [String?] {
        transport.requests.map { request in
            FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self))?.first { $0.name == use.field }?.value
        }
    }

    @Test(
        "Exchanges the token that the file contains when the access token must be renewed",
        .shows("O33"),
        arguments: Use.allCases
    )
    func renewal(use: Use) async throws {
        let chain = try Self(time: ManualTime())
        defer { chain.time.end() }
        try await chain.renew(use)
    }

    private func renew(_ use: Use) async throws {
        let transport = time.transport(.tokens("one", lifetime: 100), .tokens("two", lifetime: 100))
        let cached = CachedTokenSource(
            source(use, transport),
            timing: OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        )
        let (first, second) = (SampleToken().text, SampleToken(["jti": "2"]).text)
        try folder.write(first)
        for _ in 1...3 { #expect(text(try await cached.token()) == "one") }
        try folder.write(second)
        #expect(text(try await cached.token()) == "one")
        time.advance(by: .seconds(100))
        #expect(text(try await cached.token()) == "two")
        #expect(sent(transport, use) == [first, second])
    }

    @Test(
        "Reads the subject anew once if the server rejects it",
        .shows("O33"),
        arguments: [Use.tokenExchange, .jwtBearer],
        ["invalid_grant", "invalid_request"]
    )
    func replaced(use: Use, code: String) async throws {
        let (first, second) = (SampleToken().text, SampleToken(["jti": "2"]).text)
        try folder.write(first)
        let folder = folder
        let transport = time.transport(
            .handler { _ in
                try folder.write(second)
                return .error(code)
            },
            .tokens("one")
        )
        #expect(text(try await source(use, transport).token()) == "one")
        #expect(sent(transport, use) == [first, second])
    }

    @Test(
        "Doesn't send a rejected subject again, and reports the server's answer",
        .shows("W9"),
        arguments: Use.allCases
    )
    func unchanged(use: Use) async throws {
        try folder.write(SampleToken().text)
        let code = use == .assertion ? "invalid_client" : "invalid_grant"
        let transport = time.transport(.handler { _ in .error(code) })
        let error = await #expect(throws: OAuth2Error.self) { try await source(use, transport).token() }
        #expect(error?.serverCode == code)
        #expect(error?.code == (use == .assertion ? .invalidClient : .requestRejected))
        #expect(transport.requests.count == 1)
    }

    @Test("A cached subject that is rejected isn't sent again either", arguments: [Use.tokenExchange, .jwtBearer])
    func unchangedInCache(use: Use) async throws {
        let chain = try Self(time: ManualTime())
        defer { chain.time.end() }
        try chain.folder.write(SampleToken().text)
        let transport = chain.time.transport(.handler { _ in .error("invalid_grant") })
        let subject = CachedTokenSource(
            chain.file,
            timing: OAuth2Timing(timeSource: chain.time.timeSource, random: { 0 })
        )
        let error = await #expect(throws: OAuth2Error.self) {
            try await chain.source(use, transport, subject: subject).token()
        }
        #expect(error?.serverCode == "invalid_grant")
        #expect(transport.requests.count == 1)
    }

    @Test("Stops after the second rejection", arguments: [Use.tokenExchange, .jwtBearer])
    func rejectedTwice(use: Use) async throws {
        try folder.write(SampleToken().text)
        let folder = folder
        let transport = time.transport(
            .handler { _ in
                try folder.write(SampleToken(["jti": "2"]).text)
                return .error("invalid_grant")
            },
            .handler { _ in
                try folder.write(SampleToken(["jti": "3"]).text)
                return .error("invalid_grant")
            }
        )
        let error = await #expect(throws: OAuth2Error.self) { try await source(use, transport).token() }
        #expect(error?.serverCode == "invalid_grant")
        #expect(transport.requests.count == 2)
    }

    @Test("A token that can't be read is never sent, and the error says why", .shows("W1"), arguments: Use.allCases)
    func unusable(use: Use) async throws {
        let transport = time.transport()
        try folder.write(SampleToken(["aud": "https://kubernetes.default.svc"]).text)
        let error = await #expect(throws: OAuth2Error.self) { try await source(use, transport).token() }
        #expect(error?.code == (use == .assertion ? .assertionFailed : .grantFailed))
        #expect((error?.cause as? WorkloadIdentityError)?.code == .wrongAudience)
        #expect(error?.isRetryable == false)
        #expect(transport.requests.isEmpty)
    }

    @Test("An unavailable platform makes the failed exchange worth repeating", arguments: Use.allCases)
    func unavailable(use: Use) async throws {
        let platform = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: 503) }
        let variables = ["ACTIONS_ID_TOKEN_REQUEST_URL": "https://p.example/", "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "t"]
        let github = GitHubActionsSource(
            audience: nil,
            environment: WorkloadEnvironment(
                variable: { variables[$0] },
                timeSource: time.timeSource,
                transport: platform
            )
        )
        let transport = time.transport()
        let error = await #expect(throws: OAuth2Error.self) {
            try await source(use, transport, subject: github).token()
        }
        #expect((error?.cause as? WorkloadIdentityError)?.code == .platformUnavailable)
        #expect(error?.isRetryable == true)
        #expect(transport.requests.isEmpty)
    }

    @Test(
        "An identity provider's assertion is the grant at another server, and is replaced once if it's rejected",
        .shows("Identity assertion grant (draft 06) §4, §5")
    )
    func identityAssertion() async throws {
        let provider = AuthorizationServer(
            issuer: "https://idp.example",
            tokenEndpoint: try #require(URL(string: "https://idp.example/token"))
        )
        let type = "urn:ietf:params:oauth:token-type:id-jag"
        let count = Mutex(0)
        let transport = MockTransport(time: time.timeSource) { request in
            let number = count.withLock { count in
                count += 1
                return count
            }
            if request.url.host == "idp.example" {
                return .json(
                    #"{"access_token":"jag\#(number)","issued_token_type":"\#(type)","token_type":"N_A","expires_in":300}"#
                )
            }
            return number == 2
                ? .error("invalid_grant")
                : .json(#"{"access_token":"a","token_type":"Bearer","expires_in":60}"#)
        }
        let client = NetworkClient(transport: transport, options: .init(timeSource: time.timeSource))
        let timing = OAuth2Timing(timeSource: time.timeSource, random: { 0 })
        func source(_ server: AuthorizationServer, _ id: String, _ grant: any Grant) -> GrantTokenSource {
            GrantTokenSource(
                client: OAuth2Client(
                    server: server,
                    clientAuthentication: .none(clientID: id),
                    client: client,
                    timing: timing
                ),
                grant: grant,
                store: InMemoryTokenStore(timeSource: time.timeSource)
            )
        }
        let assertion = source(
            provider,
            "at-provider",
            TokenExchangeGrant(
                subject: ClosureTokenSource { _ in
                    AccessToken(value: Secret("id-token"), type: AccessToken.notApplicable, requested: .now)
                },
                subjectTokenType: .idToken,
                identifier: "ada",
                audiences: [server.issuer],
                resources: ["https://api.example"],
                requestedTokenType: .identityAssertion
            )
        )
        let token = try await source(server, "at-server", JWTBearerGrant(assertion: assertion, identifier: "ada"))
            .token()
        #expect(token.value == Secret("a"))
        let forms = transport.requests.map { request in
            Dictionary(
                (FormURLEncoded.decode(String(decoding: request.body, as: UTF8.self)) ?? []).map { ($0.name, $0.value) }
            ) { first, _ in first }
        }
        #expect(transport.requests.map { $0.url.host } == ["idp.example", "as.example", "idp.example", "as.example"])
        #expect(forms[0]["requested_token_type"] == type)
        #expect(forms[0]["audience"] == "https://as.example")
        #expect(forms[0]["resource"] == "https://api.example")
        #expect(forms[0]["subject_token"] == "id-token")
        #expect(forms[0]["client_id"] == "at-provider")
        #expect(forms[1]["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer")
        #expect(forms[1]["client_id"] == "at-server")
        #expect([forms[1]["assertion"], forms[3]["assertion"]] == ["jag1", "jag3"])
    }

    @Test("A platform's token that isn't an access token never becomes a request's bearer token", .shows("W8"))
    func notABearerToken() async throws {
        let chain = try Self(time: ManualTime())
        defer { chain.time.end() }
        try chain.folder.write(SampleToken().text)
        let api = MockTransport(.text("ok"))
        let authenticator = OAuth2Authenticator(
            source: chain.file,
            resources: .everyHTTPSOrigin,
            timing: OAuth2Timing(timeSource: chain.time.timeSource)
        )
        let client = NetworkClient(transport: api, interceptors: [authenticator])
        let error = await #expect(throws: NetworkError.self) {
            try await client.makeRequest(URLRequest(url: URL(string: "https://api.example/")!))
        }
        #expect((error?.cause as? OAuth2Error)?.code == .unsupportedTokenType)
        #expect(api.requests.isEmpty)
    }
}

extension MockTransport.Step {
    fileprivate static func tokens(_ access: String, lifetime: Int = 3_600) -> Self {
        let type = "urn:ietf:params:oauth:token-type:access_token"
        let members = #""issued_token_type":"\#(type)","token_type":"Bearer","expires_in":\#(lifetime)"#
        return .json(#"{"access_token":"\#(access)",\#(members)}"#)
    }
}

extension HTTPTransportResponse {
    fileprivate static func json(_ text: String) -> Self {
        Self(status: 200, headers: ["Content-Type": "application/json"], body: Data(text.utf8))
    }

    fileprivate static func error(_ code: String) -> Self {
        Self(
            status: code == "invalid_client" ? 401 : 400,
            headers: ["Content-Type": "application/json"],
            body: Data(#"{"error":"\#(code)"}"#.utf8)
        )
    }
}

/// Requests tokens with the default transport from a server on this machine.
@Suite("Platforms on loopback", .limitedConcurrency, .tags(.concurrency))
struct LoopbackPlatformTests {
    private func source(
        _ platform: String,
        _ server: LoopbackServer,
        time: TimeSource = .system
    ) throws -> any TokenSource {
        let variables = [
            "GCE_METADATA_HOST": "127.0.0.1:\(server.port)",
            "IDENTITY_ENDPOINT": server.url(for: "/msi").absoluteString,
            "IDENTITY_HEADER": "S3cr3t-header",
        ]
        let environment = WorkloadEnvironment(variable: { variables[$0] }, timeSource: time)
        return switch platform {
        case "google": GoogleMetadataSource(environment: environment)
        case "azure": AzureManagedIdentitySource(resource: "r", environment: environment)
        default: try VaultLoginSource(server: server.baseURL, role: "r", jwt: FixedIdentity(), environment: environment)
        }
    }

    /// A token of a platform that doesn't change.
    private struct FixedIdentity: TokenSource {
        func token(for requirements: TokenRequirements) -> AccessToken {
            AccessToken(value: Secret("jwt"), type: "N_A", requested: .now)
        }
    }

    private static let path = [
        "google": "/computeMetadata/v1/instance/service-accounts/default/token", "azure": "/msi",
        "vault": "/v1/auth/jwt/login",
    ]

    @Test("Gets a token after a failure", arguments: ["google", "azure", "vault"])
    func token(platform: String) async throws {
        let server = try LoopbackServer.start()
        let path = try #require(Self.path[platform])
        server.on(
            platform == "vault" ? .post : .get,
            path,
            .status(503),
            .json(
                #"{"access_token":"S3cr3t","expires_in":60,"auth":{"client_token":"S3cr3t","lease_duration":60}}"#,
                headers: ["Metadata-Flavor": "Google"]
            )
        )
        let token = try await source(platform, server).token()
        #expect(text(token) == "S3cr3t")
        #expect(token.expiry != nil)
        #expect(server.requests.count == 2)
        let field = ["google": "Metadata-Flavor", "azure": "X-IDENTITY-HEADER", "vault": "X-Vault-Request"][platform]
        #expect(server.requests.allSatisfy { $0.headers[field ?? ""] != nil })
        await server.stop()
    }

    @Test(
        "Doesn't follow a redirect with the platform's credential",
        .shows("W6"),
        arguments: ["google", "azure", "vault"]
    )
    func redirect(platform: String) async throws {
        let elsewhere = try LoopbackServer.start()
        let server = try LoopbackServer.start()
        let path = try #require(Self.path[platform])
        let location = elsewhere.url(for: "/").absoluteString
        server.on(platform == "vault" ? .post : .get, path, .status(307, headers: ["Location": location]))
        let error = await #expect(throws: WorkloadIdentityError.self) { try await source(platform, server).token() }
        #expect(error?.code == .platformRejected)
        #expect(elsewhere.requests.isEmpty)
        await server.stop()
        await elsewhere.stop()
    }

    @Test("A platform that isn't there is worth another try later", arguments: ["google", "azure"])
    func unreachable(platform: String) async throws {
        let server = try LoopbackServer.start()
        let source = try source(platform, server, time: ManualTime(advancesWhenSleeping: true).timeSource)
        await server.stop()
        let error = await #expect(throws: WorkloadIdentityError.self) { try await source.token() }
        #expect(error?.code == .platformUnavailable && error?.isRetryable == true)
    }
}
