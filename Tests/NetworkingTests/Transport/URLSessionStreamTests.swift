import Foundation
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("URLSessionTransport streams", .limitedConcurrency, .tags(.concurrency))
struct URLSessionStreamTests {
    private static let head = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A: b\r\n\r\n"

    /// Sends the header and five of ten bytes, and the rest when signaled.
    private func withHalf(
        _ test: (URLSessionTransport, TCPPeer, _ goOn: () -> Void) async throws -> Void
    ) async throws {
        let gate = DispatchSemaphore(value: 0)
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(Self.head + "hello")
            gate.wait()
            try connection.send("world")
        } _: { peer in
            let transport = URLSessionTransport()
            do { try await test(transport, peer) { gate.signal() } } catch {
                gate.signal()
                throw error
            }
            gate.signal()
            await transport.close()
        }
    }

    private func text(_ data: Data?) -> String? { data.map { String(decoding: $0, as: UTF8.self) } }

    @Test("Returns the header before the body")
    func headFirst() async throws {
        try await withHalf { transport, peer, goOn in
            let stream = try await transport.open(peer.url)
            #expect(stream.status == 200)
            #expect(stream.headers["X-A"] == "b")
            var iterator = stream.body.makeAsyncIterator()
            #expect(text(try await iterator.next()) == "hello")
            goOn()
            #expect(text(try await iterator.next()) == "world")
            #expect(try await iterator.next() == nil)
            #expect(try await iterator.next() == nil)
            #expect(stream.body.trailers.isEmpty)
        }
    }

    @Test("Ends a body over the limit with bodyTooLarge")
    func tooLarge() async throws {
        try await TransportUnderTest.urlSession.run { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 8000000\r\n\r\n")
            try connection.send([UInt8](repeating: 7, count: 8_000_000))
        } _: { transport, peer in
            let stream = try await transport.open(peer.url, .generous(maximumBodySize: 100_000))
            var count = 0
            await expectFailure(.bodyTooLarge) { for try await part in stream.body { count += part.count } }
            #expect(count <= 100_000)
            await expectFailure(.bodyTooLarge) { _ = try await stream.body.collect(upTo: 1) }
        }
    }

    @Test("Closes the connection when the body is cancelled or released", arguments: [false, true])
    func givenUp(_ isDropped: Bool) async throws {
        let closed = AsyncStream<Void>.makeStream()
        try await TransportUnderTest.urlSession.run { connection in
            defer { closed.continuation.yield() }
            try connection.readRequest()
            try connection.send(Self.head)
            try connection.waitForClose()
        } _: { transport, peer in
            if isDropped {
                _ = try await transport.open(peer.url)
            } else {
                let stream = try await transport.open(peer.url)
                stream.body.cancel()
                await #expect(throws: CancellationError.self) { try await stream.body.collect(upTo: 10) }
            }
            for await _ in closed.stream { break }
        }
    }

    @Test("Ends the request when the reading task is cancelled")
    func cancelledReader() async throws {
        try await withHalf { transport, peer, _ in
            let stream = try await transport.open(peer.url)
            let hasBegun = AsyncStream<Void>.makeStream()
            let reader = Task { for try await _ in stream.body { hasBegun.continuation.yield() } }
            for await _ in hasBegun.stream { break }
            reader.cancel()
            await #expect(throws: CancellationError.self) { try await reader.value }
            await #expect(throws: CancellationError.self) { try await stream.body.collect(upTo: 10) }
        }
    }

    @Test("Enforces the deadline and the idle timeout until the end of the body")
    func timesInBody() async throws {
        try await withHalf { transport, peer, _ in
            // On a busy machine, the time may expire before the header arrives, which is just as
            // valid.
            func receive(_ limits: HTTPTransportLimits) async -> NetworkError? {
                await failure {
                    let stream = try await transport.open(peer.url, limits)
                    _ = try await stream.body.collect(upTo: 10)
                }
            }
            #expect(await receive(.milliseconds(300))?.code == .timedOut)
            var limits = HTTPTransportLimits.generous()
            limits.idleTimeout = .milliseconds(200)
            let error = await receive(limits)
            #expect(error?.code == .timedOut)
            #expect(error?.message.contains("idleTimeout") == true)
        }
    }

    @Test("Enforces the first-byte timeout on a peer that doesn't respond", arguments: [false, true])
    func firstByte(_ isStreamed: Bool) async throws {
        try await withPeer(TCPPeer.silence) { peer in
            try await TransportUnderTest.urlSession.run { transport in
                var limits = HTTPTransportLimits.generous()
                limits.firstByteTimeout = .milliseconds(80)
                await expectFailure(.timedOut, mentioning: "firstByteTimeout") {
                    let request = HTTPRequest(url: peer.url)
                    if isStreamed {
                        _ = try await transport.open(request, limits: limits)
                    } else {
                        _ = try await transport.send(request, limits: limits)
                    }
                }
            }
        }
    }

    @Test(
        "Returns redirects and challenges like other responses",
        arguments: [
            ("302 Found\r\nLocation: /x", "move", "move"), ("302 Found", "lost", ""),
            ("401 Unauthorized\r\nWWW-Authenticate: Basic realm=x", "who?", "who?"), ("300 Multiple", "many", "many"),
        ]
    )
    func odd(_ statusAndField: String, _ sent: String, _ body: String) async throws {
        try await TransportUnderTest.urlSession.run { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 \(statusAndField)\r\nContent-Length: \(sent.utf8.count)\r\n\r\n\(sent)")
            }
        } _: { transport, peer in
            let status = Int(statusAndField.prefix(3))
            let stream = try await transport.open(peer.url)
            #expect(stream.status == status)
            #expect(text(try await stream.body.collect(upTo: 10)) == body)
            let whole = try await transport.get(peer.url)
            #expect(whole.status == status)
            #expect(text(whole.body) == body)
        }
    }

    @Test("Ends a body that's being received when the transport is closed")
    func closing() async throws {
        try await withHalf { transport, peer, _ in
            let stream = try await transport.open(peer.url)
            await transport.close()
            await expectFailure(.closed) { for try await _ in stream.body {} }
        }
    }

    @Test("Keeps the transport alive until the body ends", .shows("1.5"))
    func keepsTransport() async throws {
        let gate = DispatchSemaphore(value: 0)
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send(Self.head + "hello")
            gate.wait()
            try connection.send("world")
        } _: { peer in
            weak var kept: URLSessionTransport?
            var stream: StreamedResponse?
            do {
                let transport = URLSessionTransport()
                kept = transport
                stream = try await transport.open(peer.url)
            }
            #expect(kept != nil)
            gate.signal()
            #expect(text(try await stream?.body.collect(upTo: 10)) == "helloworld")
            // The session's queue releases it shortly after the end of the body.
            #expect(try await eventually { kept == nil })
            stream = nil
        }
    }

    @Test("Keeps working after many bodies are released or cancelled")
    func storm() async throws {
        try await TransportUnderTest.urlSession.run { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n")
                try connection.send([UInt8](repeating: 1, count: 40000))
            }
        } _: { transport, peer in
            let errors = await withTaskGroup(of: (any Error)?.self) { group in
                for index in 0..<240 {
                    group.addTask {
                        let task = Task {
                            await thrownError {
                                let stream = try await transport.open(peer.url)
                                switch index % 3 {
                                case 0: #expect(try await stream.body.collect(upTo: 40000).count == 40000)
                                case 1: stream.body.cancel()
                                default: for try await _ in stream.body { return }
                                }
                            }
                        }
                        if index.isMultiple(of: 4) {
                            for _ in 0..<(index % 50) { await Task.yield() }
                            task.cancel()
                        }
                        return await task.value
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.allSatisfy { $0 == nil || $0 is CancellationError })
            let last = try await transport.get(peer.url)
            #expect(last.body.count == 40000)
        }
    }

    @Test("Reports URLSession's events to an observer in order")
    func events() async throws {
        let events = Mutex<[String]>([])
        let metrics = Mutex<HTTPTransportMetrics?>(nil)
        try await TransportUnderTest.urlSession.run { connection in
            try connection.readRequest()
            try connection.send(TCPPeer.hello)
        } _: { transport, peer in
            let request = HTTPRequest(method: .put, url: peer.url, body: .data(Data("body".utf8))) {
                event in
                events.withLock { events in
                    switch event {
                    case .started: events.append("started")
                    case .bodySent(let count): events.append("sent \(count)")
                    case .headReceived(let status): events.append("head \(status)")
                    case .bodyReceived(let count): events.append("received \(count)")
                    case .finished(let all):
                        events.append("finished")
                        metrics.withLock { $0 = all }
                    default: events.append("unexpected")
                    }
                }
            }
            _ = try await transport.send(request)
        }
        #expect(events.withLock { $0 } == ["started", "sent 4", "head 200", "received 5", "finished"])
        let all = try #require(metrics.withLock { $0 })
        #expect(all.bodyBytesSent == 4)
        #expect(all.bodyBytesReceived == 5)
        #expect(all.isConnectionReused == nil)
        let (queue, first) = (try #require(all.queueTime), try #require(all.firstByteTime))
        #expect(queue >= .zero && queue <= first && first <= all.totalTime)
    }
}
