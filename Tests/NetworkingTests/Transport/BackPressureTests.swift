import Foundation
import Networking
import Synchronization
import TestSupport
import Testing

/// Readers that are slower than their servers or stop reading.
@Suite("Back-pressure and abandoned bodies", .limitedConcurrency)
struct BackPressureTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private static let size = 64 << 20
    /// The part of which large bodies consist.
    private static let part = (0..<65536).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    /// Sends a large body for `/much`, counting the bytes that the kernel accepted, and a short one
    /// for other paths.
    private func withSource(_ test: (TCPPeer, _ sentCount: @Sendable () -> Int) async throws -> Void) async throws {
        let sent = Atomic<Int>(0)
        // Made before the first request, because it takes long with a sanitizer.
        let part = Self.part
        try await withPeer { connection in
            while true {
                guard try connection.readRequest().hasPrefix("GET /much") else {
                    try connection.send(Self.hello)
                    continue
                }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.size)\r\n\r\n")
                for _ in 0..<(Self.size / part.count) {
                    try connection.send(part)
                    sent.add(part.count, ordering: .relaxed)
                }
            }
        } _: { peer in
            try await test(peer) { sent.load(ordering: .relaxed) }
        }
    }

    /// Waits until a count has stopped growing.
    private func settled(_ count: () -> Int) async throws -> Int {
        var last = -1
        while last != count() || last == 0 {
            last = count()
            try await Task.sleep(for: .milliseconds(60))
        }
        return last
    }

    // The server responds so quickly that the buffer is full before libcurl has waited for the
    // connection once.
    @Test("Buffers a body that arrives at once on a kept connection")
    func atOnce() async throws {
        let body = Data(Array(repeating: Self.part, count: 9).joined())
        let connections = Atomic<Int>(0)
        try await withPeer { connection in
            connections.add(1, ordering: .relaxed)
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.send(Array(body))
            }
        } _: { peer in
            try await withCurl { transport in
                for _ in 0..<400 {
                    let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
                    #expect(try await response.body.collect(upTo: body.count) == body)
                }
                #expect(connections.load(ordering: .relaxed) == 1)
            }
        }
    }

    @Test("A reader that stops reading pauses only its own server")
    func slowReader() async throws {
        try await withSource { peer, sentCount in
            try await withCurl { transport in
                let request = HTTPTransportRequest(url: peer.url("/much"))
                let response = try await transport.open(request, limits: .generous())
                // The sent data fills two sockets and one bounded buffer.
                #expect(try await settled(sentCount) < Self.size / 2)
                for _ in 0..<20 { #expect(try await transport.get(peer.url).body == Data("hello".utf8)) }
                let other = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
                #expect(try await other.body.collect(upTo: 5) == Data("hello".utf8))
                var position = 0
                var isIntact = true
                for try await part in response.body {
                    #expect(part.count <= 300 << 10)
                    isIntact = isIntact && part.first == UInt8(truncatingIfNeeded: (position % 65536) &* 31)
                    position += part.count
                }
                #expect(position == Self.size)
                #expect(isIntact)
            }
        }
    }

    @Test("Counts silence of the server as idle time, but not pauses of the reader")
    func idleTimeout() async throws {
        try await withSource { peer, sentCount in
            try await withCurl { transport in
                let limits = HTTPTransportLimits(deadline: .now + .seconds(120), idleTimeout: .seconds(1))
                let request = HTTPTransportRequest(url: peer.url("/much"))
                let response = try await transport.open(request, limits: limits)
                _ = try await settled(sentCount)
                try await Task.sleep(for: .milliseconds(1300))
                #expect(try await response.body.collect(upTo: .max).count == Self.size)
            }
        }
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let limits = HTTPTransportLimits(deadline: .now + .seconds(120), idleTimeout: .milliseconds(80))
                let start = ContinuousClock.now
                let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: limits)
                let error = await failure { _ = try await response.body.collect(upTo: .max) }
                #expect(error?.code == .timedOut)
                #expect(error?.message.contains("idleTimeout") == true)
                #expect(.now - start >= .milliseconds(80))
            }
        }
    }

    @Test("Ends an unread body at the deadline, after which buffered data can be read")
    func deadline() async throws {
        try await withSource { peer, sentCount in
            try await withCurl { transport in
                let deadline = ContinuousClock.now + .seconds(1)
                let limits = HTTPTransportLimits(deadline: deadline)
                let response = try await transport.open(HTTPTransportRequest(url: peer.url("/much")), limits: limits)
                var parts = response.body.makeAsyncIterator()
                var count = try await parts.next()?.count ?? 0
                #expect(count > 0)
                try await Task.sleep(until: deadline + .milliseconds(50))
                let error = await failure {
                    while let part = try await parts.next() { count += part.count }
                }
                #expect(error?.code == .timedOut)
                #expect(error?.message.contains("deadline") == true)
                #expect(count < 2 << 20)
            }
        }
    }

    enum Ending: CaseIterable { case dropped, cancelled, taskCancelled }

    @Test("Closes only its own connection, at once, when a body is abandoned", arguments: Ending.allCases)
    func givenUp(_ ending: Ending) async throws {
        let closed = AsyncStream<ContinuousClock.Instant>.makeStream()
        try await withPeer { connection in
            guard try connection.readRequest().hasPrefix("GET /hang") else {
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
                try connection.readRequest()
                return
            }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            defer { closed.continuation.yield(.now) }
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let other = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
                let begin: ContinuousClock.Instant
                switch ending {
                case .dropped:
                    let request = HTTPTransportRequest(url: peer.url("/hang"))
                    var response: StreamedResponse? = try await transport.open(request, limits: .generous())
                    #expect(response?.status == 200)
                    begin = .now
                    response = nil
                case .cancelled:
                    let request = HTTPTransportRequest(url: peer.url("/hang"))
                    let response = try await transport.open(request, limits: .generous())
                    begin = .now
                    response.body.cancel()
                    #expect(await failure { _ = try await response.body.collect(upTo: 10) }?.code == .cancelled)
                    response.body.cancel()
                case .taskCancelled:
                    let request = HTTPTransportRequest(url: peer.url("/hang"))
                    let response = try await transport.open(request, limits: .generous())
                    var parts = response.body.makeAsyncIterator()
                    #expect(try await parts.next() == Data("hello".utf8))
                    let task = Task { await failure { _ = try await parts.next() } }
                    await Task.yield()
                    begin = .now
                    task.cancel()
                    #expect(await task.value?.code == .cancelled)
                }
                var end: ContinuousClock.Instant?
                for await time in closed.stream {
                    end = time
                    break
                }
                // This takes 10 ms on an idle machine, but this one may be busy.
                #expect(try #require(end) - begin < .seconds(60))
                var parts = other.body.makeAsyncIterator()
                #expect(try await parts.next() == Data("hello".utf8))
            }
        }
    }

    @Test("A body outlives its transport, and the engine ends with the last body")
    func outlivesTransport() async throws {
        let goOn = AsyncGate()
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            goOn.waitBlocking()
            try connection.send("world")
            try connection.waitForClose()
        } _: { peer in
            var transport: CurlTransport? = try CurlTransport(configuration: .init(proxy: .none))
            weak let weakTransport = transport
            let response = try #require(
                try await transport?.open(HTTPTransportRequest(url: peer.url), limits: .generous())
            )
            transport = nil
            #expect(try await eventually { weakTransport == nil })
            goOn.open()
            #expect(try await response.body.collect(upTo: 10) == Data("helloworld".utf8))
            // The connection was kept for reuse, but the engine has ended.
            #expect(try await eventually { peer.openCount == 0 })
        }
    }

    @Test("Closing ends a body that's being read, and shutting down waits for it", arguments: [false, true])
    func closing(isGraceful: Bool) async throws {
        let goOn = AsyncGate()
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            goOn.waitBlocking()
            try connection.send("world")
            try connection.waitForClose()
        } _: { peer in
            let transport = try CurlTransport(configuration: .init(proxy: .none))
            let response = try await transport.open(HTTPTransportRequest(url: peer.url), limits: .generous())
            var parts = response.body.makeAsyncIterator()
            #expect(try await parts.next() == Data("hello".utf8))
            let closing = Task { isGraceful ? await transport.close(within: .seconds(20)) : await transport.close() }
            while await failure({ _ = try await transport.get(peer.url, .milliseconds(50)) })?.code != .closed {}
            if isGraceful {
                goOn.open()
                #expect(try await parts.next() == Data("world".utf8))
                #expect(try await parts.next() == nil)
            } else {
                await closing.value
                #expect(await failure { _ = try await parts.next() }?.code == .closed)
                goOn.open()
            }
            await closing.value
        }
    }

    @Test("Shutting down doesn't wait indefinitely")
    func impatientShutdown() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.waitForClose()
        } _: { peer in
            let transport = try CurlTransport(configuration: .init(proxy: .none))
            let task = Task { await failure { _ = try await transport.get(peer.url) } }
            while peer.requests.isEmpty { await Task.yield() }
            await transport.close(within: .milliseconds(50))
            #expect(await task.value?.code == .closed)
            await transport.close(within: .seconds(Int64.max))
        }
    }
}
