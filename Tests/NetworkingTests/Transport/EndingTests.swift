import Foundation
import FoundationNetworking
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Deadlines, cancellation and closing: each request ends once, soon and without affecting others.
@Suite("Request endings", .limitedConcurrency, .tags(.concurrency))
struct EndingTests {
    private static let drip: @Sendable (TCPPeer.Connection) throws -> Void = { connection in
        try connection.readRequest()
        try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        while true {
            try connection.send("x")
            usleep(1000)
        }
    }

    @Test("Enforces the deadline on a peer that never responds", .shows("H7"), arguments: TransportUnderTest.allCases)
    func neverAnswers(_ transport: TransportUnderTest) async throws {
        _ = try await withPeer(TCPPeer.silence) { peer in
            try await transport.run { transport in
                await expectFailure(.timedOut) { _ = try await transport.get(peer.url, .milliseconds(60)) }
            }
        }
    }

    @Test(
        "Enforces the deadline on a peer that responds slowly",
        .shows("H7", "Z3"),
        arguments: TransportUnderTest.allCases
    )
    func slowDrip(_ transport: TransportUnderTest) async throws {
        _ = try await withPeer(Self.drip) { peer in
            try await transport.run { transport in
                await expectFailure(.timedOut) { _ = try await transport.get(peer.url, .milliseconds(60)) }
            }
        }
    }

    @Test("Enforces the deadline while a request is queued")
    func deadlineInLine() async throws {
        try await withPeer(TCPPeer.silence) { peer in
            try await withCurl(.init(maximumConnectionsPerHost: 1, proxy: .none)) { transport in
                let first = Task { try await transport.get(peer.url) }
                while peer.acceptedCount == 0 { await Task.yield() }
                await expectFailure(.timedOut) { _ = try await transport.get(peer.url, .milliseconds(40)) }
                first.cancel()
                await #expect(throws: CancellationError.self) { try await first.value }
                #expect(peer.acceptedCount == 1)
            }
        }
    }

