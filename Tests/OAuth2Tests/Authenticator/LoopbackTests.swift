import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// The same guarantees over real sockets, counted by the servers.
@Suite("OAuth2Authenticator: loopback", .limitedConcurrency, .tags(.concurrency))
struct LoopbackTests {
    @Test("Five hundred calls rejected at the same time make one token request, and all succeed", .shows("L2", "4.23"))
    func fiveHundredRefusals() async throws {
        DescriptorLimit.raise()
        let key = try SigningKey.generate(.es256)
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "reports", key: key.verificationKey)])
        let refusals = ResponseGate()
        let reports = authorization.protecting { _ in .text("ok") }
        let api = try LoopbackServer.start { routes in
            routes.on(.get, "/reports") { request in
                let response = try await reports(request)
                return response.status == 401 ? response.gated(by: refusals) : response
            }
        }
        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .privateKeyJWT(
                    clientID: "reports",
                    signingService: try ES256SigningService(key: key)
                )
            ),
            grant: ClientCredentialsGrant(),
            resources: [api.baseURL]
        )
        let calls = 500
        let transport = try CurlTransport(
            configuration: .init(maximumConnectionsPerHost: calls, maximumConnections: calls, proxy: .none)
        )
        let client = NetworkClient(transport: transport, interceptors: [authenticator])
        let request = URLRequest(url: api.url(for: "/reports"))
        _ = try await client.makeRequest(request)
        authorization.revokeAccessTokens()

        let answers = try await withThrowingTaskGroup(of: Data?.self) { group in
            for _ in 1...calls { group.addTask { try await client.makeRequest(request) } }
            group.addTask {
                try await refusals.waitForWaiters(count: calls)
                refusals.open()
                return nil
            }
            return try await group.reduce(into: [Data]()) { answers, next in
                if let next { answers.append(next) }
            }
        }
        #expect(answers == Array(repeating: Data("ok".utf8), count: calls))
        #expect((authorization.tokenRequestCount, authorization.issuedTokenCount) == (2, 2))
        #expect(api.requests(for: "/reports").count == 1 + 2 * calls)
        await transport.close()
        await api.stop()
        await authorization.stop()
    }

    @Test("Reports a wrong secret, even if the server challenges with Basic", .shows("G7"))
    func wrongSecret() async throws {
        try await withAuthorizationServer { authorization in
            for client in [NetworkClient(), NetworkClient(configuration: .ephemeral)] {
                let authenticator = authenticator(authorization, secret: "wrong", client: client)
                let error = await failure { try await authenticator.accessToken() }
                #expect((error?.code, error?.status) == (.invalidClient, 401))
            }
        }
    }

    @Test("A token endpoint that never responds costs the timeout of one refresh")
    func neverAnswers() async throws {
        try await withAuthorizationServer { authorization in
            authorization.misbehave(.silence)
            let time = ManualTime()
            let authenticator = authenticator(authorization, timing: .init(timeSource: time.timeSource))
            let call = Task { try await authenticator.accessToken() }
            try await authorization.server.waitForRequests(count: 1)
            try await time.waitForSleepers(count: 1)
            time.advance(by: .seconds(30))
            #expect(await failureCode { try await call.value } == .serverUnreachable)
            let text = try await authenticator.text()
            #expect(authorization.isActive(text))
        }
    }

    @Test(
        "A chain of refresh tokens survives rejections and expiries without reuse",
        .shows("O2", "RFC 9700 §2.2.2, §4.14")
    )
    func rotation() async throws {
        try await withAuthorizationServer { authorization in
            let first = authorization.issueRefreshToken(clientID: "reports", subject: "ada", scope: "read")
            let api = try LoopbackServer.start {
                $0.on(.get, "/reports", authorization.protecting { _ in .text("ok") })
            }
            let client = NetworkClient(
                interceptors: [authenticator(authorization, grant: RefreshTokenGrant(refreshToken: first))]
            )
            for _ in 1...4 {
                _ = try await client.makeRequest(URLRequest(url: api.url(for: "/reports")))
                authorization.revokeAccessTokens()
            }
            let used = authorization.server.requests(for: "/token").compactMap { $0.formValue("refresh_token") }
            #expect(used.count == 4)
            #expect(Set(used).count == 4)
            await api.stop()
        }
    }

    @Test(
        "If two stores use the same refresh token, the server detects reuse and both must authenticate again",
        .shows("Z7", "RFC 9700 §2.2.2, §4.14")
    )
    func reuse() async throws {
        try await withAuthorizationServer { authorization in
            let token = authorization.issueRefreshToken(clientID: "reports", subject: "ada")
            let grant = RefreshTokenGrant(refreshToken: token)
            let first = authenticator(authorization, grant: grant)
            let second = authenticator(authorization, grant: grant)
            let text = try await first.text()
            #expect(authorization.isActive(text))
            #expect(await failureCode { try await second.accessToken() } == .reauthenticationRequired)
            #expect(!authorization.isActive(text))
            let api = try LoopbackServer.start {
                $0.on(.get, "/reports", authorization.protecting { _ in .text("ok") })
            }
            let client = NetworkClient(interceptors: [first])
            let code = await failureCode { try await client.makeRequest(URLRequest(url: api.url(for: "/reports"))) }
            #expect(code == .reauthenticationRequired)
            #expect(authorization.tokenRequestCount == 3)
            await api.stop()
        }
    }

    // MARK: Setup

    private func authenticator(
        _ authorization: MockAuthorizationServer,
        secret: String = "s3cret",
        grant: any Grant = ClientCredentialsGrant(),
        client: NetworkClient = NetworkClient(),
        timing: OAuth2Timing = .init()
    ) -> OAuth2Authenticator {
        OAuth2Authenticator(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(secret)),
                client: client,
                timing: timing
            ),
            grant: grant,
            resources: .everyHTTPSOrigin
        )
    }
}
