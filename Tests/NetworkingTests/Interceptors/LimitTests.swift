import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("RateLimiter", .limitedConcurrency, .tags(.concurrency))
struct RateLimiterTests {
    private let time = ManualTime(advancesWhenSleeping: true)
    private let request = URLRequest(url: URL(string: "http://a.example/")!, timeoutInterval: .infinity)

    private func client(_ limiter: RateLimiter, _ transport: MockTransport, timeout: Duration? = nil) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: [limiter, Retry.Policy.maxRetries(1)],
            options: .init(timeout: timeout, timeSource: time.timeSource)
        )
    }

    @Test("Sends a burst at once, and then requests at equal intervals", .shows("P25"))
    func distances() async throws {
        let limiter = RateLimiter(10, per: .seconds(1), burst: 3, timeSource: time.timeSource)
        let client = client(limiter, MockTransport { _ in HTTPTransportResponse(status: 200) })
        for _ in 0..<6 { _ = try await client.makeRequest(request) }
        #expect(time.sleeps == Array(repeating: .milliseconds(100), count: 3))
        time.advance(by: .seconds(10))
        for _ in 0..<4 { _ = try await client.makeRequest(request) }
        #expect(time.sleeps.count == 4)
    }

    @Test("Never exceeds the rate, whenever requests arrive", arguments: UInt64(1)...3)
    func property(_ seed: UInt64) async throws {
        var generator = SplitMix(state: seed)
        let limiter = RateLimiter(5, per: .seconds(1), burst: 2, timeSource: time.timeSource)
        let transport = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: 200) }
        let client = client(limiter, transport)
        for _ in 0..<100 {
            time.advance(by: .milliseconds(Int.random(in: 0...400, using: &generator)))
            _ = try await client.makeRequest(request)
        }
        let arrivals = transport.requests.map(\.arrival)
        for (index, arrival) in arrivals.enumerated() {
            let inWindow = arrivals[index...].prefix { $0 < arrival + .seconds(1) }.count
            #expect(inWindow <= 5 + 1, "a burst of two, then one every 200 ms")
        }
    }

    @Test("Accepts numbers whose product isn't a duration")
    func extremes() async throws {
        let transport = MockTransport { _ in HTTPTransportResponse(status: 200) }
        let burst = RateLimiter(1, per: .seconds(Int64.max), burst: .max, timeSource: time.timeSource)
        for _ in 0..<20 { _ = try await client(burst, transport).makeRequest(request) }
        #expect(time.sleeps.isEmpty)
        let single = RateLimiter(1, per: .seconds(Int64.max), timeSource: time.timeSource)
        for _ in 0..<20 { _ = try await client(single, transport).makeRequest(request) }
        #expect(time.sleeps == Array(repeating: .seconds(86_400 * 3_650), count: 19))
    }

    @Test("Each attempt waits for its turn")
    func attempts() async throws {
        let limiter = RateLimiter(1, per: .seconds(1), timeSource: time.timeSource)
        _ = try await client(limiter, MockTransport(.status(503), .text("ok"))).makeRequest(request)
        #expect(time.sleeps == [.seconds(1)])
    }

    @Test("Fails a request at once, without taking a turn, if its turn would come after the deadline")
    func deadline() async throws {
        let limiter = RateLimiter(1, per: .seconds(10), timeSource: time.timeSource)
        let transport = MockTransport(time: time.timeSource) { _ in HTTPTransportResponse(status: 200) }
        let client = client(limiter, transport, timeout: .seconds(5))
        _ = try await client.makeRequest(request)
        for _ in 0..<3 { await expectFailure(.rateLimited) { try await client.makeRequest(request) } }
        #expect(transport.requests.count == 1 && time.sleeps.isEmpty)
        time.advance(by: .seconds(6))
        _ = try await client.makeRequest(request)
        #expect(time.sleeps == [.seconds(4)])
    }
}

@Suite("CircuitBreaker", .limitedConcurrency, .tags(.concurrency))
struct CircuitBreakerTests {
    private let time = ManualTime(advancesWhenSleeping: true)
    private let url = URL(string: "http://a.example/")!

