import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// Returns the error of a request that should meet a limit in a phase.
///
/// On a busy machine, the request may meet a short limit in an earlier phase, so this tries longer
/// and longer ones.
func failure(
    expecting timeout: NetworkError.Timeout,
    _ request: (_ limit: Duration) async throws -> Void
) async -> NetworkError? {
    var error: NetworkError?
    for seconds in [0.3, 2, 15, 90] where error?.timeout != timeout {
        error = await failure { try await request(.seconds(seconds)) }
    }
    return error
}

/// The limit and the phase that a timeout error reports.
@Suite("Timeout phases", .limitedConcurrency, .tags(.concurrency))
struct TimeoutPhaseTests {
    private typealias Timeout = NetworkError.Timeout

    enum Silence: String, CaseIterable {
        case fromTheStart
        case afterTheRequest
        case inTheBody

        @Sendable func keep(_ connection: TCPPeer.Connection) throws {
            if self != .fromTheStart { try connection.readRequest() }
            if self == .inTheBody { try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart") }
            try connection.waitForClose()
        }
    }

    @Test("Reports the deadline while waiting", arguments: TransportUnderTest.allCases, Silence.allCases)
    func deadline(_ kind: TransportUnderTest, _ silence: Silence) async throws {
        try await withPeer(silence.keep) { peer in
            try await kind.run { transport in
                let expected = Timeout(limit: .deadline, phase: silence == .inTheBody ? .receiving : .firstByte)
                let error = await failure(expecting: expected) { limit in
                    _ = try await transport.get(peer.url, .init(deadline: .now + limit))
                }
                #expect(error?.code == .timedOut)
                #expect(error?.timeout == expected)
                #expect(error?.message.contains("raise the deadline of HTTPTransportLimits") == true)
            }
        }
    }

    @Test(
        "Reports the first-byte and idle timeouts",
        .shows("P5"),
        arguments: TransportUnderTest.allCases,
        Silence.allCases
    )
    func limits(_ kind: TransportUnderTest, _ silence: Silence) async throws {
        try await withPeer(silence.keep) { peer in
            try await kind.run { transport in
                let expected = Timeout(limit: .idle, phase: silence == .inTheBody ? .receiving : .firstByte)
                let idle = await failure(expecting: expected) { limit in
                    _ = try await transport.get(peer.url, .init(idleTimeout: limit))
                }
                #expect(idle?.timeout == expected)
                #expect(idle?.message.contains("raise idleTimeout of RequestOptions") == true)
                guard silence != .inTheBody else { return }
                let first = Timeout(limit: .firstByte, phase: .firstByte)
                let late = await failure(expecting: first) { limit in
                    _ = try await transport.get(peer.url, .init(firstByteTimeout: limit, idleTimeout: limit * 4))
                }
                #expect(late?.timeout == first)
                #expect(late?.message.contains("raise firstByteTimeout of RequestOptions") == true)
            }
        }
    }

    @Test("Reports the deadline while all connections are busy", arguments: TransportUnderTest.allCases)
    func queued(_ kind: TransportUnderTest) async throws {
        let hasArrived = ResponseGate()
        try await withPeer { connection in
            try connection.readRequest()
            hasArrived.open()
            try connection.waitForClose()
        } _: { peer in
            try await kind.run(connections: 1) { transport in
                let busy = Task { try await transport.get(peer.url) }
                try await hasArrived.wait()
                let expected = Timeout(limit: .deadline, phase: .queued)
                let error = await failure(expecting: expected) { limit in
                    _ = try await transport.get(peer.url, .init(deadline: .now + limit))
                }
                #expect(error?.timeout == expected)
                #expect(error?.message.contains("allow more connections") == true)
                busy.cancel()
                _ = try? await busy.value
            }
        }
    }

