import Foundation
import TestSupport
import Testing

@testable import Networking

/// HTTP/2 responses that arrive while the request's body is sent
/// ([RFC 9113 §8.1](https://www.rfc-editor.org/rfc/rfc9113#section-8.1)).
///
/// The server never extends a request's initial window of 65,535 bytes. No request may wait for its
/// deadline.
@Suite("Early responses over HTTP/2", .limitedConcurrency, .tags(.concurrency))
struct EarlyAnswerTests {
    typealias Way = ConformanceTests.Way
    typealias Frame = HTTP2Frame

    enum Body: String, CaseIterable {
        /// Larger than the window, or as large as libcurl's buffer and the window together.
        case held, justTooLarge
        /// The producer waits.
        case waiting, waitingWithoutLength
        /// The producer never stops.
        case endless

        static let stuck = [held, justTooLarge, endless]

        var waits: Bool { self == .waiting || self == .waitingWithoutLength }

        func make() -> HTTPBody {
            switch self {
            case .held: .data(Data(count: 1 << 20))
            case .justTooLarge: .data(Data(count: 65_536))
            case .waiting: .stream(length: 1 << 40) { AsyncStream<Data> { $0.yield(Data(count: 10_000)) } }
            case .waitingWithoutLength: .stream { AsyncStream<Data> { $0.yield(Data(count: 10_000)) } }
            case .endless: .stream { AsyncStream<Data> { Data(count: 16_384) } }
            }
        }
    }

    struct Script: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var frames: [Frame]
        /// A Boolean value that indicates whether the client reads each frame before the next is
        /// sent.
        var isApart = true
        var closes = false

        init(_ name: String, _ frames: [Frame], isApart: Bool = true, closes: Bool = false) {
            testDescription = name
            self.frames = frames
            self.isApart = isApart
            self.closes = closes
        }

        func run(on connection: TCPPeer.Connection) throws {
            if isApart { try connection.sendApart(frames) } else { try connection.send(frames) }
            if closes { connection.finishSending() }
        }

        /// The events that may follow a complete response.
        private static let endings = [
            Script("nothing", []),
            Script("a reset without an error", [.reset(code: 0)]),
            Script("a reset: CANCEL", [.reset(code: 8)]),
            Script("a reset: PROTOCOL_ERROR", [.reset(code: 1)]),
            Script("GOAWAY and the end of the connection", [.goAway(lastStream: 1)], closes: true),
            Script("the end of the connection", [], closes: true),
        ]

        static let whole = [200, 401, 413].flatMap { status in
            endings.flatMap { ending in
                let end = ending.testDescription
                return [
                    Script(
                        "\(status), then \(end)",
                        [.head(status, length: 6), .data("so "), .data("far"), .data("", ends: true)] + ending.frames,
                        closes: ending.closes
                    ),
                    Script(
                        "\(status) without a body, then \(end)",
                        [.head(status, length: 0, ends: true)] + ending.frames,
                        closes: ending.closes
                    ),
                ]
            }
        }

        /// Responses that are shorter than the six bytes they declare.
        static let cut = [200, 413].flatMap { status in
            [true, false].flatMap { isApart in
                [
                    Script("\(status), a reset without an error", [.reset(code: 0)]),
                    Script("\(status), a reset: INTERNAL_ERROR", [.reset(code: 2)]),
                    Script("\(status), GOAWAY and the end", [.goAway(lastStream: 1)], closes: true),
                    Script("\(status), the end of the connection", [], closes: true),
                ].map { ending in
                    Script(
                        ending.testDescription + (isApart ? "" : ", at once"),
                        [.head(status, length: 6), .data("so ")] + ending.frames,
                        isApart: isApart,
                        closes: ending.closes
                    )
                }
            }
        }

        /// Responses that libcurl loses or whose end it can't detect.
        static let unclear = [
            Script("only a head of 200", [.head(200)]),
            Script("only a head of 401", [.head(401, length: 6)]),
            Script("200 without a length", [.head(200), .data("so far", ends: true)]),
            Script("401 without a length", [.head(401), .data("so far", ends: true)]),
        ]

