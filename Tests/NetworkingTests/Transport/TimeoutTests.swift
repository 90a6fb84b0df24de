import Foundation
import Networking
import TestSupport
import Testing

/// The time limits and the errors that identify them.
///
/// Events that must be in time have a second: with a sanitizer or other programs running, a thread
/// may wait that long for the processor.
@Suite("Timeouts", .limitedConcurrency)
struct TimeoutTests {
    @Test("Enforces the first-byte timeout, met by an interim response", arguments: [false, true], [false, true])
    func firstByte(isStreamed: Bool, hasInterim: Bool) async throws {
        try await withPeer { connection in
            try connection.readRequest()
            if hasInterim { try connection.send("HTTP/1.1 103 Early Hints\r\n\r\n") }
            usleep(hasInterim ? 1_200_000 : 150_000)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let timeout = Duration.milliseconds(hasInterim ? 1000 : 70)
                let limits = HTTPTransportLimits(deadline: .now + .seconds(120), firstByteTimeout: timeout)
                let start = ContinuousClock.now
                let error = await failure {
                    if isStreamed {
                        _ = try await transport.open(HTTPTransportRequest(url: peer.url), limits: limits)
                    } else {
                        _ = try await transport.get(peer.url, limits)
                    }
                }
                #expect(error?.code == (hasInterim ? nil : .timedOut))
                #expect((error?.message.contains("firstByteTimeout") ?? false) == !hasInterim)
                #expect(.now - start >= timeout)
            }
        }
    }

    @Test("Starts the first-byte timeout when the request is sent")
    func firstByteAfterUpload() async throws {
        try await withPeer { connection in
            try connection.readChunkedRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let body = HTTPBody.once(
                    AsyncStream<Data> { continuation in
                        Task {
                            try? await Task.sleep(for: .milliseconds(1300))
                            continuation.yield(Data("late".utf8))
                            continuation.finish()
                        }
                    }
                )
                let limits = HTTPTransportLimits(deadline: .now + .seconds(120), firstByteTimeout: .milliseconds(1000))
                let request = HTTPTransportRequest(method: .post, url: peer.url, body: body)
                let response = try await transport.send(request, limits: limits)
                #expect(response.status == 200)
            }
        }
    }

    @Test("Counts silence as idle time, but not slow data")
    func idle() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            for _ in 0..<20 {
                usleep(60_000)
                try connection.send("x")
            }
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let limits = HTTPTransportLimits(deadline: .now + .seconds(120), idleTimeout: .milliseconds(1000))
                let start = ContinuousClock.now
                let error = await failure { _ = try await transport.get(peer.url, limits) }
                #expect(error?.code == .timedOut)
                #expect(error?.message.contains("idleTimeout") == true)
                #expect(.now - start >= .milliseconds(2200))
            }
        }
    }

    @Test("Names the deadline and the connect timeout in errors")
    func names() async throws {
        try await withPeer { connection in
            try connection.waitForClose()
        } _: { peer in
            try await withCurl(.init(connectTimeout: .milliseconds(40), proxy: .none)) { transport in
                let deadline = await failure { _ = try await transport.get(peer.url, .milliseconds(40)) }
                #expect(deadline?.code == .timedOut)
                #expect(deadline?.message.contains("deadline") == true)
                let url = try #require(URL(string: "https://127.0.0.1:\(peer.port)/"))
                let connect = await failure { _ = try await transport.get(url) }
                #expect(connect?.code == .cannotConnect)
                #expect(connect?.message.contains("connectTimeout") == true)
            }
        }
    }
}
