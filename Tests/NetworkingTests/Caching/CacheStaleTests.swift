import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("CacheInterceptor: stale responses", .limitedConcurrency, .tags(.concurrency))
struct CacheStaleTests {
    private static let renewed: HTTPHeaders = [
        "Cache-Control": "max-age=1, stale-while-revalidate=10", "ETag": "\"1\"",
    ]
    private static let tolerant: HTTPHeaders = ["Cache-Control": "max-age=1, stale-if-error=10"]

    @Test("Answers at once with a stale response, and renews it in the background", .shows("P14", "RFC 5861"))
    func whileRevalidating() async throws {
        let ended = AttemptCounter()
        let fixture = CacheFixture(
            .text("a", headers: Self.renewed),
            .text("b", headers: ["Cache-Control": "max-age=60"]),
            observers: [ended]
        )
        try await fixture.makeStale()
        let stale = try await fixture.response()
        #expect(stale.body == Data("a".utf8) && stale.cacheUse == .stale && stale.headers["Age"] == "5")
        // The first operation, the stale response and the renewal.
        try await ended.wait(for: 3)
        #expect(fixture.transport.requests[1].headers["If-None-Match"] == "\"1\"")
        let fresh = try await fixture.response()
        #expect(fresh.body == Data("b".utf8) && fresh.cacheUse == .fresh)
    }

