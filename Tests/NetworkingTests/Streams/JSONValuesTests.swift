import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("JSON values: framing", .computing)
struct JSONValuesTests {
    enum Value: Decodable, Hashable, Sendable {
        case text(String)
        case number(Double)
        case bool(Bool)
        case null
        case array([Value])
        case object([String: Value])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if let value = try? container.decode(String.self) {
                self = .text(value)
            } else if let value = try? container.decode([Value].self) {
                self = .array(value)
            } else {
                self = .object(try container.decode([String: Value].self))
            }
        }
    }

    struct Vector: Sendable, CustomTestStringConvertible {
        let framing: JSONFraming
        let text: String
        /// The values, and the code of the error at the end.
        let values: [Value]
        let code: NetworkError.Code?

        var testDescription: String { "\(framing): \(text.debugDescription)" }

        init(_ framing: JSONFraming, _ text: String, _ values: [Value], _ code: NetworkError.Code? = nil) {
            self.framing = framing
            self.text = text
            self.values = values
            self.code = code
        }
    }

    private static let one = Value.number(1)
    private static let two = Value.number(2)

    static var lines: [Vector] {
        [
            Vector(.lines, "", []),
            Vector(.lines, "\n\n \t\r\n", []),
            Vector(.lines, "1\n2\n", [one, two]),
            Vector(.lines, "1\r\n2", [one, two]),
            Vector(.lines, "\n1\n\n \n2\n\n", [one, two]),
            Vector(.lines, #"{"a":"\n{"}"# + "\n[1, 2]\n", [.object(["a": .text("\n{")]), .array([one, two])]),
            Vector(.lines, "null\ntrue\n\"\"\n", [.null, .bool(true), .text("")]),
            Vector(.lines, "1\n[1\n", [one], .decoding),
            Vector(.lines, "1\n2 2\n", [one], .decoding),
            Vector(.lines, "1\n{\"a\"", [one], .decoding),
            Vector(.lines, "1\n<html>\n", [one], .decoding),
        ]
    }

    static var sequences: [Vector] {
        let rs = "\u{1E}"
        return [
            Vector(.textSequence, "", []),
            Vector(.textSequence, "\(rs)1\n\(rs)2\n", [one, two]),
            Vector(.textSequence, "\(rs)\(rs)\(rs) [1,\n2]\n\(rs)", [.array([one, two])]),
            Vector(.textSequence, "\(rs){}\(rs)\"a\"", [.object([:]), .text("a")]),
            Vector(.textSequence, "1\n", [], .decoding),
            // Numbers and literals without white space may be truncated (RFC 7464 §2.4).
            Vector(.textSequence, "\(rs)1\n\(rs)12", [one], .decoding),
            Vector(.textSequence, "\(rs)1\n\(rs)true\(rs)1\n", [one], .decoding),
            Vector(.textSequence, "\(rs)1\n\(rs)[1, \(rs)2\n", [one], .decoding),
            Vector(.textSequence, "\(rs)1\n\(rs)\"a", [one], .decoding),
            Vector(.textSequence, "\(rs)1\n2\n", [one], .decoding),
        ]
    }

    static var concatenated: [Vector] {
        [
            Vector(.concatenated, "", []),
            Vector(.concatenated, " \n", []),
            Vector(.concatenated, "{}{}", [.object([:]), .object([:])]),
            Vector(.concatenated, "1 2", [one, two]),
            Vector(
                .concatenated,
                "1[2]\"}\"true\n\n{\"a\":[{}]}null",
                [one, .array([two]), .text("}"), .bool(true), .object(["a": .array([.object([:])])]), .null]
            ),
            Vector(.concatenated, #""\"\\""\\\"""#, [.text(#""\"#), .text(#"\""#)]),
            Vector(.concatenated, #"{"a":"}]\"{"}[1]"#, [.object(["a": .text("}]\"{")]), .array([one])]),
            Vector(.concatenated, "1 ,2", [one], .decoding),
            Vector(.concatenated, "1 }", [one], .decoding),
            Vector(.concatenated, "1 [1}", [one], .decoding),
            Vector(.concatenated, "1 [1", [one], .decoding),
            Vector(.concatenated, "1 \"\\", [one], .decoding),
            Vector(.concatenated, "1 tru", [one], .decoding),
        ]
    }

    static var elements: [Vector] {
        [
            Vector(.arrayElements, "[]", []),
            Vector(.arrayElements, " [ ] \n", []),
            Vector(.arrayElements, "[1,2]", [one, two]),
            Vector(.arrayElements, "\n[ 1 ,\n2 ]\n", [one, two]),
            Vector(
                .arrayElements,
                #"[{"a":[1]},"],",[[]],null]"#,
                [.object(["a": .array([one])]), .text("],"), .array([.array([])]), .null]
            ),
            Vector(.arrayElements, "", [], .decoding),
            Vector(.arrayElements, "{}", [], .decoding),
            Vector(.arrayElements, "[1", [], .decoding),
            Vector(.arrayElements, "[1,", [one], .decoding),
            Vector(.arrayElements, "[1,]", [one], .decoding),
            Vector(.arrayElements, "[1,,2]", [one], .decoding),
            Vector(.arrayElements, "[,1]", [], .decoding),
            Vector(.arrayElements, "[1 2]", [one], .decoding),
            Vector(.arrayElements, "[1]]", [one], .decoding),
            Vector(.arrayElements, "[1][2]", [one], .decoding),
            Vector(.arrayElements, "[1:2]", [one], .decoding),
        ]
    }

    @Test(
        "Finds the values, however the bytes are divided",
        .shows("P30", "RFC 7464"),
        arguments: lines + sequences + concatenated + elements
    )
    func framing(_ vector: Vector) async throws {
        for parts in StreamParts.all(Data(vector.text.utf8)) {
            var values: [Value] = []
            let error = await failure {
                for try await value in HTTPResponseBody(parts: parts).values(of: Value.self, framing: vector.framing) {
                    values.append(value)
                }
            }
            #expect(values == vector.values)
            #expect(error?.code == vector.code)
            if vector.code != nil {
                #expect(error?.message.contains("index \(values.count)") == true)
                #expect(error?.cause is DecodingFailure)
            }
        }
    }

    @Test("Finds the same values in random parts")
    func randomParts() async throws {
        let text = Self.concatenated.filter { $0.code == nil }.map(\.text).joined(separator: " ")
        let stream = Data(String(repeating: text + "\n", count: 20).utf8)
        let expected = try await HTTPResponseBody(stream).values(of: Value.self, framing: .concatenated).collected()
        #expect(expected.count == 20 * 14)
        for seed in 1...20 as ClosedRange<UInt64> {
            let body = HTTPResponseBody(parts: StreamParts.random(stream, seed: seed, upTo: 9))
            #expect(try await body.values(of: Value.self, framing: .concatenated).collected() == expected)
        }
    }

    @Test("Continues after a value that can't be decoded, and doesn't quote it")
    func continuation() async throws {
        let texts: [(JSONFraming, String)] = [
            (.lines, "1\n\"s3cret\"\n2\n"), (.lines, "1\ns3cret\n2\n"), (.concatenated, "1 \"s3cret\" 2"),
            (.arrayElements, "[1,{\"s3cret\":1},2]"), (.textSequence, "\u{1E}1\n\u{1E}\"s3cret\n\u{1E}2\n"),
            (.textSequence, "\u{1E}1\ns3cret\n\u{1E}2\n"),
        ]
        for (framing, text) in texts {
            var values = HTTPResponseBody(Data(text.utf8)).values(of: Int.self, framing: framing).makeAsyncIterator()
            #expect(try await values.next() == 1)
            let error = await expectFailure(.decoding, mentioning: "index 1") { _ = try await values.next() }
            #expect(error?.description.contains("s3cret") == false)
            #expect(try await values.next() == 2)
            #expect(try await values.next() == nil)
        }
    }

    @Test("Skips any number of truncated values of a text sequence")
    func truncatedValues() async throws {
        let text = String(repeating: "\u{1E}[", count: 20_000) + "\u{1E}1\n"
        var values = HTTPResponseBody(Data(text.utf8)).values(of: Int.self, framing: .textSequence).makeAsyncIterator()
        for _ in 0..<20_000 {
            let error = await failure { _ = try await values.next() }
            guard error?.code == .decoding else {
                Issue.record("another error: \(String(describing: error))")
                return
            }
        }
        #expect(try await values.next() == 1)
        #expect(try await values.next() == nil)
    }

    @Test("Ends at a defect after which no value can be found", arguments: ["1 ,2", "1 ]2", "1 [2"])
    func end(text: String) async throws {
        let body = HTTPResponseBody(Data(text.utf8))
        var values = body.values(of: Int.self, framing: .concatenated).makeAsyncIterator()
        #expect(try await values.next() == 1)
        await expectFailure(.decoding) { _ = try await values.next() }
        #expect(try await values.next() == nil)
    }

    @Test(
        "Rejects a value that is too large",
        .shows("H21"),
        arguments: [
            (JSONFraming.lines, "12345678901234567"), (.lines, "                 "),
            (.textSequence, "\u{1E}[1,2,3,4,5,6,7,8,9"),
            (.concatenated, "\"1234567890123456"), (.concatenated, "12345678901234567"),
            (.arrayElements, "[[[[[[[[[[[[[[[[[["),
        ]
    )
    func limit(framing: JSONFraming, text: String) async throws {
        for parts in StreamParts.all(Data(text.utf8)) {
            let values = HTTPResponseBody(parts: parts).values(of: Value.self, framing: framing, maximumValueSize: 16)
            var iterator = values.makeAsyncIterator()
            await expectFailure(.bodyTooLarge, mentioning: "index 0", "maximumValueSize") {
                _ = try await iterator.next()
            }
            #expect(try await iterator.next() == nil)
        }
    }

    @Test("Accepts values up to the limit, and any amount of white space between them")
    func upToLimit() async throws {
        let spaces = String(repeating: " \n", count: 50_000)
        for (framing, text) in [
            (JSONFraming.concatenated, "\(spaces)\"12345678901234\"\(spaces)1\(spaces)"),
            (.lines, "\"12345678901234\"\n1\n"),
            (.arrayElements, "\(spaces)[\(spaces)\"12345678901234\"\(spaces),\(spaces)1\(spaces)]\(spaces)"),
        ] {
            let values = HTTPResponseBody(Data(text.utf8)).values(
                of: Value.self,
                framing: framing,
                maximumValueSize: 16
            )
            #expect(try await values.collected() == [.text("12345678901234"), .number(1)])
        }
    }

    @Test("Rejects deep nesting without using up the stack", arguments: [JSONFraming.lines, .concatenated])
    func deepNesting(framing: JSONFraming) async throws {
        let depth = 100_000
        let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth) + "\n"
        let values = HTTPResponseBody(Data(text.utf8)).values(of: [Int].self, framing: framing)
        await expectFailure(.decoding) { _ = try await values.collected() }
    }

    @Test("Uses the caller's decoder")
    func decoder() async throws {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        let body = HTTPResponseBody(Data("0\n1\n".utf8))
        let dates = try await body.values(of: Date.self, decoder: decoder).collected()
        #expect(dates == [Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1)])
    }

    @Test("Passes on the error of the body")
    func lostConnection() async throws {
        let body = HTTPResponseBody { deliver in
            try await deliver(Data("1\n2".utf8))
            throw NetworkError(.connectionLost, "lost")
        }
        var values = body.values(of: Int.self).makeAsyncIterator()
        #expect(try await values.next() == 1)
        await expectFailure(.connectionLost) { _ = try await values.next() }
        #expect(try await values.next() == nil)
    }
}

enum StreamParts {
    /// Returns the whole data, single bytes, and two parts for every split.
    static func all(_ data: Data) -> [[Data]] {
        [[data], data.map { Data([$0]) }] + (1..<max(2, data.count)).map { [data.prefix($0), data.dropFirst($0)] }
    }

    static func random(_ data: Data, seed: UInt64, upTo size: Int) -> [Data] {
        var random = SplitMix(state: seed)
        var rest = data
        var parts: [Data] = []
        while !rest.isEmpty {
            let count = 1 + Int(random.next() % UInt64(size))
            parts.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return parts
    }
}

extension AsyncStream<Data> {
    /// Returns parts of texts.
    static func of(_ texts: String...) -> Self { AsyncStream(parts: texts.map { Data($0.utf8) }) }

    /// Returns parts of at most 70,001 bytes.
    static func of(_ data: Data) -> Self {
        AsyncStream(parts: stride(from: 0, to: data.count, by: 70_001).map { data.dropFirst($0).prefix(70_001) })
    }

    init(parts: [Data]) {
        self.init { continuation in
            for part in parts { continuation.yield(part) }
            continuation.finish()
        }
    }
}

extension HTTPResponseBody {
    convenience init(parts: [Data]) {
        self.init { deliver in
            for part in parts { try await deliver(part) }
            return [:]
        }
    }
}

extension AsyncSequence {
    func collected() async throws -> [Element] {
        var all: [Element] = []
        for try await element in self { all.append(element) }
        return all
    }
}

extension MockTransport.Step {
    enum StreamEnding: Sendable {
        case orderly
        case lost
        case never
        case custom(@Sendable () async throws -> Void)
    }

    static func events(
        _ text: String,
        ending: StreamEnding = .orderly,
        status: Int = 200,
        headers: HTTPHeaders = [:]
    ) -> Self {
        var headers = headers
        headers["Content-Type"] = "text/event-stream"
        let body = HTTPResponseBody { deliver in
            try await deliver(Data(text.utf8))
            switch ending {
            case .orderly: break
            case .lost: throw NetworkError(.connectionLost, "lost")
            case .never: try await ResponseGate().wait()
            case .custom(let work): try await work()
            }
            return [:]
        }
        return .response(
            HTTPTransportResponse(status: status, headers: headers, stream: body)
        )
    }
}
