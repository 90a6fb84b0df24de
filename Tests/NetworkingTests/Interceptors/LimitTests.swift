import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("RateLimiter", .limitedConcurrency)
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

    @Test("Sends a burst at once, and then requests at equal intervals")
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
        var generator = SeededGenerator(seed: seed)
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
        for _ in 0..<3 {
            let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(request) }
            #expect(error?.code == .rateLimited)
        }
        #expect(transport.requests.count == 1 && time.sleeps.isEmpty)
        time.advance(by: .seconds(6))
        _ = try await client.makeRequest(request)
        #expect(time.sleeps == [.seconds(4)])
    }
}

@Suite("CircuitBreaker", .limitedConcurrency)
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

    @Test("Enough failures in a window open the circuit, which blocks requests until the pause ends")
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
        let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(request) }
        #expect(error?.code == .circuitOpen)
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
        let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(request) }
        #expect(error?.code == .circuitOpen)
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
        await #expect(throws: NetworkError.self) { try await probe.value }
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

    @Test("A request that another interceptor prevents doesn't remain the probe")
    func notMade() async throws {
        struct Refusal: Error {}
        let breaker = breaker(minimum: 1)
        let log = EventLog()
        let refusing = RecordingInterceptor(
            "a",
            makingRequest: { result in
                log.append("")
                if log.all.count == 2 { throw Refusal() }
                return try result.get()
            }
        )
        let client = NetworkClient(
            transport: MockTransport(.status(500), .text("ok")),
            interceptors: [breaker, refusing],
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
        _ = try? await client.makeRequest(request)
        time.advance(by: .seconds(5))
        let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(request) }
        #expect(error?.code == .requestNotMade)
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
    }
}
