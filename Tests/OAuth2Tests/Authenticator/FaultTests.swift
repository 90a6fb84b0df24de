import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@testable import OAuth2

/// Tests over real sockets with failing servers and wrong clocks.
@Suite("OAuth2Authenticator: server faults", .limitedConcurrency)
struct FaultTests {
    @Test(
        "A clock that is five minutes off costs one more request with a signed assertion",
        .shows("O21"),
        arguments: [-300, 300]
    )
    func skewedClock(seconds: Int) async throws {
        let key = try SigningKey.generate(.es256)
        let time = ManualTime()
        var configuration = MockAuthorizationServer.Configuration()
        configuration.time = time.timeSource
        configuration.clockOffset = .seconds(seconds)
        try await withAuthorizationServer(configuration, clients: [.init(id: "reports", key: key.verificationKey)]) {
            server in
            let events = EventJournal()
            let authenticator = OAuth2Authenticator(
                client: OAuth2Client(
                    server: server.metadata,
                    clientAuthentication: .privateKeyJWT(
                        clientID: "reports",
                        signingService: try ES256SigningService(key: key)
                    ),
                    client: NetworkClient(options: .init(observers: [events])),
                    timing: .init(timeSource: time.timeSource)
                ),
                grant: ClientCredentialsGrant(),
                resources: .everyHTTPSOrigin
            )
            let text = try await authenticator.text()
            #expect(server.isActive(text))
            #expect(server.tokenRequestCount == 2)
            let skews = events.tokenEvents.compactMap { event -> Duration? in
                if case .skewChanged(_, let skew) = event { skew } else { nil }
            }
            #expect(skews.count == 1)
            let difference: Duration = try #require(skews.first) - .seconds(seconds)
            #expect(difference > .seconds(-1) && difference < .seconds(1))
        }
    }

    @Test("A slow response never makes a server's clock seem further ahead than it can be")
    func slowResponse() throws {
        let time = ManualTime()
        let hints = DPoPServerState(timeSource: time.timeSource, journal: TokenJournal())
        let url = try #require(URL(string: "https://as.example/token"))
        let origin = try #require(HTTPOrigin(url))
        // The server answers at the end of 30 s, or at their beginning.
        for delay in [Duration.seconds(30), .zero] {
            let date = time.date.addingTimeInterval(-400)
            time.advance(by: .seconds(30) - delay)
            hints.note(["Date": HTTPDate.format(date)], from: url, age: .seconds(30))
            let difference = hints.date(for: origin).timeIntervalSince(time.date.addingTimeInterval(-400))
            #expect((-30...3.5).contains(difference))
        }
    }