    @Test("Renews a response once, however many requests use it")
    func singleFlight() async throws {
        let gate = ResponseGate()
        let ended = AttemptCounter()
        let fixture = CacheFixture(
            .text("a", headers: Self.renewed),
            .text("b", headers: .fresh).gated(by: gate),
            observers: [ended]
        )
        try await fixture.makeStale()
        for _ in 0..<10 { #expect(try await fixture.text() == "a") }
        try await fixture.transport.waitForRequests(count: 2)
        gate.open()
        try await ended.wait(for: 12)
        #expect(try await fixture.text() == "b")
        #expect(fixture.sent == 2)
    }

    @Test("Renews the whole response, even if the request has its own conditions")
    func conditionalRenewal() async throws {
        let ended = AttemptCounter()
        let fixture = CacheFixture(.text("a", headers: Self.renewed), .text("b", headers: .fresh), observers: [ended])
        try await fixture.makeStale()
        #expect(try await fixture.text(["If-None-Match": "\"0\""]) == "a")
        try await ended.wait(for: 3)
        #expect(fixture.transport.requests[1].headers["If-None-Match"] == "\"1\"")
        #expect(try await fixture.text() == "b")
    }

    @Test("Limits the number of renewals")
    func renewalCount() async throws {
        let gate = ResponseGate()
        let time = ManualTime()
        let transport = MockTransport(time: time.timeSource) { request in
            if request.headers["If-None-Match"] != nil { try await gate.wait() }
            return HTTPTransportResponse(status: 200, headers: Self.renewed, body: Data("a".utf8))
        }
        var options = NetworkClient.Options()
        options.timeSource = time.timeSource
        let client = NetworkClient(
            transport: transport,
            interceptors: [CacheInterceptor(timeSource: time.timeSource)],
            options: options
        )
        let urls = try (0..<20).map { try #require(URL(string: "http://a.example/\($0)")) }
        for url in urls { _ = try await client.makeRequest(URLRequest(url: url)) }
        time.advance(by: .seconds(5))
        for url in urls { _ = try await client.makeRequest(URLRequest(url: url)) }
        try await transport.waitForRequests(count: 28)
        #expect(transport.requests.count == 28)
        gate.open()
    }

    @Test("Doesn't report the failure of a renewal, and keeps the response")
    func failedRenewal() async throws {
        let ended = AttemptCounter()
        let fixture = CacheFixture(
            .text("a", headers: Self.renewed),
            .status(500),
            .failure(NetworkError(.connectionLost, "")),
            observers: [ended]
        )
        try await fixture.makeStale()
        #expect(try await fixture.response().cacheUse == .stale)
        try await ended.wait(for: 3)
        #expect(try await fixture.response().cacheUse == .stale)
    }

    @Test("Cancels a renewal when the client is released")
    func released() async throws {
        let time = ManualTime()
        let isCancelled = Watch()
        let transport = MockTransport(time: time.timeSource) { request in
            guard request.headers["If-None-Match"] != nil else {
                return HTTPTransportResponse(status: 200, headers: Self.renewed, body: Data("a".utf8))
            }
            await withTaskCancellationHandler {
                await isCancelled.wait()
            } onCancel: {
                isCancelled.set()
            }
            throw CancellationError()
        }
        var options = NetworkClient.Options()
        options.timeSource = time.timeSource
        var client: NetworkClient? = NetworkClient(
            transport: transport,
            interceptors: [CacheInterceptor(timeSource: time.timeSource)],
            options: options
        )
        _ = try await client?.response(for: CacheFixture.request())
        time.advance(by: .seconds(5))
        _ = try await client?.response(for: CacheFixture.request())
        try await transport.waitForRequests(count: 2)
        client = nil
        await isCancelled.wait()
    }

    @Test("Validates a response beyond its window, and one that forbids stale use")
    func windows() async throws {
        for control in [
            "max-age=1, stale-while-revalidate=3", "max-age=1, stale-while-revalidate=60, must-revalidate",
            "no-cache, max-age=1, stale-while-revalidate=60", "max-age=1, stale-while-revalidate=x",
        ] {
            let fixture = CacheFixture(.text("a", headers: ["Cache-Control": control]), .text("b"))
            try await fixture.makeStale()
            #expect(try await fixture.text() == "b", "\(control)")
        }
    }

    @Test(
        "Answers with a stale response after the first failure, without retries",
        .shows("RFC 5861"),
        arguments: [500, 502, 503, 504, 0]
    )
    func onError(status: Int) async throws {
        let failure: MockTransport.Step =
            status == 0 ? .failure(NetworkError(.connectionLost, "")) : .status(status)
        let fixture = CacheFixture(
            .text("a", headers: Self.tolerant),
            failure,
            .text("b"),
            after: [Retry.Policy.maxRetries(3)]
        )
        try await fixture.makeStale()
        let stale = try await fixture.response()
        #expect(stale.body == Data("a".utf8) && stale.cacheUse == .staleOnError && stale.headers["Age"] == "5")
        #expect(fixture.sent == 2)
        #expect(try await fixture.text() == "b")
    }

    @Test(
        "Reports a failure that the stored response doesn't replace",
        arguments: [
            ("max-age=1", 503), ("max-age=1, stale-if-error=3", 503), ("max-age=1, stale-if-error=60, no-cache", 503),
            ("max-age=1, stale-if-error=60, must-revalidate", 503), ("max-age=1, stale-if-error=60", 501),
            ("max-age=1, stale-if-error=60", 429), ("max-age=1, stale-if-error=60", 404),
        ]
    )
    func reported(_ control: String, status: Int) async throws {
        let fixture = CacheFixture(.text("a", headers: ["Cache-Control": control]), .status(status))
        try await fixture.makeStale()
        await expectStatus(status) { try await fixture.response() }
    }

    @Test("Reports a TLS failure and a cancellation despite stale-if-error")
    func otherErrors() async throws {
        for code in [NetworkError.Code.tls, .bodyTooLarge] {
            let fixture = CacheFixture(.text("a", headers: Self.tolerant), .failure(NetworkError(code, "")))
            try await fixture.makeStale()
            await #expect(throws: NetworkError(code, "")) { try await fixture.response() }
        }
        let fixture = CacheFixture(.text("a", headers: Self.tolerant), .never)
        try await fixture.makeStale()
        let call = Task { try await fixture.response() }
        try await fixture.transport.waitForRequests(count: 2)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test("The request can allow a stale response after a failure")
    func requestWindow() async throws {
        let fixture = CacheFixture(.text("a", headers: ["Cache-Control": "max-age=1"]), .status(503))
        try await fixture.makeStale()
        #expect(try await fixture.text(["Cache-Control": "stale-if-error=10"]) == "a")
    }

    @Test("Answers while a breaker blocks requests, and lets it count the server's failures")
    func breaker() async throws {
        let time = ManualTime()
        let breaker = CircuitBreaker(failureRatio: 0.5, minimumAttempts: 2, timeSource: time.timeSource)
        let fixture = CacheFixture(.text("a", headers: Self.tolerant), .status(503), after: [breaker])
        try await fixture.makeStale()
        #expect(try await fixture.response().cacheUse == .staleOnError)
        #expect(breaker.isOpen(for: CacheFixture.url))
        #expect(try await fixture.response().cacheUse == .staleOnError)
        #expect(fixture.sent == 2)
        fixture.time.advance(by: .seconds(60))
        await expectFailure(.circuitOpen) { try await fixture.response() }
    }
}

private final class AttemptCounter: ClientObserver {
    private let watch = Watch()

    func attemptEnded(_ attempt: RequestAttempt) { watch.set() }

    func wait(for count: Int) async throws { await watch.wait(for: count) }
}

private final class Watch: Sendable {
    private struct State {
        var count = 0
        var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    func set() {
        let due = state.withLock { state in
            state.count += 1
            let due = state.waiters.filter { $0.count <= state.count }
            state.waiters.removeAll { $0.count <= state.count }
            return due.map(\.continuation)
        }
        for continuation in due { continuation.resume() }
    }

    func wait(for count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isDue = state.withLock { state in
                if state.count < count { state.waiters.append((count, continuation)) }
                return state.count >= count
            }
            if isDue { continuation.resume() }
        }
    }
}
