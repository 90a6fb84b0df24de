import Foundation
import Networking
import TestSupport
import Testing

@testable import MockNetworking

@Suite(.limitedConcurrency) struct RequestParserTests {
    struct Good: Sendable, CustomTestStringConvertible {
        let name: String
        let text: String
        var method = "GET"
        var target = "/"
        var minor = 1
        var headers: [(String, String)] = [("Host", "h")]
        var body = ""
        var trailers: [(String, String)] = []
        var testDescription: String { name }
    }

    static let good: [Good] = [
        Good(name: "least", text: "GET / HTTP/1.1\r\nHost: h\r\n\r\n"),
        Good(name: "1.0 without Host", text: "GET / HTTP/1.0\r\n\r\n", minor: 0, headers: []),
        Good(name: "empty lines before", text: "\r\n\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n"),
        Good(
            name: "white space around values",
            text: "GET / HTTP/1.1\r\nHost:h\r\nA:  b c \t\r\nEmpty:\r\nBlank:   \r\n\r\n",
            headers: [("Host", "h"), ("A", "b c"), ("Empty", ""), ("Blank", "")]
        ),
        Good(
            name: "UTF-8 value",
            text: "GET / HTTP/1.1\r\nHost: h\r\nN: Zoë\r\n\r\n",
            headers: [("Host", "h"), ("N", "Zoë")]
        ),
        Good(
            name: "repeated fields",
            text: "GET / HTTP/1.1\r\nA: 1\r\nHost: h\r\na: 2\r\n\r\n",
            headers: [("A", "1"), ("Host", "h"), ("a", "2")]
        ),
        Good(
            name: "open method and query",
            text: "M-SEARCH /a%20b?x=1&y HTTP/1.1\r\nHost: h\r\n\r\n",
            method: "M-SEARCH",
            target: "/a%20b?x=1&y"
        ),
        Good(name: "absolute", text: "GET http://h/a HTTP/1.1\r\nHost: h\r\n\r\n", target: "http://h/a"),
        Good(
            name: "authority",
            text: "CONNECT h:443 HTTP/1.1\r\nHost: h\r\n\r\n",
            method: "CONNECT",
            target: "h:443"
        ),
        Good(name: "asterisk", text: "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", method: "OPTIONS", target: "*"),
        Good(
            name: "length",
            text: "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel\r\n",
            method: "POST",
            headers: [("Host", "h"), ("Content-Length", "5")],
            body: "hel\r\n"
        ),
        Good(
            name: "length 0",
            text: "POST / HTTP/1.1\r\nHost: h\r\ncontent-length: 00\r\n\r\n",
            method: "POST",
            headers: [("Host", "h"), ("content-length", "00")]
        ),
        Good(
            name: "chunked",
            text: "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
                + "5\r\nhello\r\n00a ; ext=\"v\"\r\n 0123\r\n789\r\n0;x\r\n\r\n",
            method: "PUT",
            headers: [("Host", "h"), ("Transfer-Encoding", "Chunked")],
            body: "hello 0123\r\n789"
        ),
        Good(
            name: "chunked with trailers",
            text: "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: 1\r\nU: 2\r\n\r\n",
            method: "PUT",
            headers: [("Host", "h"), ("Transfer-Encoding", "chunked")],
            body: "x",
            trailers: [("T", "1"), ("U", "2")]
        ),
        Good(
            name: "chunked and empty",
            text: "PUT / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            method: "PUT",
            headers: [("Host", "h"), ("Transfer-Encoding", "chunked")]
        ),
    ]

    @Test("Parses a well-formed request in any fragmentation", arguments: good)
    func readsGood(_ good: Good) throws {
        let bytes = Array(good.text.utf8)
        let expected = RequestParser.Message(
            head: RequestHead(
                method: try #require(HTTPMethod(good.method)),
                target: good.target,
                minorVersion: good.minor,
                headers: HTTPHeaders(good.headers.map { HTTPHeaders.Field(name: $0.0, value: $0.1) })
            ),
            body: Array(good.body.utf8),
            trailers: HTTPHeaders(good.trailers.map { HTTPHeaders.Field(name: $0.0, value: $0.1) })
        )
        for split in 0...bytes.count {
            #expect(Self.outcome([bytes[..<split], bytes[split...]]) == .messages([expected], rest: 0), "at \(split)")
        }
        #expect(Self.outcome(bytes.indices.map { bytes[$0...$0] }) == .messages([expected], rest: 0))
    }

