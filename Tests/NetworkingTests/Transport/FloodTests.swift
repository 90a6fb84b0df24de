import Foundation
import Synchronization
import TestSupport
import Testing

@testable import Networking

/// Servers that send more data, or data that's more expensive to parse, than one request may cost
/// the others.
@Suite("Responses that could delay others", .limitedConcurrency, .tags(.concurrency))
struct FloodTests {
    @Test("Limits the parts that a transfer takes per turn", .shows("N9"))
    func parts() {
        var turn = CurlTurn()
        let taken = (0...CurlTurn.maximumPartCount).map { _ in turn.takes(1, in: 7) }
        #expect(taken == Array(repeating: true, count: CurlTurn.maximumPartCount) + [false])
        let isTakenLater = turn.takes(1, in: 8)
        #expect(isTakenLater)
    }

    @Test("Limits the bytes that a transfer takes per turn, but takes at least one part")
    func octets() {
        var turn = CurlTurn()
        let parts = [(CurlTurn.maximumSize - 1, 1), (16 << 10, 1), (1, 1), (CurlTurn.maximumSize * 2, 2), (1, 2)]
        let taken = parts.map { turn.takes($0.0, in: UInt64($0.1)) }
        #expect(taken == [true, true, false, true, false])
    }

    enum Useless: CaseIterable {
        /// The extensions of a chunk
        /// ([RFC 9112 §7.1.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1.1)).
        case extensions
        case laterExtensions
        case zeros
        case interimResponses
        case fields
        case trailers

        var head: String {
            let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            return switch self {
            case .extensions: chunked + "5"
            case .laterExtensions: chunked + "5\r\nhello\r\n5"
            case .zeros: chunked
            case .interimResponses: ""
            case .fields: "HTTP/1.1 200 OK\r\n"
            case .trailers: chunked + "0\r\n"
            }
        }

        var rest: String {
            switch self {
            case .extensions, .laterExtensions: ";name=value"
            case .zeros: "0"
            case .interimResponses: "HTTP/1.1 102 Processing\r\n\r\n"
            case .fields, .trailers: "Name: value\r\n"
            }
        }
    }

    @Test("Abandons a response with endless useless data", .shows("N10"), arguments: Useless.allCases, [false, true])
    func useless(_ kind: Useless, isStreamed: Bool) async throws {
        _ = try await withCurl { connection in
            try connection.readRequest()
            try connection.send(kind.head)
            let part = Array(String(repeating: kind.rest, count: 1_000).utf8)
            while true { try connection.send(part) }
        } _: { transport, peer in
            await expectFailure(.invalidResponse) {
                guard isStreamed else { return _ = try await transport.get(peer.url) }
                let response = try await transport.open(peer.url)
                _ = try await response.body.collect(upTo: 100)
            }
        }
    }