    private func client(_ breaker: CircuitBreaker, _ transport: MockTransport) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: [breaker],
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
    }

    private func breaker(ratio: Double = 0.5, minimum: Int = 4) -> CircuitBreaker {
        CircuitBreaker(failureRatio: ratio, minimumAttempts: minimum, timeSource: time.timeSource)
    }

    private var request: URLRequest { URLRequest(url: url, timeoutInterval: .infinity) }

    @Test("Enough failures in a window open the circuit, which blocks requests until the pause ends", .shows("P25"))
    func opening() async throws {
        let breaker = breaker()
        let transport = MockTransport(
            .status(500),
            .text("ok"),
            .text("ok"),
            .failure(NetworkError(.connectionLost, "cut")),
            .text("ok"),
            .text("ok")
        )
        let client = client(breaker, transport)
        for _ in 0..<4 { _ = try? await client.makeRequest(request) }
        #expect(breaker.isOpen(for: url))
        await expectFailure(.circuitOpen) { try await client.makeRequest(request) }
        #expect(transport.requests.count == 4)
        #expect(!breaker.isOpen(for: try #require(URL(string: "http://b.example/"))))
        time.advance(by: .seconds(5))
        _ = try await client.makeRequest(request)
        _ = try await client.makeRequest(request)
        #expect(!breaker.isOpen(for: url))
    }

    @Test("A failed probe keeps the circuit open, and only one probe is sent at a time")
    func probing() async throws {
        let breaker = breaker(minimum: 1)
        let gate = ResponseGate()
        let transport = MockTransport(.status(500), MockTransport.Step.status(500).gated(by: gate))
        let client = client(breaker, transport)
        _ = try? await client.makeRequest(request)
        time.advance(by: .seconds(5))
        let probe = Task { [request] in try await client.makeRequest(request) }
        try await transport.waitForRequests(count: 2)
        await expectFailure(.circuitOpen) { try await client.makeRequest(request) }
        gate.open()
        await #expect(throws: ServerError.self) { try await probe.value }
        #expect(breaker.isOpen(for: url) && transport.requests.count == 2)
    }

    @Test("After a canceled probe, the next request is the probe")
    func cancelledProbe() async throws {
        let breaker = breaker(minimum: 1)
        let transport = MockTransport(.status(500), .never, .text("ok"))
        let client = client(breaker, transport)
        _ = try? await client.makeRequest(request)
        time.advance(by: .seconds(5))
        let probe = Task { [request] in try await client.makeRequest(request) }
        try await transport.waitForRequests(count: 2)
        probe.cancel()
        await #expect(throws: CancellationError.self) { try await probe.value }
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(!breaker.isOpen(for: url))
    }

    @Test("Ignores client errors and old windows")
    func harmless() async throws {
        let breaker = breaker()
        let transport = MockTransport { request in
            HTTPTransportResponse(status: request.headers["X-Status"].flatMap { Int($0) } ?? 200)
        }
        let client = client(breaker, transport)
        func send(_ status: Int, _ count: Int) async {
            var request = request
            request.setValue("\(status)", forHTTPHeaderField: "X-Status")
            for _ in 0..<count { _ = try? await client.makeRequest(request) }
        }
        await send(404, 10)
        await send(500, 3)
        #expect(!breaker.isOpen(for: url))
        time.advance(by: .seconds(31))
        await send(500, 3)
        #expect(!breaker.isOpen(for: url))
        await send(500, 1)
        #expect(breaker.isOpen(for: url))
    }

    @Test("Forgets the origins that weren't called for a window, also with an open circuit", arguments: [200, 500])
    func manyOrigins(status: Int) async throws {
        let breaker = breaker(minimum: 1)
        let client = client(breaker, MockTransport { _ in HTTPTransportResponse(status: status) })
        for number in 0..<200 {
            let url = try #require(URL(string: "http://host\(number).example/"))
            _ = try? await client.makeRequest(URLRequest(url: url, timeoutInterval: .infinity))
            #expect(breaker.isOpen(for: url) == (status == 500))
            time.advance(by: .seconds(30))
        }
        #expect(breaker.circuitCount <= 64)
    }

    @Test("A request that another interceptor prevents doesn't remain the probe")
    func notMade() async throws {
        struct Refusal: Error {}
        let breaker = breaker(minimum: 1)
        let log = EventLog()
        let refusing = Changing.request { _ in
            log.append("")
            if log.all.count == 2 { throw Refusal() }
        }
        let client = NetworkClient(
            transport: MockTransport(.status(500), .text("ok")),
            interceptors: [breaker, refusing],
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
        _ = try? await client.makeRequest(request)
        time.advance(by: .seconds(5))
        await expectFailure(.requestNotMade) { try await client.makeRequest(request) }
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
    }
}

@Suite(.limitedConcurrency, .tags(.concurrency))
struct WireInterceptorTests {
    private struct Failure: Error, Equatable {}

    /// Marks each request and response, and can fail.
    private final class Marker: WireInterceptor {
        let name: String
        let fails: @Sendable (HTTPRequest) -> Bool
        let rejects: @Sendable (HTTPTransportResponse) -> Bool
        private let seen = Mutex<[String]>([])

