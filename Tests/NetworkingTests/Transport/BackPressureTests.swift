import Foundation
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Back-pressure and abandoned bodies", .limitedConcurrency, .tags(.concurrency))
struct BackPressureTests {
    private static let size = 64 << 20
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
                    try connection.send(TCPPeer.hello)
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
        try await withCurl { connection in
            connections.add(1, ordering: .relaxed)
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                try connection.send(Array(body))
            }
        } _: { transport, peer in
            for _ in 0..<400 {
                let response = try await transport.open(peer.url)
                #expect(try await response.body.collect(upTo: body.count) == body)
            }
            #expect(connections.load(ordering: .relaxed) == 1)
        }
    }

    @Test("A reader that stops reading pauses only its own server", .shows("P7", "Q5"))
    func slowReader() async throws {
        try await withSource { peer, sentCount in
            try await withCurl { transport in
                let response = try await transport.open(peer.url("/much"))
                // The sent data fills two sockets and one bounded buffer.
                #expect(try await settled(sentCount) < Self.size / 2)
                for _ in 0..<20 { #expect(try await transport.get(peer.url).body == Data("hello".utf8)) }
                let other = try await transport.open(peer.url)
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

    @Test("Ends an unread body at the deadline, after which buffered data can be read")
    func deadline() async throws {
        try await withSource { peer, _ in
            try await withCurl { transport in
                var count = 0
                let error = await failure(expecting: .init(limit: .deadline, phase: .receiving)) { limit in
                    let response = try await transport.open(peer.url("/much"), .init(deadline: .now + limit))
                    var parts = response.body.makeAsyncIterator()
                    // Without a part before the deadline, the next limit is tried.
                    guard let first = try? await parts.next() else { return }
                    count = first.count
                    #expect(try await eventually { transport.poolState[peer.url]?.runningRequests == 0 })
                    while let part = try await parts.next() { count += part.count }
                }
                #expect(error?.code == .timedOut)
                #expect(error?.message.contains("deadline") == true)
                #expect(count > 0 && count < 2 << 20)
            }
        }
    }

    enum Ending: CaseIterable { case dropped, cancelled, taskCancelled }

    @Test("Closes only its own connection, when a body is abandoned", arguments: Ending.allCases)
    func givenUp(_ ending: Ending) async throws {
        let closed = AsyncStream<Void>.makeStream()
        try await withCurl { connection in
            let isHanging = try connection.readRequest().hasPrefix("GET /hang")
            defer { if isHanging { closed.continuation.yield() } }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello")
            try connection.waitForClose()
        } _: { transport, peer in
            let other = try await transport.open(peer.url)
            switch ending {
            case .dropped:
                var response: StreamedResponse? = try await transport.open(peer.url("/hang"))
                #expect(response?.status == 200)
                response = nil
            case .cancelled:
                let response = try await transport.open(peer.url("/hang"))
                response.body.cancel()
                await #expect(throws: CancellationError.self) { try await response.body.collect(upTo: 10) }
                response.body.cancel()
            case .taskCancelled:
                let response = try await transport.open(peer.url("/hang"))
                var parts = response.body.makeAsyncIterator()
                #expect(try await parts.next() == Data("hello".utf8))
                let task = Task { try await parts.next() }
                await Task.yield()
                task.cancel()
                await #expect(throws: CancellationError.self) { try await task.value }
            }
            for await _ in closed.stream { break }
            var parts = other.body.makeAsyncIterator()
            #expect(try await parts.next() == Data("hello".utf8))
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
            let response = try #require(try await transport?.open(peer.url))
            transport = nil
            #expect(try await eventually { weakTransport == nil })
            goOn.open()
            #expect(try await response.body.collect(upTo: 10) == Data("helloworld".utf8))
            // The connection was kept for reuse, but the engine has ended.
            #expect(try await eventually { peer.openCount == 0 })
        }
    }

    @Test(
        "Closing ends a body that's being read, and shutting down waits for it",
        .shows("0.26"),
        arguments: [false, true]
    )
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
            let response = try await transport.open(peer.url)
            var parts = response.body.makeAsyncIterator()
            #expect(try await parts.next() == Data("hello".utf8))
            // So long that only a hang reaches it.
            let closing = Task { isGraceful ? await transport.close(within: .seconds(900)) : await transport.close() }
            while await failure({ _ = try await transport.get(peer.url, .milliseconds(50)) })?.code != .closed {}
            if isGraceful {
                goOn.open()
                #expect(try await parts.next() == Data("world".utf8))
                #expect(try await parts.next() == nil)
            } else {
                await closing.value
                await expectFailure(.closed) { _ = try await parts.next() }
                goOn.open()
            }
            await closing.value
        }
    }

    @Test("Shutting down doesn't wait indefinitely", .shows("4.35"))
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
