import Foundation
import FoundationNetworking
import Networking
import TestSupport
import Testing

/// The library's forms, read by other parsers: Flask, directly and behind nginx, Python's `email`,
/// and Node if it's installed.
@Suite(
    "Interoperability: forms with Flask, nginx, Python's email and Node",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .serialized
)
struct FormInteropTests {
    private struct Part: Codable, Hashable, Sendable {
        var name: String
        var filename: String?
        var type: String?
        var content: String

        init(_ name: String, filename: String? = nil, type: String? = nil, _ content: Data) {
            self.name = name
            self.filename = filename
            self.type = type
            self.content = content.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }

        /// Returns the parts with browsers' escapes of quotation marks and line breaks removed from
        /// the names.
        func undoing(_ codes: [String: String]) -> Part {
            func undone(_ name: String) -> String { codes.reduce(name) { $0.replacing($1.key, with: $1.value) } }
            var part = self
            part.name = undone(name)
            part.filename = filename.map(undone)
            return part
        }
    }

    private struct Answer: Codable, Sendable {
        var flask: [Part]?
        var email: [Part]?
        var node: [Part]?
    }

    private let client = NetworkClient()

    /// Compares the parts that each parser finds in a form, built in memory and streamed.
    private func check(_ form: MultipartFormData, is expected: [Part], _ comment: Comment? = nil) async throws {
        let (flask, proxy) = (try Interop.required("INTEROP_FORMS"), try Interop.required("INTEROP_HTTP") + "/forms")
        for (address, threshold) in [(flask, 1 << 20), (flask, 0), (proxy, 0)] {
            let answer = try await answer(form, of: address, threshold: threshold)
            // Flask decodes only the browsers' escape of quotation marks.
            let found = try #require(answer.flask)
            #expect(found.count == expected.count, comment)
            #expect(Set(found) == Set(expected.map { $0.undoing(["%22": "\""]) }), comment)
            #expect(answer.email ?? [] == expected, comment)
        }
        guard let node = Interop.variable("INTEROP_NODE") else { return }
        let answer = try await answer(form, of: node, threshold: 0)
        #expect(answer.node == expected.map { $0.undoing(["%22": "\"", "%0A": "\n", "%0D": "\r"]) }, comment)
    }

    private func answer(_ form: MultipartFormData, of address: String, threshold: Int) async throws -> Answer {
        let url = try #require(URL(string: address))
        let body = EndpointBody(form.body(inMemoryUpTo: threshold), contentType: form.contentType)
        return try await client.upload(body, to: url, decoding: .json(Answer.self)).value
    }

    /// Returns a name with quotation marks, backslashes and control characters percent-encoded.
    private static func seen(_ name: String) -> String {
        name.unicodeScalars.map { scalar in
            guard "\"\\".unicodeScalars.contains(scalar) || scalar.value < 0x20 || scalar.value == 0x7F else {
                return String(scalar)
            }
            return "%" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16, uppercase: true)
        }.joined()
    }

    private static let names: [String] =
        (0...0x7F).map { "a\(Character(Unicode.Scalar(UInt8($0))))b" } + [
            " ", "\\", "\"", "a\\", "\\\"", "\\\\", "a\"; filename=\"evil.sh", "a\r\nX-Evil: 1", "a\r\n\r\nbody",
            "naïve",
            "日本語", "👩🏽‍💻", "e\u{301}", "\u{85}\u{2028}\u{FEFF}\u{10FFFF}", "%", "%25", "../../etc/passwd",
            "C:\\dir\\file.txt",
            "=?utf-8?Q?x?=", "name*", "filename*=utf-8''x", String(repeating: "long", count: 500),
        ]

    @Test("Parsers read every special character in names and file names")
    func names() async throws {
        for name in Self.names {
            var form = MultipartFormData()
            form.append("value of \(name)", name: name)
            try form.append(.data(Data(name.utf8)), name: name, fileName: "f" + name, contentType: "text/x-test")
            let seen = Self.seen(name)
            let expected = [
                Part(seen, Data("value of \(name)".utf8)),
                Part(seen, filename: "f" + seen, type: "text/x-test", Data(name.utf8)),
            ]
            try await check(form, is: expected, "\(name.debugDescription)")
        }
    }

    @Test("Parsers read any number of parts of any size and source", arguments: [0, 1, 60])
    func matrix(count: Int) async throws {
        let large = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
        let text = Data(String(repeating: "Größe\r\n", count: 20_000).utf8)
        let folder = FileManager.default.temporaryDirectory.appending(path: "form-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, empty) = (folder.appending(path: "a.pdf"), folder.appending(path: "empty.txt"))
        try large.write(to: file)
        try Data().write(to: empty)
        var form = MultipartFormData()
        var expected: [Part] = []
        for index in 0..<count {
            let name = "part \(index)"
            switch index % 6 {
            case 0:
                try form.append(file: file, name: name)
                expected.append(Part(name, filename: "a.pdf", type: "application/pdf", large))
            case 1:
                form.append("", name: name)
                expected.append(Part(name, Data()))
            case 2:
                try form.append(file: empty, name: name)
                expected.append(Part(name, filename: "empty.txt", type: "text/plain", Data()))
            case 3:
                let value = "line\r\nline\n\r\n--form\r--\n"
                form.append(value, name: name)
                expected.append(Part(name, Data(value.utf8)))
            case 4:
                try form.append(.data(text), name: name)
                expected.append(Part(name, text))
            default:
                let parts = HTTPBody.stream {
                    AsyncStream { continuation in
                        for start in stride(from: 0, to: large.count, by: 70_001) {
                            continuation.yield(large[start..<min(start + 70_001, large.count)])
                        }
                        continuation.finish()
                    }
                }
                try form.append(parts, name: name, fileName: "stream")
                expected.append(Part(name, filename: "stream", type: "application/octet-stream", large))
            }
        }
        try await check(form, is: expected)
    }
}