        init(
            _ name: String = "a",
            fails: @escaping @Sendable (HTTPRequest) -> Bool = { _ in false },
            rejects: @escaping @Sendable (HTTPTransportResponse) -> Bool = { _ in false }
        ) {
            (self.name, self.fails, self.rejects) = (name, fails, rejects)
        }

        var events: [String] { seen.withLock { $0 } }

        func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
            let place = "\(request.url.path) after \(next.redirects.count), attempt \(next.context.attempt)"
            seen.withLock { $0.append(place) }
            if fails(request) { throw Failure() }
            var request = request
            request.headers["X-Mark"] = (request.headers["X-Mark"] ?? "") + name
            var response = try await next(request)
            seen.withLock { $0.append("\(response.status) to \(request.headers["X-Mark"] ?? "nothing")") }
            if rejects(response) { throw Failure() }
            response.headers["X-Seen"] = (response.headers["X-Seen"] ?? "") + name
            return response
        }
    }

    private func request(_ path: String = "/1", method: String = "GET") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://a.example\(path)")))
        request.httpMethod = method
        return request
    }

    private func redirect(to location: String) -> MockTransport.Step {
        .response(HTTPTransportResponse(status: 307, headers: ["Location": location]))
    }

    @Test("each request on the wire is completed anew, without what the previous one got")
    func hops() async throws {
        let transport = MockTransport(redirect(to: "/2"), redirect(to: "https://b.example/3"), .status(200))
        let marker = Marker()
        let client = NetworkClient(transport: transport, interceptors: [marker])
        let response = try await client.response(for: try request())
        #expect(transport.requests.map { $0.headers["X-Mark"] } == ["a", "a", "a"])
        #expect(
            marker.events == [
                "/1 after 0, attempt 1", "307 to a", "/2 after 1, attempt 1", "307 to a", "/3 after 2, attempt 1",
                "200 to a",
            ]
        )
        #expect(response.headers["X-Seen"] == "a")
        #expect(response.redirects.count == 2)
    }

    @Test("several interceptors run in order, after the other ones")
    func order() async throws {
        let transport = MockTransport(.status(200))
        let late = Changing.request { $0.headers["X-Mark"] = "0" }
        let client = NetworkClient(transport: transport, interceptors: [Marker("a"), late, Marker("b")])
        let response = try await client.response(for: try request())
        #expect(transport.requests.map { $0.headers["X-Mark"] } == ["0ab"])
        #expect(response.headers["X-Seen"] == "ba")
    }

    @Test("each attempt is completed anew")
    func attempts() async throws {
        let transport = MockTransport(.status(503), .status(200))
        let marker = Marker()
        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(1), marker])
        _ = try await client.makeRequest(try request())
        #expect(transport.requests.map { $0.headers["X-Mark"] } == ["a", "a"])
        #expect(marker.events.count { $0.hasSuffix("attempt 2") } == 1)
    }

    @Test("a request that can't be completed isn't sent or retried")
    func incompleteRequest() async throws {
        let transport = MockTransport()
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(3, when: .always), Marker(fails: { _ in true })]
        )
        let error = await #expect(throws: NetworkError(.requestNotMade, "")) {
            _ = try await client.makeRequest(try request())
        }
        #expect(error?.cause is Failure)
        #expect(error?.isUnprocessed == true)
        #expect(transport.requests.isEmpty)
    }

    @Test("after a redirect, a request that can't be completed may have had an effect")
    func incompleteRedirect() async throws {
        let transport = MockTransport(redirect(to: "/2"))
        let marker = Marker(fails: { $0.url.path == "/2" })
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(3, when: .always), marker]
        )
        let error = await #expect(throws: NetworkError(.requestNotMade, "")) {
            _ = try await client.makeRequest(try request(method: "POST"))
        }
        #expect(error?.isUnprocessed == false)
        #expect(transport.requests.count == 1)
    }

    @Test("a rejected response fails the attempt, and a rejected redirect isn't followed")
    func rejectedResponses() async throws {
        let transport = MockTransport(redirect(to: "/2"), .status(200))
        let client = NetworkClient(transport: transport, interceptors: [Marker(rejects: { $0.status == 307 })])
        await #expect(throws: Failure()) { _ = try await client.makeRequest(try request()) }
        #expect(transport.requests.count == 1)
    }

    @Test("cancellation while a request is completed is a cancellation")
    func cancellation() async throws {
        let transport = MockTransport()
        let waiting = Waiting()
        let client = NetworkClient(transport: transport, interceptors: [waiting])
        let call = Task { try await client.makeRequest(try request()) }
        try await waiting.gate.waitForWaiters(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    private struct Waiting: WireInterceptor {
        let gate = ResponseGate()

        func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
            try await gate.wait()
            return try await next(request)
        }
    }
}
