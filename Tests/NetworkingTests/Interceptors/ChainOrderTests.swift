import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// The requests and responses that each interceptor sees.
@Suite("The order of interceptors", .limitedConcurrency)
struct ChainOrderTests {
    private let request = URLRequest(url: URL(string: "http://a.example/1")!, timeoutInterval: .infinity)
    private let time = ManualTime(advancesWhenSleeping: true)
    private let log = EventLog()

    private func client(_ transport: MockTransport, _ interceptors: [any Interceptor]) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
    }

    private func probe(_ name: String) -> Probe { Probe(name: name, log: log) }

    /// Runs the calls, and returns the events since the last call of this function.
    private func events(_ calls: () async throws -> Void) async rethrows -> [String] {
        let count = log.all.count
        try await calls()
        return Array(log.all.dropFirst(count))
    }

    @Test(
        "Each request on the wire is seen by the wire's interceptors, and the attempt has one response",
        .shows("4.9")
    )
    func redirects() async throws {
        let transport = MockTransport(.status(302, headers: ["Location": "/2"]), .text("ok"))
        let client = client(transport, [probe("a"), probe("b")])
        let events = try await events { _ = try await client.makeRequest(request) }
        #expect(
            events == [
                "a request", "b request", "a wire /1", "b wire /1", "b wire 302", "a wire 302", "a wire /2 after 1",
                "b wire /2 after 1", "b wire 200", "a wire 200", "b response 200", "a response 200",
            ]
        )
    }

    @Test("A retry starts with the first interceptor")
    func retries() async throws {
        let client = client(
            MockTransport(.status(503), .text("ok")),
            [probe("a"), Retry.Policy.maxRetries(1), probe("b")]
        )
        let events = try await events { _ = try await client.makeRequest(request) }
        let attempt = { (status: Int) in
            [
                "a request", "b request", "a wire /1", "b wire /1", "b wire \(status)", "a wire \(status)",
                "b response \(status)", "a response \(status)",
            ]
        }
        #expect(events == attempt(503) + attempt(200))
    }

    @Test("A refreshed credential is an attempt of the interceptors after the authenticator", arguments: [true, false])
    func refresh(isLimiterFirst: Bool) async throws {
        let transport = MockTransport(.status(401), .text("ok"))
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retry : .none }
        let limiter = RateLimiter(1, per: .seconds(1), timeSource: time.timeSource)
        let pair: [any Interceptor] = isLimiterFirst ? [limiter, authenticator] : [authenticator, limiter]
        let client = client(transport, [probe("a")] + pair + [probe("b")])
        let events = try await events { _ = try await client.makeRequest(request) }
        #expect(events.filter { $0.hasSuffix("request") } == ["a request", "b request", "b request"])
        #expect(events.filter { $0.contains(" response ") } == ["b response 401", "b response 200", "a response 200"])
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2"])
        #expect(time.sleeps == (isLimiterFirst ? [] : [.seconds(1)]))
    }

    @Test("A stored response is for the interceptors before the cache; those after it don't see the request")
    func storedResponse() async throws {
        let transport = MockTransport(.text("ok", headers: ["Cache-Control": "max-age=60"]))
        let client = client(transport, [probe("a"), CacheInterceptor(timeSource: time.timeSource), probe("b")])
        _ = try await client.makeRequest(request)
        let events = try await events {
            let body = try await client.makeRequest(request)
            #expect(body == Data("ok".utf8))
        }
        #expect(events == ["a request", "a response 200"])
    }

    @Test("A stored response replaces a failed attempt for the interceptors before the cache")
    func storedAfterFailure() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=0, stale-if-error=60"]
        let transport = MockTransport(.text("ok", headers: headers), .failure(NetworkError(.connectionLost, "cut")))
        let client = client(transport, [probe("a"), CacheInterceptor(timeSource: time.timeSource), probe("b")])
        _ = try await client.makeRequest(request)
        let events = try await events {
            let body = try await client.makeRequest(request)
            #expect(body == Data("ok".utf8))
        }
        #expect(events == ["a request", "b request", "a wire /1", "b wire /1", "a response 200"])
    }

    @Test("An open circuit lets a cache before it answer, and nothing is sent")
    func openCircuit() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=0, stale-if-error=600"]
        let transport = MockTransport(.text("ok", headers: headers), .status(500), .status(500))
        let breaker = CircuitBreaker(failureRatio: 0.5, minimumAttempts: 2, timeSource: time.timeSource)
        let client = client(transport, [CacheInterceptor(timeSource: time.timeSource), breaker, probe("b")])
        _ = try await client.makeRequest(request)
        for _ in 0..<2 { _ = try await client.makeRequest(request) }
        let sent = transport.requests.count
        let events = await events {
            let body = try? await client.makeRequest(request)
            #expect(body == Data("ok".utf8))
        }
        #expect(transport.requests.count == sent)
        #expect(events.isEmpty)
    }

    @Test("A response with the wrong digest is neither returned nor stored, in any order", arguments: [false, true])
    func digest(isFirst: Bool) async throws {
        let headers: HTTPHeaders = [
            "Cache-Control": "max-age=60",
            "Content-Digest": "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:",
        ]
        let transport = MockTransport(.text("no", headers: headers), .text("ok"))
        let (verifier, cache) = (DigestVerifier(), CacheInterceptor(timeSource: time.timeSource))
        let client = client(transport, isFirst ? [verifier, cache] : [cache, verifier])
        await expectFailure(.digestMismatch) { try await client.makeRequest(request) }
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(transport.requests.count == 2)
    }
}

/// An interceptor that records what it sees, also on the wire.
private struct Probe: RequestInterceptor, WireInterceptor {
    let name: String
    let log: EventLog

    func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        log.append("\(name) request")
        let response = try await next(request)
        log.append("\(name) response \(response.status)")
        return response
    }

    func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
        let count = next.redirects.count
        log.append("\(name) wire \(request.url.path)" + (count == 0 ? "" : " after \(count)"))
        let response = try await next(request)
        log.append("\(name) wire \(response.status)")
        return response
    }
}