    @Test("Accepts long chunk extensions between the parts of a body")
    func longExtensions() async throws {
        let count = 100
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            let chunk = "1;" + String(repeating: "a", count: 60_000) + "\r\nx\r\n"
            for _ in 0..<count { try connection.send(chunk) }
            try connection.send("0\r\n\r\n")
            try connection.waitForClose()
        } _: { transport, peer in
            let body = try await transport.get(peer.url).body
            #expect(body == Data(repeating: UInt8(ascii: "x"), count: count))
        }
    }

    enum Form: CaseIterable {
        case chunks
        case length
        case gzip

        static let size = 1_200_000
        static let content = (0..<size).map { UInt8(0x61 + $0 / 251 % 26) }

        var response: [UInt8] {
            get throws {
                switch self {
                case .chunks:
                    var bytes = Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
                    for octet in Self.content.prefix(20_000) { bytes += [0x31, 13, 10, octet, 13, 10] }
                    return bytes + Array("0\r\n\r\n".utf8)
                case .length:
                    return Array("HTTP/1.1 200 OK\r\nContent-Length: \(Self.size)\r\n\r\n".utf8) + Self.content
                case .gzip:
                    let packed = GzipText.coded(String(decoding: Self.content, as: UTF8.self))
                    let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n"
                    return Array(head.utf8) + packed
                }
            }
        }

        var body: Data { Data(self == .chunks ? Self.content.prefix(20_000) : Self.content[...]) }
    }

    @Test(
        "Receives several long bodies over many turns, along with short ones",
        .shows("N9"),
        arguments: Form.allCases,
        [false, true]
    )
    func manyTurns(_ form: Form, isStreamed: Bool) async throws {
        let response = try form.response
        try await withCurl { connection in
            while true {
                let isShort = try connection.readRequest().hasPrefix("GET /short")
                try connection.send(isShort ? Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8) : response)
            }
        } _: { transport, peer in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<3 {
                    group.addTask {
                        let request = HTTPRequest(url: peer.url("/long"))
                        guard isStreamed else {
                            let body = try await transport.send(request).body
                            return #expect(body == form.body)
                        }
                        let response = try await transport.open(request)
                        let body = try await response.body.collect(upTo: 64 << 20)
                        #expect(body == form.body)
                    }
                }
                group.addTask {
                    for _ in 0..<10 {
                        let body = try await transport.get(peer.url("/short")).body
                        #expect(body == Data("ok".utf8))
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("Receives the trailers after a body that takes many turns", arguments: [false, true])
    func trailers(isStreamed: Bool) async throws {
        let chunks = String(repeating: "1\r\nx\r\n", count: 2 * CurlTurn.maximumPartCount)
        try await withCurl { connection in
            try connection.readRequest()
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            try connection.send(head + chunks + "0\r\nX-Sum: 1\r\nX-Count: 2\r\nX-Sum: 3\r\n\r\n")
            try connection.waitForClose()
        } _: { transport, peer in
            let trailers: HTTPHeaders
            if isStreamed {
                let response = try await transport.open(peer.url)
                _ = try await response.body.collect(upTo: 1 << 20)
                trailers = response.body.trailers
            } else {
                trailers = try await transport.get(peer.url).trailers
            }
            #expect(trailers == ["X-Sum": "1", "X-Count": "2", "X-Sum": "3"])
        }
    }

    // The server responds so quickly that the turn is over before libcurl has waited for the
    // connection once.
    @Test("Receives a body that arrives at once on a kept connection over many turns", arguments: [false, true])
    func atOnce(isStreamed: Bool) async throws {
        let count = 20_000
        let chunks = String(repeating: "1\r\nx\r\n", count: count) + "0\r\n\r\n"
        let response = Array(("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks).utf8)
        try await withPeer { connection in
            while true {
                // A request arrives in one piece.
                _ = try connection.read(65536)
                try connection.send(response)
            }
        } _: { peer in
            // With many engines, some lose the processor between sending and receiving.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        try await withCurl { transport in
                            let request = HTTPRequest(url: peer.url)
                            for _ in 0..<20 {
                                let body =
                                    isStreamed
                                    ? try await transport.open(request).body.collect(upTo: count)
                                    : try await transport.send(request).body
                                #expect(body.count == count)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(peer.acceptedCount == 8)
        }
    }

    @Test("Receives short responses during an endless one", .shows("N9"), arguments: [false, true])
    func neighbor(isStreamed: Bool) async throws {
        try await withCurl { connection in
            while true {
                if try connection.readRequest().hasPrefix("GET /endless") {
                    try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                    let chunks = Array(String(repeating: "1\r\nx\r\n", count: 10_000).utf8)
                    while true { try connection.send(chunks) }
                }
                try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            }
        } _: { transport, peer in
            let endless = Task<Void, any Error> {
                let request = HTTPRequest(url: peer.url("/endless"))
                let limits = HTTPTransportLimits.generous(maximumBodySize: .max)
                guard isStreamed else { return _ = try await transport.send(request, limits: limits) }
                for try await _ in try await transport.open(request, limits: limits).body {}
            }
            for _ in 0..<20 {
                let body = try await transport.get(peer.url("/short")).body
                #expect(body == Data("ok".utf8))
            }
            endless.cancel()
            await #expect(throws: CancellationError.self) { try await endless.value }
        }
    }
}

/// Faults of a server, which must never be reported as faults of this process.
@Suite("Peer faults", .limitedConcurrency, .tags(.concurrency))
struct PeerFaultTests {
    @Test("Reports an invalid response for a header line over libcurl's limit", .shows("N7"), arguments: [101, 250])
    func headerLine(kibibytes: Int) async throws {
        try await withCurl { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nX-Long: ")
            try connection.send([UInt8](repeating: 0x61, count: kibibytes << 10))
            try connection.send("\r\nContent-Length: 0\r\n\r\n")
            try connection.waitForClose()
        } _: { transport, peer in
            let error = await expectFailure(.invalidResponse, mentioning: "header", "100 KiB") {
                _ = try await transport.get(peer.url)
            }
            #expect(error?.message.contains("memory") == false)
        }
    }

    struct Frames: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let octets: [UInt8]
        var code = NetworkError.Code.invalidResponse

        static func frame(_ type: UInt8, flags: UInt8 = 0, stream: UInt8, _ payload: [UInt8]) -> [UInt8] {
            [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
        }

        static let all = [
            Self(testDescription: "a header that HPACK can't read", octets: frame(1, flags: 5, stream: 1, [0x80])),
            Self(
                testDescription: "a header without a status",
                octets: frame(1, flags: 5, stream: 1, [0x40, 1, 0x61, 1, 0x62])
            ),
            Self(testDescription: "data on no stream", octets: frame(0, stream: 0, [0])),
            Self(testDescription: "data before the header", octets: frame(0, stream: 1, [0])),
            Self(testDescription: "a frame larger than allowed", octets: [0x7F, 0xFF, 0xFF, 0, 0, 0, 0, 0, 1]),
            Self(testDescription: "settings of a wrong size", octets: frame(4, stream: 0, [0])),
            Self(testDescription: "a reset for a protocol error", octets: frame(3, stream: 1, [0, 0, 0, 1])),
            Self(testDescription: "HTTP/1.1", octets: Array(TCPPeer.empty.utf8)),
            Self(
                testDescription: "a reset for an internal error",
                octets: frame(3, stream: 1, [0, 0, 0, 2]),
                code: .connectionLost
            ),
        ]
    }

    @Test("Reports an invalid response for a violation of HTTP/2", .shows("N7", "Q13", "Q15"), arguments: Frames.all)
    func http2(_ frames: Frames) async throws {
        try await withPeer { connection in
            // The preface and the client's first frames.
            _ = try connection.readExactly(24)
            _ = try connection.read(4096)
            try connection.send(Frames.frame(4, stream: 0, []) + frames.octets)
            try connection.waitForClose()
        } _: { peer in
            var configuration = CurlTransport.Configuration(proxy: .none)
            configuration.protocolVersion = .http2PriorKnowledge
            try await withCurl(configuration) { transport in
                let isMissed = CurlLibrary.waitsForever
                let limits = isMissed ? HTTPTransportLimits(deadline: .now + .seconds(3)) : .generous()
                let error = await failure {
                    _ = try await transport.send(HTTPRequest(url: peer.url), limits: limits)
                }
                withKnownIssue("libcurl 8.5 waits for more", isIntermittent: true) {
                    #expect(error?.code == frames.code, "\(error?.description ?? "no error")")
                } when: {
                    isMissed
                }
                #expect(error != nil)
            }
        }
    }

    @Test("Reports a protocol that libcurl lacks as a fault of this process")
    func protocols() throws {
        let origin = try #require(URL(string: "https://a.example/").flatMap { HTTPOrigin($0) })
        func code(_ number: Int, _ text: String, isHTTP2: Bool = false) -> NetworkError.Code? {
            CurlFailure(code: Int32(number), text: text, origin: origin, isHTTP2: isHTTP2)
                .networkError(connectTimeout: .seconds(1), phase: .receiving)?.code
        }
        #expect(code(1, "Protocol \"https\" not supported or disabled in libcurl") == .transportUnavailable)
        for text in ["Lying server, not serving HTTP/2", "Unsupported HTTP version in response", "Received HTTP/0.9"] {
            #expect(code(1, text) == .invalidResponse)
        }
        let closed = "HTTP/2 stream 1 was not closed cleanly"
        #expect(code(92, "\(closed): PROTOCOL_ERROR (err 1)") == .invalidResponse)
        #expect(code(92, "\(closed): INTERNAL_ERROR (err 2)") == .connectionLost)
        #expect(code(18, "\(closed) before end of the underlying stream") == .connectionLost)
        #expect(code(56, "nghttp2_session_mem_recv() returned -902:failed") == .invalidResponse)
        // With HTTP/1.1, the server closed the connection. With HTTP/2, libcurl closed it because
        // of a violation.
        #expect(code(52, "Empty reply from server") == .connectionLost)
        #expect(code(52, "Empty reply from server", isHTTP2: true) == .invalidResponse)
    }

    /// Only a missing protocol is reported as a fault of this process.
    @Test("Reports no other result of libcurl as a fault of this process", arguments: 2...110)
    func codes(number: Int) throws {
        let origin = try #require(URL(string: "https://a.example/").flatMap { HTTPOrigin($0) })
        let error = CurlFailure(code: Int32(number), text: "words", origin: origin)
            .networkError(connectTimeout: .seconds(1), phase: .receiving)
        #expect(error?.code != .transportUnavailable)
    }
}