    @Test("Reports a TLS handshake that doesn't begin")
    func handshake() async throws {
        try await withPeer(TCPPeer.silence) { peer in
            let url = try #require(URL(string: "https://127.0.0.1:\(peer.port)/"))
            let expected = Timeout(limit: .connect, phase: .tlsHandshake)
            let connect = await failure(expecting: expected) { limit in
                try await withCurl(.init(connectTimeout: limit, proxy: .none)) { _ = try await $0.get(url) }
            }
            #expect(connect?.code == .cannotConnect)
            #expect(connect?.timeout == expected)
            #expect(connect?.message.contains("raise connectTimeout of CurlTransport.Configuration") == true)
            #expect(connect?.message.contains("TLS") == true)
            _ = try await withCurl { try await expectDeadline(.tlsHandshake, url, $0) }
        }
    }

    @Test("Reports a proxy that doesn't open a tunnel")
    func connecting() async throws {
        try await withPeer(TCPPeer.silence) { peer in
            let url = try #require(URL(string: "https://origin.invalid/"))
            let proxy = CurlTransport.ProxySelection.http(peer.url)
            let expected = Timeout(limit: .connect, phase: .connecting)
            let connect = await failure(expecting: expected) { limit in
                try await withCurl(.init(connectTimeout: limit, proxy: proxy)) { _ = try await $0.get(url) }
            }
            #expect(connect?.code == .cannotConnect)
            #expect(connect?.timeout == expected)
            try await withCurl(.init(proxy: proxy)) { transport in
                let deadline = try await expectDeadline(.connecting, url, transport)
                #expect(deadline?.message.contains("proxy") == true)
            }
        }
    }

    private func expectDeadline(
        _ phase: Timeout.Phase,
        _ url: URL,
        _ transport: CurlTransport
    ) async throws -> NetworkError? {
        let expected = Timeout(limit: .deadline, phase: phase)
        let error = await failure(expecting: expected) { limit in
            _ = try await transport.get(url, .init(deadline: .now + limit))
        }
        #expect(error?.code == .timedOut)
        #expect(error?.timeout == expected)
        return error
    }

    @Test("Reports a request body that never ends")
    func sending() async throws {
        let hasBegun = ResponseGate()
        try await withCurl { connection in
            try connection.readHead()
            hasBegun.open()
            try connection.waitForClose()
        } _: { transport, peer in
            let expected = Timeout(limit: .deadline, phase: .sending)
            let error = await failure(expecting: expected) { limit in
                let endless = AsyncStream<Data>.makeStream()
                defer { endless.continuation.finish() }
                endless.continuation.yield(Data("a part".utf8))
                let request = HTTPRequest(method: .post, url: peer.url, body: .once(endless.stream))
                _ = try await transport.send(request, limits: .init(deadline: .now + limit))
            }
            #expect(error?.timeout == expected)
            try await hasBegun.wait()
        }
    }