        /// Responses that libcurl discards if they arrive in one read.
        static let lost = [200, 401].flatMap { status in
            [
                Script("\(status)", [.head(status, length: 6), .data("so far", ends: true), .reset(code: 0)]),
                Script("\(status) without a length", [.head(status), .data("so far", ends: true), .reset(code: 0)]),
                Script("\(status) without a body", [.head(status, length: 0, ends: true), .reset(code: 0)]),
            ].map { Script($0.testDescription, $0.frames, isApart: false) }
        }
    }

    /// Runs a test with a server that runs a script after receiving a number of bytes of the body.
    private func with(
        _ script: Script,
        after count: Int = 1,
        _ test: (TCPPeer, CurlTransport) async throws -> Void
    ) async throws {
        try await withPeer { connection in
            try connection.beginHTTP2()
            var rest = count
            while rest > 0 {
                let frame = try connection.readFrame()
                if frame.type == 0 { rest -= frame.size }
            }
            try script.run(on: connection)
            try connection.waitForClose()
        } _: { peer in
            try await withHTTP2 { try await test(peer, $0) }
        }
    }

    /// Returns whether libcurl doesn't report the end of the response, which is then a known issue.
    private func isMissed(_ script: Script, _ body: Body) -> Bool {
        guard CurlLibrary.waitsForever, body.waits, script.testDescription.hasPrefix("200") else { return false }
        withKnownIssue { Issue.record("With libcurl 8.5, the request waits for its deadline.") }
        return true
    }

    private func withHTTP2(_ test: (CurlTransport) async throws -> Void) async throws {
        var configuration = CurlTransport.Configuration(proxy: .none)
        configuration.protocolVersion = .http2PriorKnowledge
        configuration.earlyAnswerPatience = .milliseconds(300)
        try await withCurl(configuration, test)
    }

    private func request(_ peer: TCPPeer, _ body: HTTPBody) -> HTTPRequest {
        HTTPRequest(method: .post, url: peer.url, body: body)
    }

    @Test(
        "Delivers a complete response regardless of subsequent events",
        .shows("N11", "Q11", "Q15"),
        arguments: Script.whole,
        Body.allCases
    )
    func whole(_ script: Script, _ body: Body) async throws {
        guard !isMissed(script, body) else { return }
        for way in Way.allCases {
            try await with(script) { peer, transport in
                let response = try await way.response(to: request(peer, body.make()), by: transport)
                #expect(script.testDescription.hasPrefix("\(response.status)"))
                #expect(response.body == Data((response.headers["content-length"] == "0" ? "" : "so far").utf8))
                #expect(peer.acceptedCount == 1)
            }
        }
    }

    @Test("Never marks an incomplete request body as complete", .shows("N11"), arguments: Body.allCases)
    func unended(_ body: Body) async throws {
        try await withPeer { connection in
            try connection.beginHTTP2()
            try connection.readFrames { $0.type == 0 }
            try connection.send([.head(200, length: 6), .data("so far", ends: true)])
            try connection.readFrames(to: \.endsStream)
            connection.peer.record("the body's end")
        } _: { peer in
            try await withHTTP2 { transport in
                let response = try await transport.send(request(peer, body.make()))
                #expect(response.body == Data("so far".utf8))
            }
            while peer.openCount > 0 { try await Task.sleep(for: .milliseconds(5)) }
            #expect(peer.requests.isEmpty)
        }
    }

    @Test("Rejects a truncated response", .shows("N11"), arguments: Script.cut, Body.allCases)
    func cut(_ script: Script, _ body: Body) async throws {
        guard !isMissed(script, body) else { return }
        for way in Way.allCases {
            try await with(script) { peer, transport in
                let error = await expectFailure(.connectionLost) {
                    _ = try await way.response(to: request(peer, body.make()), by: transport)
                }
                #expect(error?.isUnprocessed == false)
            }
        }
    }

    @Test(
        "Abandons a response after a while if libcurl doesn't report its end",
        .enabled(if: CurlLibrary.losesEarlyAnswers),
        .shows("N11"),
        arguments: Script.unclear,
        Body.stuck
    )
    func unclear(_ script: Script, _ body: Body) async throws {
        for way in Way.allCases {
            try await with(script, after: 65_535) { peer, transport in
                let error = await failure { _ = try await way.response(to: request(peer, body.make()), by: transport) }
                #expect(error?.code == .connectionLost, "\(error?.description ?? "no error")")
                #expect(error?.message.contains("http1") == true)
            }
        }
    }

    @Test("Reports a lost response at once, or delivers it", .shows("N11"), arguments: Script.lost, Body.allCases)
    func lost(_ script: Script, _ body: Body) async throws {
        for way in Way.allCases {
            try await with(script) { peer, transport in
                do {
                    let response = try await way.response(to: request(peer, body.make()), by: transport)
                    #expect(!CurlLibrary.losesEarlyAnswers)
                    #expect(response.body == Data((response.headers["content-length"] == "0" ? "" : "so far").utf8))
                } catch let error as NetworkError {
                    #expect(error.code == .connectionLost)
                    #expect(error.message.contains("http1"))
                    #expect(!error.isUnprocessed)
                }
            }
        }
    }

    @Test(
        "Delivers a 401 without a length while the window is open, unless libcurl stops reading early",
        arguments: [Body.waiting, .waitingWithoutLength]
    )
    func openWindow(_ body: Body) async throws {
        for way in Way.allCases {
            try await with(Script("", [.head(401), .data("so "), .data("far", ends: true)])) { peer, transport in
                do {
                    let response = try await way.response(to: request(peer, body.make()), by: transport)
                    #expect(response.status == 401)
                    #expect(response.body == Data("so far".utf8))
                } catch let error as NetworkError {
                    #expect(error.code == .connectionLost)
                    #expect(error.message.contains("http1"))
                }
            }
        }
    }

    @Test("Returns a redirect without its body", arguments: Body.stuck)
    func redirect(_ body: Body) async throws {
        let head = Frame.headers([(":status", "307"), ("location", "/there")])
        for ending in [[], [Frame.reset(code: 0)], [.reset(code: 8)]] {
            try await with(Script("", [head] + ending)) { peer, transport in
                var limits = HTTPTransportLimits.generous()
                limits.cutsRedirects = true
                let response = try await transport.send(request(peer, body.make()), limits: limits)
                #expect(response.status == 307)
                #expect(response.headers["location"] == "/there")
            }
        }
    }

    @Test("Doesn't time out a request that sends and receives at the same time")
    func bothWays() async throws {
        try await withPeer { connection in
            try connection.beginHTTP2()
            try connection.readFrames { $0.type == 1 }
            try connection.send([.head(200)])
            try connection.readFrames(to: \.endsStream)
            try connection.send([.data("done", ends: true)])
            try connection.waitForClose()
        } _: { peer in
            try await withHTTP2 { transport in
                let parts = AsyncStream<Data>.makeStream()
                parts.continuation.yield(Data(count: 1000))
                let response = try await transport.open(request(peer, .once(parts.stream)))
                #expect(response.status == 200)
                // Longer than the engine would wait for a server.
                try await Task.sleep(for: .milliseconds(700))
                parts.continuation.yield(Data(count: 1000))
                parts.continuation.finish()
                #expect(try await response.body.collect(upTo: 100) == Data("done".utf8))
            }
        }
    }

    @Test("Waits for a slow server once the request is sent", arguments: [1000, 65_535])
    func sent(size: Int) async throws {
        try await withPeer { connection in
            try connection.beginHTTP2()
            try connection.readFrames(to: \.endsStream)
            try connection.send([.head(200, length: 4)])
            // Longer than the engine would wait for the response to a request that isn't completely
            // sent.
            Thread.sleep(forTimeInterval: 0.7)
            try connection.send([.data("done", ends: true)])
            try connection.waitForClose()
        } _: { peer in
            try await withHTTP2 { transport in
                let response = try await transport.send(request(peer, .data(Data(count: size))), limits: .generous())
                #expect(response.body == Data("done".utf8))
            }
        }
    }
}
