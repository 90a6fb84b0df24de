import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// Tests of the overrides for one request, and of streamed responses in the attempt loop.
@Suite("RequestOptions and streamed responses", .limitedConcurrency)
struct RequestOptionsTests {
    private let request = URLRequest(url: URL(string: "http://a.example/things")!)

    private func once(_ text: String) -> HTTPBody {
        .once(
            AsyncStream { continuation in
                continuation.yield(Data(text.utf8))
                continuation.finish()
            }
        )
    }

    @Test("Options override the client's limits")
    func limits() async throws {
        let transport = MockTransport { _ in .init(status: 204) }
        let time = ManualTime()
        let client = NetworkClient(
            transport: transport,
            options: .init(timeout: .seconds(5), maximumBodySize: 7, timeSource: time.timeSource)
        )
        let start = time.now
        _ = try await client.makeRequest(request, options: RequestOptions())
        _ = try await client.makeRequest(
            request,
            options: RequestOptions(
                timeout: .seconds(9),
                maximumBodySize: 11,
                firstByteTimeout: .seconds(1),
                idleTimeout: .seconds(2)
            )
        )
        let limits = transport.requests.map(\.limits)
        #expect(limits.map(\.maximumBodySize) == [7, 11])
        #expect(limits.map(\.firstByteTimeout) == [nil, .seconds(1)])
        #expect(limits.map(\.idleTimeout) == [nil, .seconds(2)])
        #expect(limits.map(\.deadline) == [start + .seconds(5), start + .seconds(9)])
    }

    @Test("Accepts a timeout beyond the clock's range")
    func endless() async throws {
        let transport = MockTransport(.status(204))
        let client = NetworkClient(transport: transport)
        _ = try await client.makeRequest(request, options: RequestOptions(timeout: .seconds(Int64.max)))
        #expect(transport.remainingStepCount == 0)
    }

    @Test("The option's body replaces the request's and keeps the header fields")
    func body() async throws {
        let transport = MockTransport { _ in .init(status: 204) }
        var request = request
        request.httpMethod = "PUT"
        request.httpBody = Data("own".utf8)
        request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
        let client = NetworkClient(transport: transport)
        for body in [nil, HTTPBody.data(Data("other".utf8)), once("parts")] {
            _ = try await client.makeRequest(request, options: RequestOptions(body: body))
        }
        #expect(transport.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["own", "other", "parts"])
        #expect(transport.requests.allSatisfy { $0.headers["Content-Type"] == "text/plain" })
    }

    @Test(
        "Never sends a body again that can be sent only once",
        arguments: [401, 503]
    )
    func notReplayable(_ status: Int) async throws {
        let transport = MockTransport(.status(status), .text("ok"))
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retry : .none }
        let client = NetworkClient(
            transport: transport,
            interceptors: [authenticator, Retry.Policy.maxRetries(2, when: .always)]
        )
        var request = request
        request.httpMethod = "PUT"
        let error = await #expect(throws: ServerError.self) {
            try await client.makeRequest(request, options: RequestOptions(body: once("parts")))
        }
        #expect(error?.errorCode == status)
        guard case .bodyNotReplayable = error?.retry?.reason else {
            Issue.record("another reason: \(String(describing: error?.retry?.reason))")
            return
        }
        #expect(error?.description.contains("sent only once") == true)
        #expect(transport.requests.count == 1)
    }

    @Test("Sends a replayable body again")
    func replayable() async throws {
        let transport = MockTransport(.status(503), .text("ok"))
        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(1)])
        var request = request
        request.httpMethod = "PUT"
        let body = HTTPBody.stream {
            AsyncStream { continuation in
                continuation.yield(Data("parts".utf8))
                continuation.finish()
            }
        }
        _ = try await client.makeRequest(request, options: RequestOptions(body: body))
        #expect(transport.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["parts", "parts"])
    }

    // MARK: Streamed responses

    @Test("Retries and authenticates until the header arrives, then streams the body")
    func streamed() async throws {
        let transport = MockTransport(.status(503), .status(401), .text("hello", headers: ["X-A": "b"]))
        let log = EventLog()
        let client = NetworkClient(
            transport: transport,
            interceptors: [
                CountingAuthenticator { status, _ in status == 401 ? .retry : .none }, Retry.Policy.maxRetries(1),
                RecordingInterceptor("r", log: log),
            ]
        )
        let stream = try await client.stream(request)
        #expect(stream.status == 200)
        #expect(stream.headers["X-A"] == "b")
        #expect(stream.url == request.url)
        #expect(try await stream.stream.collect(upTo: 10) == Data("hello".utf8))
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2", "Bearer 3"])
        #expect(log.all.filter { $0.hasSuffix("success") }.count == 1)
    }

    @Test("Throws a status that isn't accepted with its body")
    func streamedFailure() async throws {
        let client = NetworkClient(transport: MockTransport(.text("why", status: 404)))
        let error = await #expect(throws: ServerError.self) { try await client.stream(request) }
        #expect(error?.errorCode == 404)
        #expect(error?.response == Data("why".utf8))
    }

    @Test("An interceptor sees a streamed response without its body, and can replace or reject it")
    func streamedInterception() async throws {
        let transport = MockTransport { _ in .init(status: 200, body: Data("hello".utf8)) }
        let bodies = Mutex<[Data]>([])
        func client(_ replacing: @escaping @Sendable (inout HTTPResponse) -> Void) -> NetworkClient {
            let interceptor = RecordingInterceptor(
                "r",
                replacingResponse: { response in
                    bodies.withLock { $0.append(response.body) }
                    var response = response
                    replacing(&response)
                    return response
                }
            )
            return NetworkClient(transport: transport, interceptors: [interceptor])
        }
        let headed = try await client { $0.headers["X-New"] = "1" }.stream(request)
        #expect(headed.headers["X-New"] == "1")
        #expect(try await headed.stream.collect(upTo: 10) == Data("hello".utf8))
        let replaced = try await client { $0.body = Data("other".utf8) }.stream(request)
        #expect(try await replaced.stream.collect(upTo: 10) == Data("other".utf8))
        let error = await #expect(throws: ServerError.self) { try await client { $0.status = 502 }.stream(request) }
        #expect(error?.errorCode == 502)
        #expect(error?.response == Data("hello".utf8))
        #expect(bodies.withLock { $0 } == [Data(), Data(), Data()])
    }

    @Test("Streams a response while it's received", arguments: LoopbackClientTests.Engine.allCases)
    func loopback(_ engine: LoopbackClientTests.Engine) async throws {
        try await withLoopbackServer { server async throws in
            let text = String(repeating: "0123456789", count: 50_000)
            server.on(.get, "/things", .status(503), .text(text))
            let client = engine.client([Retry.Policy.maxRetries(1)])
            let stream = try await client.stream(URLRequest(url: server.url(for: "/things")))
            var received = Data()
            for try await part in stream.stream { received.append(part) }
            #expect(received == Data(text.utf8))
        }
    }

    @Test("An observer receives the events of every request, including redirects and retries")
    func observed() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/things", .status(302, headers: ["Location": "/there"]))
            server.on(.get, "/there", .text("hello"))
            let statuses = Mutex<[Int]>([])
            let options = RequestOptions { event in
                if case .headReceived(let status) = event { statuses.withLock { $0.append(status) } }
            }
            let client = NetworkClient(configuration: .ephemeral)
            _ = try await client.makeRequest(URLRequest(url: server.url(for: "/things")), options: options)
            #expect(statuses.withLock { $0 } == [302, 200])
        }
    }
}