    @Test("Names the setting that the deadline came from", arguments: [true, false])
    func sources(isAttempt: Bool) async throws {
        let time = ManualTime()
        let transport = MockTransport(.never, time: time.timeSource)
        let options = NetworkClient.Options(timeout: .seconds(isAttempt ? 60 : 5), timeSource: time.timeSource)
        let client = NetworkClient(transport: transport, options: options)
        var request = URLRequest(url: try #require(URL(string: "https://api.example.com/a")))
        request.timeoutInterval = isAttempt ? 5 : 60
        let sent = request
        let running = Task { try await client.response(for: sent) }
        try await transport.waitForRequests(count: 1)
        try await time.waitForSleepers(count: 1)
        time.advance(by: .seconds(5))
        let error = await expectFailure(.timedOut) { _ = try await running.value }
        #expect(error?.timeout == Timeout(limit: isAttempt ? .attempt : .operation, phase: .firstByte))
        let setting = isAttempt ? "timeoutInterval" : "NetworkClient.Options"
        #expect(error?.description.contains(setting) == true)
    }

    @Test("Attributes an interceptor's time to preparation")
    func preparing() async throws {
        let time = ManualTime()
        let options = NetworkClient.Options(timeout: .seconds(5), timeSource: time.timeSource)
        let slow = Changing.request { _ in time.advance(by: .seconds(6)) }
        let transport = MockTransport(.status(200), time: time.timeSource)
        let client = NetworkClient(transport: transport, interceptors: [slow], options: options)
        let request = URLRequest(url: try #require(URL(string: "https://api.example.com/a")))
        let error = await failure { _ = try await client.response(for: request) }
        #expect(error?.timeout == Timeout(limit: .operation, phase: .preparing))
        #expect(error?.message.contains("interceptors") == true)
        #expect(transport.requests.isEmpty)
    }

    @Test("Ignores the timeout when comparing errors, and has none for other errors")
    func vocabulary() {
        let timeout = Timeout(limit: .idle, phase: .receiving)
        let error = NetworkError(.timedOut, "too late", timeout: timeout)
        #expect(error == NetworkError(.timedOut, "without"))
        #expect(error.errorCode == -1001)
        #expect(NetworkError(.connectionLost, "gone").timeout == nil)
        #expect(timeout.limit.rawValue == "idle")
        #expect(timeout.phase.rawValue == "receiving")
    }
}

/// Limits that other events must not use up.
@Suite("Timeouts", .limitedConcurrency, .tags(.concurrency))
struct TimeoutTests {
    /// Expects that a request ends with a limit rather than a shorter one. A busy machine may meet
    /// a short limit, so this tries longer and longer ones.
    private func expect(
        _ limit: NetworkError.Timeout.Limit,
        _ request: (_ shorter: Duration, _ longer: Duration) async throws -> Void
    ) async {
        var found: NetworkError.Timeout.Limit?
        for seconds in [0.1, 0.5, 3, 20] where found != limit {
            found = await failure { try await request(.seconds(seconds), .seconds(seconds * 4)) }?.timeout?.limit
        }
        #expect(found == limit)
    }

    @Test("An interim response meets the first-byte timeout")
    func firstByte() async throws {
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 103 Early Hints\r\n\r\n")
            try connection.waitForClose()
        } _: { transport, peer in
            await expect(.idle) { shorter, longer in
                let limits = HTTPTransportLimits(firstByteTimeout: shorter, idleTimeout: longer)
                _ = try await transport.get(peer.url, limits)
            }
        }
    }

    @Test("Neither the first-byte nor the idle timeout applies while the producer of the request pauses")
    func pausingProducer() async throws {
        try await withPeer(TCPPeer.silence) { peer in
            try await withCurl { transport in
                await expect(.deadline) { shorter, longer in
                    let parts = AsyncStream<Data>.makeStream()
                    parts.continuation.yield(Data("part".utf8))
                    let request = HTTPRequest(method: .post, url: peer.url, body: .once(parts.stream))
                    let limits = HTTPTransportLimits(
                        deadline: .now + longer,
                        firstByteTimeout: shorter,
                        idleTimeout: shorter
                    )
                    _ = try await transport.send(request, limits: limits)
                }
            }
        }
    }

    @Test("Counts silence as idle time, but not slow data", .shows("H7"))
    func idle() async throws {
        try await withCurl { connection in
            let isSlow = try connection.readRequest().hasPrefix("GET /slow")
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            while isSlow {
                try connection.send("x")
                usleep(1000)
            }
            try connection.waitForClose()
        } _: { transport, peer in
            for (path, limit) in [("/slow", .deadline), ("/silent", .idle)] as [(String, NetworkError.Timeout.Limit)] {
                await expect(limit) { shorter, longer in
                    let limits = HTTPTransportLimits(
                        deadline: .now + longer,
                        maximumBodySize: .max,
                        idleTimeout: shorter
                    )
                    _ = try await transport.get(peer.url(path), limits)
                }
            }
        }
    }

    @Test("Names the deadline and the connect timeout in errors", .shows("P5"))
    func names() async throws {
        try await withCurl(.init(connectTimeout: .milliseconds(40), proxy: .none), serving: TCPPeer.silence) {
            transport,
            peer in
            await expectFailure(.timedOut, mentioning: "deadline") {
                _ = try await transport.get(peer.url, .milliseconds(40))
            }
            let url = try #require(URL(string: "https://127.0.0.1:\(peer.port)/"))
            await expectFailure(.cannotConnect, mentioning: "connectTimeout") { _ = try await transport.get(url) }
        }
    }
}