    @Test("Keeps the nonces of the hundred servers that answered last")
    func manyServers() throws {
        let hints = DPoPServerState(timeSource: ManualTime().timeSource, journal: TokenJournal())
        let urls = try (0...100).map { try #require(URL(string: "https://as\($0).example/token")) }
        // The first server answers again before the last one.
        for url in urls[..<100] + [urls[0], urls[100]] { hints.note(["DPoP-Nonce": "n"], from: url, age: nil) }
        let nonces = try urls.map { hints.nonce(for: try #require(HTTPOrigin($0))) }
        #expect(nonces.enumerated().filter { $0.element == nil }.map(\.offset) == [1])
    }

    @Test(
        "Bound tokens, nonces of both servers and changed nonces each cost one more request",
        .shows("O13", "RFC 9449 §8, §9 (nonces)", "FAPI 2.0 §5.3.3.1 (8)")
    )
    func nonces() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.dpop = .required
        configuration.requiresNonces = true
        try await withAuthorizationServer(configuration) { server in
            let api = try LoopbackServer.start { routes in
                routes.on(.get, "/reports", server.protecting { _ in .text("ok") })
            }
            let client = NetworkClient(interceptors: [authenticator(server, dpop: .generated())])
            let request = URLRequest(url: api.url(for: "/reports?page=1"))
            for _ in 1...3 { #expect(try await client.makeRequest(request) == Data("ok".utf8)) }
            #expect(server.tokenRequestCount == 2)
            #expect(api.requestCount == 4)
            server.changeNonces()
            server.changeNonces()
            #expect(try await client.makeRequest(request) == Data("ok".utf8))
            #expect(api.requestCount == 6)
            server.revokeAccessTokens()
            #expect(try await client.makeRequest(request) == Data("ok".utf8))
            await api.stop()
        }
    }

    @Test(
        "A resource and a token endpoint with wrong clocks accept proofs by their own time",
        .shows("R7"),
        arguments: [-300, 300]
    )
    func skewedProofs(seconds: Int) async throws {
        // The clocks stand still, so that waiting in this process doesn't look like a slow server.
        let time = ManualTime()
        var configuration = MockAuthorizationServer.Configuration()
        configuration.dpop = .required
        configuration.time = time.timeSource
        configuration.clockOffset = .seconds(seconds)
        try await withAuthorizationServer(configuration) { server in
            var apiConfiguration = LoopbackServer.Configuration()
            apiConfiguration.time.date = { time.date.addingTimeInterval(Double(seconds)) }
            let api = try LoopbackServer.start(configuration: apiConfiguration) { routes in
                routes.on(.get, "/reports", server.protecting { _ in .text("ok") })
            }
            let authenticator = authenticator(server, dpop: .generated(), timeSource: time.timeSource)
            let client = NetworkClient(interceptors: [authenticator])
            #expect(try await client.makeRequest(URLRequest(url: api.url(for: "/reports"))) == Data("ok".utf8))
            #expect(server.tokenRequestCount == 2)
            #expect(api.requestCount == 2)
            await api.stop()
        }
    }

    @Test("A stolen token can't be used without its key", .shows("Z6", "RFC 9449 §7.1"))
    func stolenToken() async throws {
        try await withAuthorizationServer { server in
            let api = try LoopbackServer.start {
                $0.on(.get, "/reports", server.protecting { _ in .text("ok") })
            }
            let text = try await authenticator(server, dpop: .generated()).text()
            for scheme in ["Bearer", "DPoP"] {
                var request = URLRequest(url: api.url(for: "/reports"))
                request.setValue("\(scheme) \(text)", forHTTPHeaderField: "Authorization")
                let error = await #expect(throws: ServerError.self) { try await NetworkClient().makeRequest(request) }
                #expect(error?.errorCode == 401)
            }
            await api.stop()
        }
    }

    @Test(
        "Recovers from a single fault within the same call",
        arguments: [
            MockAuthorizationServer.Fault.unavailable(), .unavailable(retryAfter: "0"), .tooManyRequests(),
            .html(), .html(status: 502), .lostAnswer, .cutAnswer, .slow(.milliseconds(20)),
            .members(["expires_in": "300"]), .noLifetime,
            .members(["token_type": "bEaReR"]), .members(["expires_in": 0]), .error("temporarily_unavailable"),
            .error("invalid_grant", status: 503),
        ]
    )
    func once(fault: MockAuthorizationServer.Fault) async throws {
        try await withAuthorizationServer { server in
            server.misbehave(fault)
            let text = try await authenticator(server).text()
            #expect(server.isActive(text))
        }
    }

    @Test(
        "Recovers from a lost rotation if the server has a grace period, and reports it otherwise",
        .shows("O23", "T13")
    )
    func lostRotation() async throws {
        for grace in [Duration.seconds(60), .zero] {
            var configuration = MockAuthorizationServer.Configuration()
            configuration.refreshTokenGrace = grace
            try await withAuthorizationServer(configuration) { server in
                let first = server.issueRefreshToken(clientID: "reports", subject: "ada")
                let authenticator = authenticator(server, grant: RefreshTokenGrant(refreshToken: first))
                server.misbehave(.lostAnswer)
                let lost = await failure { try await authenticator.accessToken() }
                #expect((lost?.code, lost?.isPossiblyLostRotation) == (.serverUnreachable, true))
                if grace > .zero {
                    let text = try await authenticator.text()
                    #expect(server.isActive(text))
                    #expect(server.reuseDetectionCount == 0)
                } else {
                    let error = await failure { try await authenticator.accessToken() }
                    #expect((error?.code, error?.isPossiblyLostRotation) == (.reauthenticationRequired, true))
                }
            }
        }
    }

    @Test("Requests more scope for a route that requires it")
    func moreScope() async throws {
        try await withAuthorizationServer { server in
            let api = try LoopbackServer.start { routes in
                routes.on(.get, "/reports", server.protecting { _ in .text("read") })
                routes.on(.post, "/reports", server.protecting(scope: "write") { _ in .text("written") })
            }
            let client = NetworkClient(
                interceptors: [
                    authenticator(
                        server,
                        grant: ClientCredentialsGrant(scope: "read"),
                        options: .obtaining(scope: "write")
                    )
                ]
            )
            var request = URLRequest(url: api.url(for: "/reports"))
            #expect(try await client.makeRequest(request) == Data("read".utf8))
            request.httpMethod = "POST"
            #expect(try await client.makeRequest(request) == Data("written".utf8))
            #expect(server.tokenRequestCount == 2)
            await api.stop()
        }
    }

    @Test(
        "A redirect to another origin carries neither token nor proof, and its 401 causes no refresh",
        .shows("R3"),
        arguments: [false, true]
    )
    func redirect(isBound: Bool) async throws {
        try await withAuthorizationServer { server in
            let elsewhere = try LoopbackServer.start { $0.fallback { _ in .status(401) } }
            let api = try LoopbackServer.start { routes in
                routes.on(.get, "/away", .status(302, headers: ["Location": elsewhere.url(for: "/").absoluteString]))
            }
            let client = NetworkClient(interceptors: [authenticator(server, dpop: isBound ? .generated() : nil)])
            let error = await #expect(throws: ServerError.self) {
                try await client.makeRequest(URLRequest(url: api.url(for: "/away")))
            }
            #expect(error?.errorCode == 401)
            #expect(api.requests(for: "/away").map { $0.headers["Authorization"] != nil } == [true])
            #expect(elsewhere.requests(for: "/").map { $0.headers["Authorization"] } == [nil])
            #expect(elsewhere.requests(for: "/").map { $0.headers["DPoP"] } == [nil])
            #expect(server.tokenRequestCount == 1)
            await elsewhere.stop()
            await api.stop()
        }
    }

    // MARK: Setup

    private func authenticator(
        _ server: MockAuthorizationServer,
        grant: any Grant = ClientCredentialsGrant(),
        dpop: DPoPKey? = nil,
        timeSource: TimeSource = .system,
        options: OAuth2Authenticator.Options = .init()
    ) -> OAuth2Authenticator {
        OAuth2Authenticator(
            client: OAuth2Client(
                server: server.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                dpop: dpop,
                timing: .init(lostRequestDelay: .zero, timeSource: timeSource, random: { 0 })
            ),
            grant: grant,
            resources: .everyHTTPSOrigin,
            options: options
        )
    }
}