    /// Malformed requests, by the status of the response.
    private static let malformedTexts: [(status: Int, texts: [String])] = [
        (
            400,
            [
                "GET / HTTP/1.1\nHost: h\n\n", "GET / HTTP/1.1\r\nHost: h\n\r\n",
                "GET / HTTP/1.1\r\nHost: h\rx\r\n\r\n",
                "GET  / HTTP/1.1\r\n", "GET /\r\n", "GET / a HTTP/1.1\r\n", "GET / HTTP/1.1 \r\n",
                " GET / HTTP/1.1\r\n",
                "G(T / HTTP/1.1\r\n", "GET\t/ HTTP/1.1\r\n", "GET  HTTP/1.1\r\n", "GET index.html HTTP/1.1\r\n",
                "GET * HTTP/1.1\r\n", "CONNECT /a HTTP/1.1\r\n", "GET /a#b HTTP/1.1\r\n", "GET /ä HTTP/1.1\r\n",
                "GET / http/1.1\r\n", "GET / HTTP/11\r\n", "GET / HTTPS/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
                "\r\n\r\n\r\n\r\n\r\n", "\u{16}\u{3}\u{1}", "GET / HTTP/1.1\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: h\r\n: no name\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nN: a\u{0}b\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: h\r\nN: a\u{7F}b\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +1\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 0x1\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                "POST / HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", chunked("5 hello\r\n"),
                chunked("\r\n"), chunked("-1\r\n"), chunked("0x5\r\nhello"), chunked("5\nhello\r\n"),
                chunked("5\r\nhello!\r\n"), chunked("5\r\nhello\n"), chunked("0\r\nbad trailer\r\n\r\n"),
                chunked("1;" + String(repeating: "e", count: 300) + "\r\n"),
            ]
        ),
        (
            505,
            [
                "GET / HTTP/1.2\r\n", "GET / HTTP/2.0\r\n",
            ]
        ),
        (
            413,
            [
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 101\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999999999999999\r\n\r\n", chunked("65\r\n"),
                chunked("64\r\n" + String(repeating: "x", count: 100) + "\r\n1\r\n"), chunked("FFFFFFFFFFFFFFFFF\r\n"),
                chunked("8000000000000000\r\n"),
            ]
        ),
        (
            501,
            [
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            ]
        ),
        (
            414,
            [
                "GET /" + String(repeating: "a", count: 300)
            ]
        ),
        (
            431,
            [
                "GET / HTTP/1.1\r\nHost: h\r\nA: " + String(repeating: "a", count: 300),
                "GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "A: 12345678\r\n", count: 30),
                "GET / HTTP/1.1\r\nHost: h\r\n" + String(repeating: "A:\r\n", count: 10),
                chunked("0\r\n" + String(repeating: "A:\r\n", count: 11)),
            ]
        ),
    ]

    private static func chunked(_ body: String) -> String {
        "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + body
    }

    @Test(
        "Rejects a malformed request with its status, in any fragmentation",
        arguments: malformedTexts.flatMap { row in row.texts.map { ($0, row.status) } }
    )
    func refuses(_ text: String, _ status: Int) {
        let bytes = Array(text.utf8)
        #expect(Self.outcome([bytes[...]]) == .fault(status))
        #expect(Self.outcome(bytes.indices.map { bytes[$0...$0] }) == .fault(status))
    }

    @Test("Separates consecutive requests")
    func pipelined() {
        let texts = Self.good.map(\.text)
        let bytes = Array(texts.joined().utf8)
        guard case .messages(let messages, rest: 0) = Self.outcome([bytes[...]]) else {
            Issue.record("the requests weren't parsed")
            return
        }
        #expect(messages.map(\.head.target) == Self.good.map(\.target))
        #expect(messages.map { String(decoding: $0.body, as: UTF8.self) } == Self.good.map(\.body))
        #expect(Self.outcome(bytes.indices.map { bytes[$0...$0] }) == .messages(messages, rest: 0))
    }

    @Test("Reads bytes that aren't UTF-8 as ISO 8859-1")
    func latinValue() {
        let bytes = Array("GET / HTTP/1.1\r\nHost: h\r\nN: Zo".utf8) + [0xEB] + Array("\r\n\r\n".utf8)
        guard case .messages(let messages, rest: 0) = Self.outcome([bytes[...]]) else {
            Issue.record("the request wasn't parsed")
            return
        }
        #expect(messages.first?.head.headers["N"] == "Zoë")
    }

    @Test("Reports a client that waits for 100 (Continue) once, and only if a body follows")
    func expectContinue() throws {
        let head = "POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
        var parser = RequestParser(limits: .init())
        var input = Array(head.utf8)[...]
        #expect(try parser.consume(&input) == .expectsContinue)
        #expect(try parser.consume(&input) == .needsInput)
        input = Array("ok".utf8)[...]
        guard case .message(let message) = try parser.consume(&input) else {
            Issue.record("the message is missing")
            return
        }
        #expect(message.body == Array("ok".utf8))

        for text in [
            head + "o", head.replacing("Content-Length: 2", with: "Content-Length: 0"),
            head.replacing("HTTP/1.1", with: "HTTP/1.0"),
        ] {
            parser = RequestParser(limits: .init())
            input = Array(text.utf8)[...]
            #expect(try parser.consume(&input) != .expectsContinue)
        }
    }

    @Test("Gives the same outcome for a changed byte in any fragmentation", arguments: good)
    func mutations(_ good: Good) {
        var generator = SplitMix(state: 42)
        for _ in 0..<300 {
            var bytes = Array(good.text.utf8)
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                bytes[Int.random(in: bytes.indices, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            var pieces: [ArraySlice<UInt8>] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...7, using: &generator)
                pieces.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(Self.outcome([bytes[...]]) == Self.outcome(pieces), "\(bytes)")
        }
    }

    enum Outcome: Equatable {
        case messages([RequestParser.Message], rest: Int)
        case fault(Int)
    }

    /// Parses all input with small limits.
    private static func outcome(_ pieces: [ArraySlice<UInt8>]) -> Outcome {
        var parser = RequestParser(
            limits: .init(head: .init(line: 256, fields: 256, fieldCount: 10), body: 100)
        )
        var messages: [RequestParser.Message] = []
        var input: ArraySlice<UInt8> = []
        do throws(RequestFault) {
            for piece in pieces {
                input.append(contentsOf: piece)
                while true {
                    let step = try parser.consume(&input)
                    if case .message(let message) = step { messages.append(message) }
                    if step == .needsInput { break }
                }
            }
            return .messages(messages, rest: input.count)
        } catch {
            return .fault(error.status)
        }
    }
}
