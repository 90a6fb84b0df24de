import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("Discovery cache", .limitedConcurrency, .tags(.concurrency))
struct DiscoveryCacheTests {
    private let time = ManualTime()

    @Test(
        "Keeps metadata for the server's lifetime, within limits",
        arguments: [
            (nil, nil, 3_600), ("max-age=600", nil, 600), ("max-age=600", "500", 100),
            ("public, max-age=\"120\"", nil, 120), ("max-age=1", nil, 60), ("no-store", nil, 60),
            ("no-cache, max-age=600", nil, 60), ("max-age=999999999999999999999", nil, 86_400),
            ("max-age=soon", nil, 3_600), ("MAX-AGE=300", nil, 300), ("max-age=600,max-age=300", nil, 600),
        ] as [(String?, String?, Int)]
    )
    func lifetime(cacheControl: String?, age: String?, seconds: Int) async throws {
        var headers: HTTPHeaders = [:]
        headers["Cache-Control"] = cacheControl
        headers["Age"] = age
        let transport = MockTransport(steps: [answer("a", headers), answer("b")], time: time.timeSource, handler: nil)
        let discovery = discovery(transport)
        #expect(try await discovery.server().tokenEndpoint.path == "/a")
        time.advance(by: .seconds(seconds) - .milliseconds(1))
        #expect(try await discovery.server().tokenEndpoint.path == "/a")
        time.advance(by: .milliseconds(1))
        #expect(try await discovery.server().tokenEndpoint.path == "/b")
        #expect(transport.requests.count == 2)
    }

    @Test("A 304 renews the lifetime of metadata, by its own fields or those of the previous response")
    func notModified() async throws {
        let transport = MockTransport(
            steps: [
                answer("a", ["ETag": #""a""#, "Cache-Control": "max-age=600"]), .status(304),
                .status(304, headers: ["Cache-Control": "max-age=120"]), answer("b"),
            ],
            time: time.timeSource,
            handler: nil
        )
        let discovery = discovery(transport)
        for (number, seconds) in [600, 600, 120].enumerated() {
            #expect(try await discovery.server().tokenEndpoint.path == "/a")
            time.advance(by: .seconds(seconds) - .milliseconds(1))
            #expect(try await discovery.server().tokenEndpoint.path == "/a")
            #expect(transport.requests.count == number + 1)
            time.advance(by: .milliseconds(1))
        }
        #expect(try await discovery.server().tokenEndpoint.path == "/b")
        #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, #""a""#, #""a""#, #""a""#])
    }

    @Test("Doesn't send the validator of one metadata document to another")
    func otherDocument() async throws {
        let transport = MockTransport(
            steps: [answer("a", ["ETag": #""a""#]), .status(404), answer("b")],
            time: time.timeSource,
            handler: nil
        )
        let discovery = discovery(transport) { $0.documents = [.openID, .oauth2] }
        #expect(try await discovery.server().tokenEndpoint.path == "/a")
        discovery.expire()
        #expect(try await discovery.server().tokenEndpoint.path == "/b")
        #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, #""a""#, nil])
    }

    @Test("Sends one request for concurrent callers")
    func singleFlight() async throws {
        let gate = ResponseGate()
        let transport = MockTransport(answer("a").gated(by: gate), time: time.timeSource)
        let discovery = discovery(transport)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 1...100 { group.addTask { try await discovery.server().tokenEndpoint.path } }
            try await gate.waitForWaiters(count: 1)
            gate.open()
            for try await path in group { #expect(path == "/a") }
        }
        #expect(transport.requests.count == 1)
    }

    @Test(
        "Uses expired metadata for a limited time during an outage, with few requests",
        .shows("O10", "RFC 8414 §3, OpenID Connect Discovery §4"),
        arguments: [
            MockTransport.Step.status(503), .failure(NetworkError(.cannotConnect, "no luck")), .text("<html>"),
            .status(404),
        ]
    )
    func outage(step: MockTransport.Step) async throws {
        let transport = MockTransport(steps: [answer("a")], time: time.timeSource) { _ in
            try await MockTransport(step).send(
                .init(url: URL(string: "https://id.example")!),
                limits: .init()
            )
        }
        let discovery = discovery(transport) { $0.staleLifetime = .seconds(600) }
        _ = try await discovery.server()
        time.advance(by: .seconds(3_600))
        #expect(try await discovery.server().tokenEndpoint.path == "/a")
        let asked = transport.requests.count
        #expect(asked > 1)
        time.advance(by: .seconds(29))
        #expect(try await discovery.server().tokenEndpoint.path == "/a")
        #expect(transport.requests.count == asked)
        time.advance(by: .seconds(1))
        #expect(try await discovery.server().tokenEndpoint.path == "/a")
        #expect(transport.requests.count > asked)
        time.advance(by: .seconds(570))
        await #expect(throws: OAuth2Error.self) { try await discovery.server() }
    }

    @Test("Uses new metadata after an outage")
    func recovery() async throws {
        let transport = MockTransport(
            steps: [answer("a"), .status(500), answer("b")],
            time: time.timeSource,
            handler: nil
        )
        let discovery = discovery(transport)
        _ = try await discovery.server()
        discovery.expire()
        #expect(try await discovery.server().tokenEndpoint.path == "/a")
        time.advance(by: .seconds(30))
        #expect(try await discovery.server().tokenEndpoint.path == "/b")
    }

    @Test("Doesn't treat another issuer as an outage", .shows("G8"))
    func takeover() async throws {
        let other = #"{"issuer":"https://evil.example","token_endpoint":"https://evil.example/token"}"#
        let transport = MockTransport(steps: [answer("a"), .json(other)], time: time.timeSource, handler: nil)
        let discovery = discovery(transport)
        _ = try await discovery.server()
        discovery.expire()
        #expect(await failureCode { try await discovery.server() } == .issuerMismatch)
    }

    @Test("Throws an error without old metadata, and retries for the next caller")
    func firstFailure() async throws {
        let transport = MockTransport(steps: [.status(503), answer("a")], time: time.timeSource, handler: nil)
        let discovery = discovery(transport)
        #expect(await failureCode { try await discovery.server() } == .serverTransient)
        #expect(try await discovery.server().tokenEndpoint.path == "/a")
    }

    @Test("Times out if the server never responds")
    func silence() async throws {
        let transport = MockTransport(.never, time: time.timeSource)
        let discovery = discovery(transport)
        let call = Task { try await discovery.server() }
        try await transport.waitForRequests(count: 1)
        // The cache's timeout and the request's.
        try await time.waitForSleepers(count: 2)
        time.advance(by: .seconds(10))
        #expect(await failureCode { try await call.value } == .serverUnreachable)
    }

    private func answer(_ endpoint: String, _ headers: HTTPHeaders = [:]) -> MockTransport.Step {
        .json(
            #"{"issuer":"https://id.example","token_endpoint":"https://id.example/\#(endpoint)"}"#,
            headers: headers
        )
    }

    private func discovery(
        _ transport: MockTransport,
        _ change: (inout AuthorizationServerDiscovery.Options) -> Void = { _ in }
    ) -> AuthorizationServerDiscovery {
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [.oauth2]
        options.timing.timeSource = time.timeSource
        options.timing.attempts = 1
        options.timing.random = { 0 }
        change(&options)
        return AuthorizationServerDiscovery(
            issuer: "https://id.example",
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            options: options
        )
    }
}