    @Test(
        "Sends nothing if the deadline has passed or the task was cancelled before",
        arguments: TransportUnderTest.allCases
    )
    func overBefore(_ transport: TransportUnderTest) async throws {
        try await withPeer(TCPPeer.silence) { peer in
            try await transport.run { transport in
                await expectFailure(.timedOut) { _ = try await transport.get(peer.url, .milliseconds(-5)) }
                let task = Task {
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                    return try await transport.get(peer.url)
                }
                await #expect(throws: CancellationError.self) { try await task.value }
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
        try await transport.run { connection in
            try connection.readRequest()
            if inBody { try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello") }
            hasRequest.continuation.yield()
            try connection.waitForClose()
        } _: { transport, peer in
            let task = Task { try await transport.get(peer.url) }
            for await _ in hasRequest.stream { break }
            try await Task.sleep(for: .milliseconds(5))
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
    }

    @Test("Cancels one request without affecting others")
    func cancelledAlone() async throws {
        try await withCurl { connection in
            while true {
                guard try connection.readRequest().hasPrefix("GET /answer") else { continue }
                try connection.send(TCPPeer.hello)
            }
        } _: { transport, peer in
            let hanging = (0..<20).map { _ in Task { try await transport.get(peer.url("/hang")) } }
            for round in 0..<20 {
                hanging[round].cancel()
                _ = try await transport.get(peer.url("/answer"))
            }
            for task in hanging { await #expect(throws: CancellationError.self) { try await task.value } }
        }
    }

    @Test("Survives many concurrent cancellations", arguments: [(TransportUnderTest.curl, 2000), (.urlSession, 200)])
    func storm(_ transport: TransportUnderTest, count: Int) async throws {
        try await transport.run(answering: TCPPeer.hello) { transport, peer in
            let errors = await withTaskGroup(of: (any Error)?.self) { group in
                for index in 0..<count {
                    group.addTask {
                        let task = Task { await thrownError { try await transport.get(peer.url) } }
                        if index.isMultiple(of: 2) {
                            for _ in 0..<(index % 50) { await Task.yield() }
                            task.cancel()
                        }
                        return await task.value
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(errors.count == count)
            #expect(errors.filter { $0 == nil }.count >= count / 2)
            #expect(errors.allSatisfy { $0 == nil || $0 is CancellationError })
            let last = try await transport.get(peer.url)
            #expect(last.status == 200)
        }
    }

    @Test(
        "Fails running and later requests when closed",
        .shows("4.35", "4.41"),
        arguments: TransportUnderTest.allCases
    )
    func closing(_ transport: TransportUnderTest) async throws {
        let requests = AsyncStream<Void>.makeStream()
        try await transport.run { connection in
            try connection.readRequest()
            requests.continuation.yield()
            try connection.waitForClose()
        } _: { transport, peer in
            let tasks = (0..<10).map { _ in Task { await failure { _ = try await transport.get(peer.url) } } }
            for await _ in requests.stream { break }
            switch transport {
            case let transport as CurlTransport: await transport.close()
            case let transport as URLSessionTransport: await transport.close()
            default: Issue.record("unknown transport")
            }
            for task in tasks { #expect(await task.value?.code == .closed) }
            await expectFailure(.closed) { _ = try await transport.get(peer.url) }
        }
    }

    @Test("Releases its thread and connections with the last reference")
    func dropped() async throws {
        try await withPeer(answering: TCPPeer.hello) { peer in
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

@Suite("Limits of the bandwidth", .limitedConcurrency, .tags(.concurrency))
struct BandwidthTests {
    private static let rate = 16 << 10
    private static var content: String { String(repeating: "0123456789abcdef", count: 40 << 6) }

    /// The least time for the content: without its last part, which is at most one second's, and
    /// without the unused bandwidth that may be used later.
    private static let shortest = Duration.seconds(1) * (content.utf8.count - rate) / rate - .milliseconds(100)

    private func withSource(_ test: (TCPPeer) async throws -> Void) async throws {
        try await withPeer { connection in
            while true {
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.content.utf8.count)\r\n\r\n")
                try connection.send(Self.content)
            }
        } _: {
            try await test($0)
        }
    }

    private func limits(download: Int? = nil, upload: Int? = nil) -> HTTPTransportLimits {
        var limits = HTTPTransportLimits.generous()
        (limits.maximumDownloadRate, limits.maximumUploadRate) = (download, upload)
        return limits
    }

    @Test("A download takes at least as long as its limit requires", .shows("P35"), arguments: [true, false])
    func download(isStreamed: Bool) async throws {
        try await withSource { peer in
            try await withCurl { transport in
                let request = HTTPRequest(url: peer.url)
                let begin = ContinuousClock.now
                let body =
                    if isStreamed {
                        try await transport.open(request, limits: limits(download: Self.rate)).body
                            .collect(upTo: .max)
                    } else {
                        try await transport.send(request, limits: limits(download: Self.rate)).body
                    }
                #expect(ContinuousClock.now - begin >= Self.shortest)
                #expect(body == Data(Self.content.utf8))
            }
        }
    }

    @Test("An upload takes at least as long as its limit requires", .shows("P35"), arguments: [true, false])
    func upload(isStreamed: Bool) async throws {
        try await withCurl(answering: "HTTP/1.1 204 No Content\r\n\r\n") { transport, peer in
            let data = Data(Self.content.utf8)
            let body: HTTPBody = isStreamed ? .stream(length: data.count) { AsyncStream.of(data) } : .data(data)
            let request = HTTPRequest(method: .put, url: peer.url, body: body)
            let begin = ContinuousClock.now
            let response = try await transport.send(request, limits: limits(upload: Self.rate))
            #expect(ContinuousClock.now - begin >= Self.shortest)
            #expect(response.status == 204)
            #expect(peer.requests.first?.hasSuffix("\r\n\r\n" + Self.content) == true)
        }
    }

    @Test("Waits for as long as the average requires, and makes up for at most a tenth of a second")
    func pace() throws {
        let begin = Moment.now
        var pace = try #require(CurlPace(1000))
        #expect(CurlPace(nil) == nil)
        #expect(pace.wait(at: begin) == nil)
        pace.spend(500, at: begin)
        #expect(pace.wait(at: begin) == begin + .milliseconds(500))
        #expect(pace.wait(at: begin + .milliseconds(499)) == begin + .milliseconds(500))
        #expect(pace.wait(at: begin + .milliseconds(500)) == nil)
        // A delay of less than a tenth of a second is made up for, but not a longer one.
        pace.spend(500, at: begin + .milliseconds(550))
        #expect(pace.wait(at: begin + .milliseconds(550)) == begin + .milliseconds(1000))
        pace.spend(500, at: begin + .seconds(60))
        #expect(pace.wait(at: begin + .seconds(60)) == begin + .milliseconds(60_400))
    }

    @Test("A limited request has its own connection, and doesn't pass its limit on to others")
    func separation() async throws {
        try await withSource { peer in
            try await withCurl { transport in
                _ = try await transport.get(peer.url)
                let request = HTTPRequest(url: peer.url)
                let handleLimits = limits(download: 1 << 30)
                _ = try await transport.send(request, limits: handleLimits)
                #expect(peer.acceptedCount == 2)
                _ = try await transport.get(peer.url)
                #expect(peer.acceptedCount == 2)
            }
        }
    }

    @Test(
        "Rejects a limit that's too low, naming it",
        arguments: [("maximumDownloadRate", 0, nil), ("maximumUploadRate", nil, 1023), ("maximumDownloadRate", -1, 9)]
            as [(String, Int?, Int?)]
    )
    func tooLow(name: String, download: Int?, upload: Int?) async throws {
        try await withCurl { transport in
            let request = HTTPRequest(url: URL(string: "http://127.0.0.1:9/")!)
            let limits = limits(download: download, upload: upload)
            await expectFailure(.invalidRequest, mentioning: name) {
                _ = try await transport.send(request, limits: limits)
            }
        }
    }

    @Test("URLSessionTransport rejects limits, which it can't enforce")
    func urlSession() async throws {
        let transport = URLSessionTransport()
        let request = HTTPRequest(url: URL(string: "http://127.0.0.1:9/")!)
        await expectFailure(.invalidRequest) { _ = try await transport.send(request, limits: limits(upload: 4096)) }
        await transport.close()
    }

    @Test("Options pass the limits to the transport, for requests and transfers")
    func options() async throws {
        let transport = MockTransport { _ in .init(status: 200) }
        let client = NetworkClient(transport: transport)
        let url = try #require(URL(string: "http://a.example/"))
        let options = RequestOptions(maximumDownloadRate: 2000, maximumUploadRate: 3000)
        _ = try await client.response(for: URLRequest(url: url), options: options)
        _ = try await client.upload(.data(Data([1])), to: url, options: options).value
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        _ = try await client.download(url, to: file, options: options).value
        #expect(transport.requests.map(\.limits.maximumDownloadRate) == [2000, 2000, 2000])
        #expect(transport.requests.map(\.limits.maximumUploadRate) == [3000, 3000, 3000])
    }
}
