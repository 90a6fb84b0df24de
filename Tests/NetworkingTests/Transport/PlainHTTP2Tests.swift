import Foundation
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("HTTP/2 on plain connections", .limitedConcurrency, .tags(.concurrency))
struct PlainHTTP2Tests {
    private func configuration(streams: Int = 100) -> CurlTransport.Configuration {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.protocolVersion = .http2PriorKnowledge
        configuration.maximumStreamsPerConnection = streams
        return configuration
    }

    /// Reads requests, and responds to all of them once a condition holds.
    private static func respond(_ connection: TCPPeer.Connection, when isReady: (_ waiting: Int) -> Bool) throws {
        try connection.beginHTTP2()
        var streams: [UInt32] = []
        while true {
            streams.append(try connection.readFrames(to: \.endsStream).stream)
            connection.peer.record("\(connection.number)")
            guard isReady(streams.count) else { continue }
            try connection.send(streams.map { HTTP2Frame(1, flags: 5, stream: $0, [0x88]) })
            streams = []
        }
    }

    private func get(_ url: URL, count: Int, _ transport: CurlTransport) async throws -> [Int] {
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<count { group.addTask { try await transport.get(url).status } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test("Reuses a connection for later requests")
    func reuse() async throws {
        try await withPeer {
            try Self.respond($0) { _ in true }
        } _: { peer in
            try await withCurl(configuration()) { transport in
                for _ in 0..<5 {
                    let response = try await transport.get(peer.url)
                    #expect(response.status == 200)
                    #expect(response.version == "HTTP/2")
                }
                #expect(peer.acceptedCount == 1)
            }
        }
    }

    @Test("Shares a connection between concurrent requests", .shows("P21", "RFC 9113"))
    func sharing() async throws {
        try await withCurl(configuration()) { connection in
            // After the first request, the peer responds only when ten requests are waiting.
            try Self.respond(connection) { connection.peer.requests.count == 1 || $0 == 10 }
        } _: { transport, peer in
            _ = try await transport.get(peer.url)
            let statuses = try await get(peer.url, count: 10, transport)
            #expect(statuses == Array(repeating: 200, count: 10))
            #expect(peer.acceptedCount == 1)
        }
    }

    @Test("Uses another connection for more requests than may share one")
    func streamLimit() async throws {
        let most = Atomic<Int>(0)
        try await withPeer { connection in
            try Self.respond(connection) { waiting in
                most.max(waiting, ordering: .relaxed)
                // After the first request, none ends.
                return connection.peer.requests.count == 1
            }
        } _: { peer in
            try await withCurl(configuration(streams: 2)) { transport in
                #expect(try await transport.get(peer.url).status == 200)
                let requests = Task { try await get(peer.url, count: 4, transport) }
                try await waitUntil { peer.requests.count == 5 }
                requests.cancel()
                _ = try? await requests.value
            }
            #expect(peer.acceptedCount >= 2)
            #expect(most.load(ordering: .relaxed) == 2)
        }
    }

    @Test("A reader that stops doesn't stop other requests")
    func slowReader() async throws {
        try await withPeer { connection in
            guard connection.number == 0 else { return try Self.respond(connection) { _ in true } }
            try connection.beginHTTP2()
            try connection.readFrames(to: \.endsStream)
            // More than the reader's buffer, within the initial window (RFC 9113 §6.9.2).
            let part = HTTP2Frame(0, flags: 0, stream: 1, [UInt8](repeating: 0x2A, count: 16_000))
            try connection.send([.head(200)] + [part, part, part])
            while true { _ = try connection.readFrame() }
        } _: { peer in
            var configuration = configuration()
            configuration.streamBufferSize = 1 << 10
            try await withCurl(configuration) { transport in
                let slow = try await transport.open(peer.url)
                for _ in 0..<10 { #expect(try await transport.get(peer.url).status == 200) }
                slow.body.cancel()
            }
            #expect(peer.acceptedCount == 2)
        }
    }

    @Test("Makes a new connection if the kept one was closed")
    func closed() async throws {
        try await withCurl(configuration()) { connection in
            try connection.beginHTTP2()
            try connection.readFrames(to: \.endsStream)
            try connection.send([.ok])
            connection.finishSending()
            try connection.waitForClose()
        } _: { transport, peer in
            for _ in 0..<3 {
                let response = try await transport.get(peer.url)
                #expect(response.status == 200)
            }
            #expect(peer.acceptedCount == 3)
        }
    }

    @Test("Looks up a name once, and reports each event once")
    func name() async throws {
        let stub = StubResolver(["sidecar.test": ["127.0.0.1"]])
        let starts = Atomic<Int>(0)
        try await withPeer {
            try Self.respond($0) { _ in true }
        } _: { peer in
            var configuration = configuration()
            configuration.resolver = stub.makeResolver()
            try await withCurl(configuration) { transport in
                let url = try #require(URL(string: "http://sidecar.test:\(peer.port)/"))
                for _ in 0..<2 {
                    let request = HTTPRequest(url: url) { event in
                        if case .started = event { starts.add(1, ordering: .relaxed) }
                    }
                    #expect(try await transport.send(request).status == 200)
                }
            }
            #expect(stub.names == ["sidecar.test"])
            #expect(starts.load(ordering: .relaxed) == 2)
            #expect(peer.acceptedCount == 1)
        }
    }

    @Test("Fails if nothing listens, without a claim that the request was sent")
    func nobody() async throws {
        let peer = try TCPPeer { try $0.waitForClose() }
        peer.stop()
        try await withCurl(configuration()) { transport in
            try await waitUntil { peer.openCount == 0 }
            let error = await failure { _ = try await transport.get(peer.url) }
            #expect(error?.code == .cannotConnect || error?.code == .connectionLost)
        }
    }
}

/// A frame to send to the client
/// ([RFC 9113 §4.1](https://www.rfc-editor.org/rfc/rfc9113#section-4.1)).
struct HTTP2Frame {
    let octets: [UInt8]

    init(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) {
        octets =
            [UInt8(payload.count >> 16), UInt8(truncatingIfNeeded: payload.count >> 8)]
            + [UInt8(truncatingIfNeeded: payload.count), type, flags] + Self.octets(stream) + payload
    }

    static let settings = HTTP2Frame(4, flags: 0, stream: 0, [])
    static let settingsTaken = HTTP2Frame(4, flags: 1, stream: 0, [])
    static let ok = HTTP2Frame(1, flags: 5, stream: 1, [0x88])
    static let ping = HTTP2Frame(6, flags: 0, stream: 0, [UInt8](repeating: 0x2A, count: 8))

    static func headers(_ fields: [(name: String, value: String)], ends: Bool = false) -> Self {
        // Literal fields with literal names (RFC 7541 §6.2.2).
        var payload: [UInt8] = []
        for field in fields {
            payload.append(0)
            for text in [field.name, field.value] { payload += [UInt8(text.utf8.count)] + Array(text.utf8) }
        }
        return Self(1, flags: ends ? 5 : 4, stream: 1, payload)
    }

    static func head(_ status: Int, length: Int? = nil, ends: Bool = false) -> Self {
        var fields = [(":status", "\(status)")]
        if let length { fields.append(("content-length", "\(length)")) }
        return headers(fields, ends: ends)
    }

    static func data(_ text: String, ends: Bool = false) -> Self {
        Self(0, flags: ends ? 1 : 0, stream: 1, Array(text.utf8))
    }

    static func reset(stream: UInt32 = 1, code: UInt32) -> Self { Self(3, flags: 0, stream: stream, octets(code)) }

    static func goAway(lastStream: UInt32) -> Self {
        Self(7, flags: 0, stream: 0, octets(lastStream) + octets(0))
    }

    private static func octets(_ number: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }
}

extension TCPPeer.Connection {
    /// The header of a frame that the client sent.
    struct FrameHead {
        let type: UInt8
        let flags: UInt8
        let stream: UInt32
        let size: Int

        var endsStream: Bool { type <= 1 && flags & 1 == 1 }
    }

    /// Reads the client's preface and starts HTTP/2.
    func beginHTTP2() throws {
        _ = try readExactly(24)
        try send([.settings, .settingsTaken])
    }

    func readFrame() throws -> FrameHead {
        let head = try readExactly(9)
        let size = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        try discard(size)
        let stream = head[5...].reduce(into: UInt32(0)) { $0 = $0 << 8 | UInt32($1) }
        return FrameHead(type: head[3], flags: head[4], stream: stream, size: size)
    }

    @discardableResult
    func readFrames(to isLast: (FrameHead) -> Bool) throws -> FrameHead {
        while true {
            let frame = try readFrame()
            if isLast(frame) { return frame }
        }
    }

    func send(_ frames: [HTTP2Frame]) throws { try send(frames.flatMap(\.octets)) }

    /// Sends frames one by one, each after the client has read the previous one.
    func sendApart(_ frames: [HTTP2Frame]) throws {
        for frame in frames {
            try send([frame, .ping])
            try readFrames { $0.type == 6 }
        }
    }
}

/// HTTP/2 streams that a server did or didn't process, according to its frames
/// ([RFC 9113 §8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
@Suite("Connections that shut down", .limitedConcurrency, .tags(.concurrency))
struct DrainingConnectionTests {
    enum Answer: String, CaseIterable {
        case refusedStream, goAway, goAwayAndClose, secondGoAway
        /// On a connection that's already shutting down, libcurl 7.88 can't distinguish this from
        /// another reset.
        case goAwayThenRefused
        case reset, resetWithoutError, processedGoAway, close

        /// A Boolean value that indicates whether the server reports that it didn't process the
        /// request.
        var isUnprocessed: Bool {
            switch self {
            case .refusedStream, .goAway, .goAwayAndClose, .secondGoAway: true
            case .goAwayThenRefused, .reset, .resetWithoutError, .processedGoAway, .close: false
            }
        }

        var frames: [HTTP2Frame] {
            switch self {
            case .refusedStream: [.reset(stream: 1, code: 7)]
            case .goAway, .goAwayAndClose: [.goAway(lastStream: 0)]
            case .secondGoAway: [.goAway(lastStream: .max >> 1), .goAway(lastStream: 0)]
            case .goAwayThenRefused: [.goAway(lastStream: .max >> 1), .reset(stream: 1, code: 7)]
            case .reset: [.reset(stream: 1, code: 2)]
            case .resetWithoutError: [.reset(stream: 1, code: 0)]
            case .processedGoAway: [.goAway(lastStream: 1)]
            case .close: []
            }
        }

        var closes: Bool { [.goAwayAndClose, .processedGoAway, .close].contains(self) }
    }

    private static func readRequest(_ connection: TCPPeer.Connection) throws {
        try connection.beginHTTP2()
        try connection.readFrames(to: \.endsStream)
        connection.peer.record("request")
    }

    private func send(
        _ method: HTTPMethod,
        body: HTTPBody,
        answers: [Answer],
        _ test: (TCPPeer, Result<HTTPTransportResponse, NetworkError>) -> Void
    ) async throws {
        try await withPeer { connection in
            try Self.readRequest(connection)
            guard connection.number < answers.count else {
                try connection.send([.ok])
                return try connection.waitForClose()
            }
            for frame in answers[connection.number].frames { try connection.send([frame]) }
            if answers[connection.number].closes { return connection.close() }
            try connection.waitForClose()
        } _: { peer in
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.protocolVersion = .http2PriorKnowledge
            try await withCurl(configuration) { transport in
                let request = HTTPRequest(method: method, url: peer.url, body: body)
                do {
                    test(peer, .success(try await transport.send(request)))
                } catch let error as NetworkError {
                    test(peer, .failure(error))
                }
            }
        }
    }

    private static var parts: AsyncStream<Data> { .of("part") }

    @Test(
        "Resends a request that the server didn't process, with any method",
        .shows("N1", "Q14"),
        arguments: Answer.allCases.filter(\.isUnprocessed),
        [HTTPBody.data(Data("held".utf8)), .stream(length: 4) { parts }, .stream { parts }]
    )
    func unprocessed(_ answer: Answer, _ body: HTTPBody) async throws {
        try await send(.post, body: body, answers: [answer, answer]) { peer, outcome in
            #expect(throws: Never.self) { try #expect(outcome.get().status == 200) }
            #expect(peer.requests.count == 3)
        }
    }

    @Test(
        "Doesn't resend a possibly processed request",
        .shows("N1", "Q14"),
        arguments: Answer.allCases.filter { !$0.isUnprocessed }
    )
    func perhapsProcessed(_ answer: Answer) async throws {
        try await send(.post, body: .data(Data("held".utf8)), answers: [answer]) { peer, outcome in
            // libcurl 8.23 reports that the server refused the stream, so it didn't process it.
            if answer == .goAwayThenRefused, case .success(let response) = outcome {
                #expect(response.status == 200)
                #expect(peer.requests.count == 2)
                return
            }
            let error = #expect(throws: NetworkError.self) { try outcome.get() }
            #expect(error?.isUnprocessed == false)
            #expect(peer.requests.count == 1)
        }
    }

    @Test("Doesn't resend a body that can be sent only once", arguments: [Answer.refusedStream, .goAway])
    func notReplayable(_ answer: Answer) async throws {
        try await send(.post, body: .once(Self.parts), answers: [answer]) { peer, outcome in
            expectThrown(.connectionLost) { try outcome.get() }
            #expect(peer.requests.count == 1)
        }
    }

    @Test(
        "Stops after a few attempts if the server refuses every stream",
        .shows("N1"),
        arguments: [Answer.refusedStream, .goAway]
    )
    func alwaysRefused(_ answer: Answer) async throws {
        let answers = Array(repeating: answer, count: 100)
        try await send(.post, body: .data(Data("held".utf8)), answers: answers) { peer, outcome in
            let error = expectThrown(.connectionLost) { try outcome.get() }
            #expect(error?.isUnprocessed == true)
            #expect(peer.requests.count == 6)
        }
    }
}
