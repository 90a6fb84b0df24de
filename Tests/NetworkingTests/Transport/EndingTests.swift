import Foundation
import Networking
import Synchronization
import TestSupport
import Testing

/// Deadlines, cancellation and closing: each request ends once, soon and without affecting others.
@Suite("Request endings", .limitedConcurrency)
struct EndingTests {
    private static let hello = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
    private static let silence: @Sendable (TCPPeer.Connection) throws -> Void = { try $0.waitForClose() }
    private static let drip: @Sendable (TCPPeer.Connection) throws -> Void = { connection in
        try connection.readRequest()
        try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while true {
            try connection.send("x")
            usleep(1000)
        }
    }

    @Test("Enforces the deadline on a peer that never responds", arguments: TransportUnderTest.allCases)
    func neverAnswers(_ transport: TransportUnderTest) async throws {
        try await withPeer(Self.silence) { peer in
            try await transport.run { transport in
                let start = ContinuousClock.now
                let error = await failure { _ = try await transport.get(peer.url, .milliseconds(60)) }
                let elapsed = ContinuousClock.now - start
                #expect(error?.code == .timedOut)
                #expect(elapsed >= .milliseconds(60))
            }
        }
    }

    @Test("Enforces the deadline on a peer that responds slowly", arguments: TransportUnderTest.allCases)
    func slowDrip(_ transport: TransportUnderTest) async throws {
        try await withPeer(Self.drip) { peer in
            try await transport.run { transport in
                let error = await failure { _ = try await transport.get(peer.url, .milliseconds(60)) }
                #expect(error?.code == .timedOut)
            }
        }
    }

    @Test("Enforces the deadline while a request is queued")
    func deadlineInLine() async throws {
        try await withPeer(Self.silence) { peer in
            try await withCurl(.init(maximumConnectionsPerHost: 1, proxy: .none)) { transport in
                let first = Task { await failure { _ = try await transport.get(peer.url) } }
                while peer.acceptedCount == 0 { await Task.yield() }
                let error = await failure { _ = try await transport.get(peer.url, .milliseconds(40)) }
                #expect(error?.code == .timedOut)
                first.cancel()
                #expect(await first.value?.code == .cancelled)
            }
            #expect(peer.acceptedCount == 1)
        }
    }

    @Test("Sends nothing if the deadline has passed", arguments: TransportUnderTest.allCases)
    func pastDeadline(_ transport: TransportUnderTest) async throws {
        try await withPeer(Self.silence) { peer in
            try await transport.run { transport in
                let error = await failure { _ = try await transport.get(peer.url, .milliseconds(-5)) }
                #expect(error?.code == .timedOut)
            }
            #expect(peer.acceptedCount == 0)
        }
    }

    @Test("Sends nothing if the task was cancelled before", arguments: TransportUnderTest.allCases)
    func cancelledBefore(_ transport: TransportUnderTest) async throws {
        try await withPeer(Self.silence) { peer in
            try await transport.run { transport in
                let task = Task {
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                    return await failure { _ = try await transport.get(peer.url) }
                }
                #expect(await task.value?.code == .cancelled)
            }
            #expect(peer.acceptedCount == 0)
        }
    }

    @Test(
        "Cancels at once before the header and during the body",
        arguments: TransportUnderTest.allCases,
        [false, true]
    )
    func cancelledDuring(_ transport: TransportUnderTest, inBody: Bool) async throws {
        let hasRequest = AsyncStream<Void>.makeStream()
        try await withPeer { connection in
            try connection.readRequest()
            if inBody { try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello") }
            hasRequest.continuation.yield()
            try connection.waitForClose()
        } _: { peer in
            try await transport.run { transport in
                let task = Task { await failure { _ = try await transport.get(peer.url) } }
                for await _ in hasRequest.stream { break }
                try await Task.sleep(for: .milliseconds(5))
                task.cancel()
                #expect(await task.value?.code == .cancelled)
            }
        }
    }

    @Test("Cancels one request without affecting others")
    func cancelledAlone() async throws {
        try await withPeer { connection in
            while true {
                guard try connection.readRequest().hasPrefix("GET /answer") else { continue }
                try connection.send(Self.hello)
            }
        } _: { peer in
            try await withCurl { transport in
                let hanging = (0..<20).map { _ in
                    Task { await failure { _ = try await transport.get(peer.url("/hang")) } }
                }
                for round in 0..<20 {
                    hanging[round].cancel()
                    _ = try await transport.get(peer.url("/answer"))
                }
                for task in hanging { #expect(await task.value?.code == .cancelled) }
            }
        }
    }

    @Test(
        "Survives many concurrent cancellations",
        arguments: [(TransportUnderTest.curl, 2000), (.urlSession, 200)]
    )
    func storm(_ transport: TransportUnderTest, count: Int) async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send(Self.hello)
            }
        } _: { peer in
            try await transport.run { transport in
                let codes = await withTaskGroup(of: NetworkError.Code?.self) { group in
                    for index in 0..<count {
                        group.addTask {
                            let task = Task { await failure { _ = try await transport.get(peer.url) }?.code }
                            if index.isMultiple(of: 2) {
                                for _ in 0..<(index % 50) { await Task.yield() }
                                task.cancel()
                            }
                            return await task.value
                        }
                    }
                    return await group.reduce(into: [NetworkError.Code?]()) { $0.append($1) }
                }
                #expect(codes.count == count)
                #expect(codes.filter { $0 == nil }.count >= count / 2)
                #expect(codes.allSatisfy { $0 == nil || $0 == .cancelled })
                let last = try await transport.get(peer.url)
                #expect(last.status == 200)
            }
        }
    }

    @Test("Fails running and later requests when closed", arguments: TransportUnderTest.allCases)
    func closing(_ transport: TransportUnderTest) async throws {
        let requests = AsyncStream<Void>.makeStream()
        try await withPeer { connection in
            try connection.readRequest()
            requests.continuation.yield()
            try connection.waitForClose()
        } _: { peer in
            try await transport.run { transport in
                let tasks = (0..<10).map { _ in Task { await failure { _ = try await transport.get(peer.url) } } }
                for await _ in requests.stream { break }
                switch transport {
                case let transport as CurlTransport: await transport.close()
                case let transport as URLSessionTransport: await transport.close()
                default: Issue.record("unknown transport")
                }
                for task in tasks { #expect(await task.value?.code == .closed) }
                #expect(await failure { _ = try await transport.get(peer.url) }?.code == .closed)
            }
        }
    }

    @Test("Releases its thread and connections with the last reference")
    func dropped() async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send(Self.hello)
            }
        } _: { peer in
            weak var last: CurlTransport?
            for _ in 0..<50 {
                let transport = try CurlTransport(configuration: .init(proxy: .none))
                _ = try await transport.get(peer.url)
                last = transport
            }
            #expect(try await eventually { last == nil })
            #expect(try await eventually { peer.openCount == 0 })
        }
    }
}