/// Event streams and JSON lines of Python's `http.server`.
@Suite("Interoperability: event streams with Python's http.server", .enabled(if: Interop.isPrepared, Interop.hint))
struct EventStreamInteropTests {
    private struct Report: Decodable, Hashable, Sendable {
        var number: Int
        var title: String
    }

    private func request(_ path: String) throws -> URLRequest {
        URLRequest(url: try #require(URL(string: Interop.required("INTEROP_EVENTS") + path)))
    }

    @Test("Receives every event once, over any number of connections", arguments: Engine.allCases, [1, 3, 20])
    func feed(engine: Engine, count: Int) async throws {
        let events = engine.client().events(
            for: try request("/feed?count=\(count)"),
            reconnection: .reconnecting(.constant(.zero, until: .maxRetries(3)))
        )
        var numbers: [Int] = []
        for try await event in events {
            let report = try event.decode(as: Report.self)
            #expect(report.title == "Größe")
            #expect(event.id == "№\(report.number)")
            #expect(event.event == "report\(report.number % 2)")
            numbers.append(report.number)
        }
        #expect(numbers == Array(1...20))
    }

    @Test("Reconnects after a silent connection", arguments: Engine.allCases)
    func silence(engine: Engine) async throws {
        let events = engine.client().events(
            for: try request("/silent"),
            reconnectionTime: .zero,
            reconnection: .reconnecting(.constant(.zero, until: .maxRetries(2))),
            options: RequestOptions(idleTimeout: .milliseconds(200))
        )
        var iterator = events.makeAsyncIterator()
        let error = await #expect(throws: NetworkError.self) { _ = try await iterator.next() }
        #expect(error?.code == .timedOut)
        #expect(error?.retry?.state.retryCount == 2)
    }

    @Test("Decodes JSON lines", arguments: Engine.allCases)
    func lines(engine: Engine) async throws {
        var count = 0
        for try await report in engine.client().values(of: Report.self, for: try request("/reports?count=5000")) {
            #expect(report.number == count)
            #expect(report.title == String(repeating: "Größe\n", count: count % 50))
            count += 1
        }
        #expect(count == 5000)
    }
}

/// The library's URLs and forms, read by another parser.
@Suite("Interoperability: URLs and forms with Python's urllib", .enabled(if: Interop.isPrepared, Interop.hint))
struct URLInteropTests {
    fileprivate struct Sample: HTTPEndpoint {
        let segments: [String]
        let pairs: [[String]]

        var baseURL: URL { URLInteropTests.base }
        var path: URLPath { URLPath(segments: segments) }
        var method: HTTPMethod { .post }
        var query: URLQuery {
            var query = URLQuery()
            for pair in pairs { query.append(pair[0], pair[1]) }
            return query
        }
        var body: EndpointBody { get throws { try .form(query) } }
    }

    fileprivate static let base = URL(string: "https://a.example/b") ?? URL(filePath: "/")

    private struct URLAnswer: Decodable {
        let host: String
        let path: [String]
        let query: [[String]]
        let fragment: String
    }

    private struct FormAnswer: Decodable {
        let fields: [[String]]
    }

    @Test("The parser reads arbitrary Unicode paths, queries and forms unchanged", .shows("H2"))
    func roundTrip() async throws {
        var generator = SystemRandomNumberGenerator()
        let samples = (0..<1_000).map { _ in Sample.random(using: &generator) }
        var input = ""
        for sample in samples {
            let request = try sample.urlRequest()
            let url = try #require(request.url).absoluteString
            let form = String(decoding: try #require(request.httpBody), as: UTF8.self)
            for line in [["url": url], ["form": form]] {
                input += String(decoding: try JSONEncoder().encode(line), as: UTF8.self) + "\n"
            }
        }
        let peer = try await ChildProcess.run(
            try Interop.required("INTEROP_PYTHON"),
            [Interop.file("url_peer.py")],
            input: input
        )
        try #require(peer.status == 0, "\(peer.errors)")
        let answers = peer.output.split(separator: "\n").map { Data($0.utf8) }
        try #require(answers.count == 2 * samples.count)
        for (index, sample) in samples.enumerated() {
            let url = try JSONDecoder().decode(URLAnswer.self, from: answers[2 * index])
            #expect(url.host == "a.example" && url.fragment.isEmpty)
            #expect(url.path == ["", "b"] + sample.segments)
            #expect(url.query == sample.pairs)
            let form = try JSONDecoder().decode(FormAnswer.self, from: answers[2 * index + 1])
            #expect(form.fields == sample.pairs)
        }
    }
}

extension URLInteropTests.Sample {
    /// The generator has a new seed in each run.
    ///
    /// Failures print their input, and the unit tests have fixed seeds.
    fileprivate static func random(using generator: inout SystemRandomNumberGenerator) -> Self {
        Self(
            segments: (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                // URLPath rejects empty and dot segments.
                "s" + text(using: &generator).replacing(".", with: "/")
            },
            pairs: (0..<Int.random(in: 1...4, using: &generator)).map { _ in
                [text(using: &generator) + "n", text(using: &generator)]
            }
        )
    }

    private static func text(using generator: inout SystemRandomNumberGenerator) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            let value: UInt32 =
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: UInt32.random(in: 0x00...0x7F, using: &generator)
                case 1: UInt32.random(in: 0x80...0xFFFF, using: &generator)
                default: UInt32.random(in: 0x1_0000...0x10_FFFF, using: &generator)
                }
            scalars.append(Unicode.Scalar(value) ?? "\u{FFFD}")
        }
        return String(scalars)
    }
}
