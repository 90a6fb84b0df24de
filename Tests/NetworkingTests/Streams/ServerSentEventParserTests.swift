import Foundation
import Networking
import TestSupport
import Testing

/// Tests of the syntax of event streams, with the examples of WHATWG HTML §9.2 and the cases of its
/// rules.
@Suite("Server-sent events: syntax", .computing)
struct ServerSentEventParserTests {
    struct Vector: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let stream: [UInt8]
        let events: [ServerSentEvent]

        init(_ name: String, _ stream: String, _ events: ServerSentEvent...) {
            self.init(name, bytes: Array(stream.utf8), events)
        }

        init(_ name: String, bytes: [UInt8], _ events: [ServerSentEvent]) {
            testDescription = name
            stream = bytes
            self.events = events
        }
    }

    private typealias Event = ServerSentEvent

    static var examples: [Vector] {
        [
            Vector("two lines of data", "data: YHOO\ndata: +2\ndata: 10\n\n", Event(data: "YHOO\n+2\n10")),
            Vector(
                "three messages",
                """
                data: This is the first message.

                data: This is the second message, it
                data: has two lines.

                data: This is the third message.


                """,
                Event(data: "This is the first message."),
                Event(data: "This is the second message, it\nhas two lines."),
                Event(data: "This is the third message.")
            ),
            Vector(
                "types",
                "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\nevent: add\ndata: 113411\n\n",
                Event(event: "add", data: "73857293"),
                Event(event: "remove", data: "2153"),
                Event(event: "add", data: "113411")
            ),
            Vector(
                "a comment, IDs and an incomplete event",
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event",
                Event(id: "1", data: "first event"),
                Event(data: "second event")
            ),
            Vector(
                "the same with its final blank line",
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
                Event(id: "1", data: "first event"),
                Event(data: "second event"),
                Event(data: " third event")
            ),
            Vector("empty data", "data\n\ndata\ndata\n\ndata:", Event(data: ""), Event(data: "\n")),
            Vector("an optional space", "data:test\n\ndata: test\n\n", Event(data: "test"), Event(data: "test")),
        ]
    }

    static var rules: [Vector] {
        let hour = Duration.seconds(3600)
        return [
            Vector("nothing", ""),
            Vector("blank lines only", "\n\r\n\r\n\n\r\r"),
            Vector("carriage returns", "data: a\rdata: b\r\rdata: c\r\r", Event(data: "a\nb"), Event(data: "c")),
            Vector("CRLF", "data: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n", Event(data: "a\nb"), Event(data: "c")),
            Vector(
                "mixed line ends",
                "data: a\r\ndata: b\rdata: c\n\r\ndata: d\n\r",
                Event(data: "a\nb\nc"),
                Event(data: "d")
            ),
            Vector("LF CR is two line ends", "data: a\n\rdata: b\n\n", Event(data: "a"), Event(data: "b")),
            Vector("a byte order mark", "\u{FEFF}data: a\n\n", Event(data: "a")),
            Vector("a byte order mark before a comment", "\u{FEFF}: x\ndata: a\n\n", Event(data: "a")),
            Vector("a byte order mark alone", "\u{FEFF}\n\ndata: a\n\n", Event(data: "a")),
            Vector("two byte order marks", "\u{FEFF}\u{FEFF}data: a\n\ndata: b\n\n", Event(data: "b")),
            Vector(
                "a byte order mark later",
                "data: a\n\n\u{FEFF}data: b\n\ndata: c\n\n",
                Event(data: "a"),
                Event(data: "c")
            ),
            Vector(
                "an incomplete byte order mark",
                bytes: [0xEF, 0xBB] + Array("data: a\n\ndata: b\n\n".utf8),
                [Event(data: "b")]
            ),
            Vector("a type without data is dropped", "event: a\n\ndata: b\n\n", Event(data: "b")),
            Vector("an empty type is a message", "event: a\nevent:\ndata: b\n\n", Event(data: "b")),
            Vector("the last type applies", "event: a\nevent: b\ndata: c\n\n", Event(event: "b", data: "c")),
            Vector(
                "an ID persists",
                "id: 1\ndata: a\n\ndata: b\n\n",
                Event(id: "1", data: "a"),
                Event(id: "1", data: "b")
            ),
            Vector("an ID without data counts", "id: 1\n\ndata: b\n\n", Event(id: "1", data: "b")),
            Vector("an ID with NUL is ignored", "id: 1\nid: 2\0\ndata: a\n\n", Event(id: "1", data: "a")),
            Vector("an ID keeps its spaces", "id:  1 \ndata: a\n\n", Event(id: " 1 ", data: "a")),
            Vector("NUL in data", "data: a\0b\n\n", Event(data: "a\0b")),
            Vector("unknown and misspelled fields", "Data: a\ndata : a\n data: a\nda\nfoo: a\ndatax: a\n\n"),
            Vector("a colon in the value", "data:a:b\ndata::\ndata: :c\n\n", Event(data: "a:b\n:\n:c")),
            Vector("only one space is removed", "data:\ta\ndata:  b\n\n", Event(data: "\ta\n b")),
            Vector("comments between the lines", "data: a\n:\n::\n: b\ndata: c\n\n", Event(data: "a\nc")),
            Vector("non-ASCII text", "data: ö→😀\nid: é\n\n", Event(id: "é", data: "ö→😀")),
            Vector(
                "a line separator of Unicode isn't one",
                "data: a\u{2028}b\u{85}c\n\n",
                Event(data: "a\u{2028}b\u{85}c")
            ),
            Vector(
                "invalid UTF-8",
                bytes: Array("data: a".utf8) + [0xFF, 0xC3] + Array("\ndata: ".utf8) + [0xE2, 0x82]
                    + Array("b\n\n".utf8),
                [Event(data: "a\u{FFFD}\u{FFFD}\n\u{FFFD}b")]
            ),
            Vector(
                "a time to reconnect",
                "retry: 1500\ndata: a\n\ndata: b\n\n",
                Event(data: "a", retry: .milliseconds(1500)),
                Event(data: "b")
            ),
            Vector(
                "leading zeros",
                "retry: 0000000000000000000000007\ndata: a\n\n",
                Event(data: "a", retry: .milliseconds(7))
            ),
            Vector("a zero time", "retry: 0\ndata: a\n\n", Event(data: "a", retry: .zero)),
            Vector("an hour at most", "retry: 99999999999999999999\ndata: a\n\n", Event(data: "a", retry: hour)),
            Vector(
                "exactly an hour",
                "retry: 3600000\ndata: a\n\nretry: 3600001\ndata: b\n\n",
                Event(data: "a", retry: hour),
                Event(data: "b", retry: hour)
            ),
            Vector(
                "invalid times",
                "retry\nretry:\nretry: 1s\nretry: -1\nretry: 1.5\nretry: ٣\nretry:  1\ndata: a\n\n",
                Event(data: "a")
            ),
            Vector("an incomplete event at the end", "data: a\n\ndata: b\n", Event(data: "a")),
            Vector("an incomplete line at the end", "data: a\n\ndata: b", Event(data: "a")),
        ]
    }

    @Test(
        "Reads the examples of the specification, however they're divided",
        .shows("P29", "WHATWG HTML §9.2"),
        arguments: examples
    )
    func specification(_ vector: Vector) async throws {
        try await check(vector)
    }

    @Test(
        "Follows the rules of the syntax, however the bytes are divided",
        .shows("WHATWG HTML §9.2"),
        arguments: rules
    )
    func syntax(_ vector: Vector) async throws {
        try await check(vector)
    }

    private func check(_ vector: Vector) async throws {
        for parts in StreamParts.all(Data(vector.stream)) {
            #expect(try await HTTPResponseBody(parts: parts).events().collected() == vector.events)
        }
    }

    @Test("Reads the same events from random parts")
    func randomParts() async throws {
        let vectors = Self.examples + Self.rules.filter { !$0.testDescription.contains("mark") }
        // Each vector ends with a comment and a blank line, so that it doesn't affect the next.
        let stream = vectors.reduce(into: Data()) { $0 += $1.stream + Array("\n:\n\nid\n\n".utf8) }
        let expected = try await HTTPResponseBody(stream).events().collected()
        #expect(expected.count > 50)
        for seed in 1...20 as ClosedRange<UInt64> {
            let parts = StreamParts.random(stream, seed: seed, upTo: seed < 10 ? 4 : 100)
            #expect(try await HTTPResponseBody(parts: parts).events().collected() == expected)
        }
    }

    @Test("Delivers an event at its blank line, without the line feed after a carriage return")
    func prompt() async throws {
        let parts = AsyncStream<Data>.makeStream()
        let body = HTTPResponseBody { deliver in
            for await part in parts.stream { try await deliver(part) }
            return [:]
        }
        var events = body.events().makeAsyncIterator()
        parts.continuation.yield(Data("data: a\r\n\r".utf8))
        #expect(try await events.next() == ServerSentEvent(data: "a"))
        parts.continuation.yield(Data("\ndata: b\n\n".utf8))
        #expect(try await events.next() == ServerSentEvent(data: "b"))
        parts.continuation.finish()
        #expect(try await events.next() == nil)
        #expect(try await events.next() == nil)
    }

    @Test(
        "Rejects a line or an event that is too large",
        .shows("H21"),
        arguments: [
            "data: 12345678901", ": comment 1234567", "id: 12345678901234", "event: 1234567890", "retry: 0000000000",
            "data: 12345678\ndata: 12345678\n\n", String(repeating: "data\n", count: 17),
        ]
    )
    func limit(stream: String) async throws {
        for parts in StreamParts.all(Data("data: fits\n\n\(stream)".utf8)) {
            var events = HTTPResponseBody(parts: parts).events(maximumEventSize: 16).makeAsyncIterator()
            #expect(try await events.next() == ServerSentEvent(data: "fits"))
            let error = await expectFailure(.bodyTooLarge, mentioning: "maximumEventSize") {
                _ = try await events.next()
            }
            #expect(error?.message.contains("123") != true, "the message doesn't quote the stream")
            #expect(try await events.next() == nil, "the stream has ended")
        }
    }

    @Test("Accepts lines and events up to the limit")
    func upToLimit() async throws {
        let stream = "data: 1234567890\n\ndata: 1234567\ndata: 1234567\n\n: 12345678901234\n"
        let events = try await HTTPResponseBody(Data(stream.utf8)).events(maximumEventSize: 16).collected()
        #expect(events.map(\.data) == ["1234567890", "1234567\n1234567"])
    }

    @Test(
        "Skips any number of blank lines, comments and tiny fields",
        arguments: ["\n", ":\n", "x\n", "retry: 1\n", "event:\r\n"]
    )
    func tinyLines(line: String) async throws {
        let block = Data(String(repeating: line, count: 20_000).utf8)
        let parts = Array(repeating: block, count: 5) + [Data("\n\ndata: a\n\n".utf8)]
        let events = try await HTTPResponseBody(parts: parts).events(maximumEventSize: 64).collected()
        #expect(events.map(\.data) == ["a"])
    }

    @Test("Counts the bytes of many tiny lines of data")
    func tinyData() async throws {
        let block = Data(String(repeating: "data\n", count: 20_000).utf8)
        let body = HTTPResponseBody(parts: Array(repeating: block, count: 5))
        await expectFailure(.bodyTooLarge) { _ = try await body.events(maximumEventSize: 50_000).collected() }
    }

    @Test("Rejects random bytes or reads them, but never traps")
    func randomBytes() async throws {
        var random = SplitMix(state: 7)
        let alphabet = Array("data:event:id:retry: \r\n\r\n\n\n09\0".utf8) + [0xEF, 0xBB, 0xBF, 0xFF]
        for _ in 0..<200 {
            let bytes = (0..<500).map { _ in alphabet[Int(random.next() % UInt64(alphabet.count))] }
            let whole = try await HTTPResponseBody(Data(bytes)).events().collected()
            let parts = StreamParts.random(Data(bytes), seed: random.next(), upTo: 7)
            #expect(try await HTTPResponseBody(parts: parts).events().collected() == whole)
        }
    }

    @Test("Decodes the data of an event, and doesn't quote it in errors")
    func decoding() throws {
        #expect(try ServerSentEvent(data: "[1, 2]").decode(as: [Int].self) == [1, 2])
        let numbers: [Int] = try ServerSentEvent(data: "[\n3]").decode()
        #expect(numbers == [3])
        let error = #expect(throws: NetworkError(.decoding, "")) {
            try ServerSentEvent(data: #"["s3cret"]"#).decode(as: [Int].self)
        }
        #expect((error?.cause as? DecodingFailure)?.kind == .typeMismatch)
        #expect(error?.description.contains("s3cret") == false)
    }
}
