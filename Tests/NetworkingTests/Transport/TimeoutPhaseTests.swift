import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// The limit and the phase that a timeout error reports.
///
/// Limits that end a test are mostly a second or more: while other tests run, an engine's thread
/// may wait that long for the processor, and the request would end in an earlier phase.
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
                let error = await failure { _ = try await transport.get(peer.url, .milliseconds(1500)) }
                #expect(error?.code == .timedOut)
                let phase = silence == .inTheBody ? Timeout.Phase.receiving : .firstByte
                #expect(error?.timeout == Timeout(limit: .deadline, phase: phase))
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
                var limits = HTTPTransportLimits.generous()
                limits.idleTimeout = .milliseconds(1500)
                let idle = await failure { _ = try await transport.get(peer.url, limits) }
                let phase = silence == .inTheBody ? Timeout.Phase.receiving : .firstByte
                #expect(idle?.timeout == Timeout(limit: .idle, phase: phase))
                #expect(idle?.message.contains("raise idleTimeout of RequestOptions") == true)
                guard silence != .inTheBody else { return }
                limits.firstByteTimeout = .milliseconds(300)
                let late = await failure { _ = try await transport.get(peer.url, limits) }
                #expect(late?.timeout == Timeout(limit: .firstByte, phase: .firstByte))
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
                let error = await failure { _ = try await transport.get(peer.url, .milliseconds(200)) }
                #expect(error?.timeout == Timeout(limit: .deadline, phase: .queued))
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
            try await withCurl(.init(connectTimeout: .milliseconds(1500), proxy: .none)) { transport in
                let connect = await expectFailure(.cannotConnect) { _ = try await transport.get(url) }
                #expect(connect?.timeout == Timeout(limit: .connect, phase: .tlsHandshake))
                #expect(connect?.message.contains("raise connectTimeout of CurlTransport.Configuration") == true)
                #expect(connect?.message.contains("TLS") == true)
            }
            try await withCurl { transport in
                let deadline = await expectFailure(.timedOut) { _ = try await transport.get(url, .milliseconds(1500)) }
                #expect(deadline?.timeout == Timeout(limit: .deadline, phase: .tlsHandshake))
            }
        }
    }

    @Test("Reports a proxy that doesn't open a tunnel")
    func connecting() async throws {
        try await withPeer(TCPPeer.silence) { peer in
            let url = try #require(URL(string: "https://origin.invalid/"))
            let proxy = CurlTransport.ProxySelection.http(peer.url)
            try await withCurl(.init(connectTimeout: .milliseconds(500), proxy: proxy)) { transport in
                let connect = await expectFailure(.cannotConnect) { _ = try await transport.get(url) }
                #expect(connect?.timeout == Timeout(limit: .connect, phase: .connecting))
            }
            try await withCurl(.init(proxy: proxy)) { transport in
                let deadline = await expectFailure(.timedOut) { _ = try await transport.get(url, .milliseconds(500)) }
                #expect(deadline?.timeout == Timeout(limit: .deadline, phase: .connecting))
                #expect(deadline?.message.contains("proxy") == true)
            }
        }
    }

    @Test("Reports a request body that never ends")
    func sending() async throws {
        let hasBegun = ResponseGate()
        try await withCurl { connection in
            try connection.readHead()
            hasBegun.open()
            try connection.waitForClose()
        } _: { transport, peer in
            let endless = AsyncStream<Data>.makeStream()
            endless.continuation.yield(Data("a part".utf8))
            let request = HTTPRequest(method: .post, url: peer.url, body: .once(endless.stream))
            let error = await failure { _ = try await transport.send(request, limits: .milliseconds(1500)) }
            #expect(error?.timeout == Timeout(limit: .deadline, phase: .sending))
            try await hasBegun.wait()
            endless.continuation.finish()
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
