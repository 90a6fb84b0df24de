import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("MultipartFormData", .limitedConcurrency)
struct MultipartFormDataTests {
    static func octets(of form: MultipartFormData, threshold: Int = 64 << 10) async throws -> Data {
        switch form.body(inMemoryUpTo: threshold).source {
        case .none: return Data()
        case .data(let data): return data
        case .file: throw ParsedForm.Malformed(reason: "the form is a file")
        case .stream(_, _, let producer):
            let whole = Mutex(Data())
            try await producer { part in whole.withLock { $0.append(part) } }
            return whole.withLock { $0 }
        }
    }

    @Test("Encodes the bytes of RFC 7578, including hyphens and line breaks", .shows("RFC 7578, RFC 2046 §5.1.1"))
    func octets() async throws {
        var form = try MultipartFormData(boundary: "AaB03x")
        form.append("Ada", name: "who")
        try form.append(.data(Data("{}".utf8)), name: "model", fileName: "model.json")
        try form.append(.data(Data([0, 13, 10, 255])), name: "raw", contentType: "application/x-raw")
        let expected =
            Data(
                """
                --AaB03x\r
                Content-Disposition: form-data; name="who"\r
                \r
                Ada\r
                --AaB03x\r
                Content-Disposition: form-data; name="model"; filename="model.json"\r
                Content-Type: application/json\r
                \r
                {}\r
                --AaB03x\r
                Content-Disposition: form-data; name="raw"\r
                Content-Type: application/x-raw\r
                \r

                """.utf8
            ) + Data([0, 13, 10, 255]) + Data("\r\n--AaB03x--\r\n".utf8)
        #expect(form.contentType == "multipart/form-data; boundary=AaB03x")
        #expect(try await Self.octets(of: form) == expected)
        #expect(try await Self.octets(of: form, threshold: 0) == expected)
        #expect(form.contentLength == expected.count)
    }

    /// Control characters, characters with a special meaning in headers, and characters with
    /// several code units.
    static let names: [String] =
        (0...0x7F).map { "a\(Character(Unicode.Scalar(UInt8($0))))b" } + [
            "", " ", "\\", "\"", "a\\", "\\\"", "\\\\", "a\"; filename=\"evil.sh", "a\r\nX-Evil: 1", "a\r\n\r\nbody",
            "\r\n--AaB03x--\r\n", "naïve", "日本語", "👩🏽‍💻", "e\u{301}", "\u{85}\u{2028}\u{FEFF}\u{10FFFF}", "%22", "%0D%0A",
            "%",
            "../../etc/passwd", "C:\\dir\\file.txt", "=?utf-8?Q?x?=", "name*", "filename*=utf-8''x",
            String(repeating: "long", count: 500),
        ]

    /// Content that resembles the name, without the delimiter, which a name may contain but content
    /// may not.
    private static func content(_ name: String) -> String { name.replacing("AaB03x", with: "AaB") }

    /// Returns the name that a server sees: quotation marks, backslashes and control characters are
    /// percent-encoded.
    static func seen(_ name: String) -> String {
        name.unicodeScalars.map { scalar in
            scalar == "\"" || scalar == "\\" || scalar.value < 0x20 || scalar.value == 0x7F
                ? "%" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16, uppercase: true)
                : String(scalar)
        }.joined()
    }

    @Test(
        "Special characters in names and file names are read back, and don't end the field",
        .shows("G5", "4.39", "RFC 7578, RFC 2046 §5.1.1")
    )
    func names() async throws {
        var form = try MultipartFormData(boundary: "AaB03x")
        for name in Self.names {
            form.append(Self.content(name), name: name)
            try form.append(.data(Data(Self.content(name).utf8)), name: name, fileName: name, contentType: "text/plain")
        }
        let parsed = try ParsedForm(try await Self.octets(of: form), contentType: form.contentType)
        try #require(parsed.parts.count == 2 * Self.names.count)
        for (index, name) in Self.names.enumerated() {
            let (seen, content) = (Self.seen(name), Data(Self.content(name).utf8))
            #expect(parsed.parts[2 * index] == .init(name: seen, content: content))
            #expect(
                parsed.parts[2 * index + 1]
                    == .init(name: seen, fileName: seen, contentType: "text/plain", content: content)
            )
        }
    }

    @Test(
        "Encodes any number of parts of every source, empty and beyond the threshold",
        .shows("P8"),
        arguments: [0, 1, 40]
    )
    func matrix(count: Int) async throws {
        let large = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try await withTemporaryFile(large) { file in
            try await withTemporaryFile(Data(), named: "empty.txt") { empty in
                var form = MultipartFormData()
                var expected: [ParsedForm.Part] = []
                for index in 0..<count {
                    let name = "part \(index)"
                    switch index % 5 {
                    case 0:
                        try form.append(.data(large), name: name)
                        expected.append(.init(name: name, content: large))
                    case 1:
                        try form.append(file: file, name: name)
                        let type = "application/octet-stream"
                        expected.append(.init(name: name, fileName: "a.bin", contentType: type, content: large))
                    case 2:
                        try form.append(file: empty, name: name)
                        let type = "text/plain"
                        expected.append(.init(name: name, fileName: "empty.txt", contentType: type, content: Data()))
                    case 3:
                        form.append("", name: name)
                        expected.append(.init(name: name, content: Data()))
                    default:
                        let body = HTTPBody.stream(length: large.count) { AsyncStream.of(large) }
                        try form.append(body, name: name)
                        expected.append(.init(name: name, content: large))
                    }
                }
                for _ in 0..<2 {
                    let octets = try await Self.octets(of: form)
                    #expect(form.contentLength == octets.count)
                    #expect(try ParsedForm(octets, contentType: form.contentType).parts == expected)
                }
            }
        }
    }

    @Test("Assembles a form in memory up to the threshold, unless it contains a file", .shows("4.37"))
    func threshold() async throws {
        var form = MultipartFormData()
        form.append("x", name: "a")
        let length = try #require(form.contentLength)
        func isHeld(_ body: HTTPBody) -> Bool { if case .data = body.source { true } else { false } }
        #expect(isHeld(form.body(inMemoryUpTo: length)))
        #expect(!isHeld(form.body(inMemoryUpTo: length - 1)))
        try await withTemporaryFile(Data("x".utf8)) { file in
            try form.append(file: file, name: "b")
            #expect(!isHeld(form.body()))
        }
    }

    @Test("The parts determine whether the form has a length and is replayable")
    func replay() throws {
        @Sendable func parts() -> AsyncStream<Data> { AsyncStream { $0.finish() } }
        var form = MultipartFormData()
        #expect(form.isReplayable && form.contentLength != nil)
        try form.append(.stream { parts() }, name: "a")
        #expect(form.isReplayable && form.body().isReplayable && form.contentLength == nil)
        try form.append(.once(parts(), length: 0), name: "b")
        #expect(!form.isReplayable && !form.body().isReplayable)
    }

    @Test("Fails for a part that differs from its declared length", arguments: [2, 4])
    func wrongLength(announced: Int) async throws {
        var form = MultipartFormData()
        let body = HTTPBody.stream(length: announced) { AsyncStream.of("abc") }
        try form.append(body, name: "a")
        await expectFailure(.invalidRequest, mentioning: announced == 2 ? "longer" : "shorter") {
            _ = try await Self.octets(of: form)
        }
    }

    @Test("Fails the request for a file that has become shorter")
    func shrunkFile() async throws {
        try await withTemporaryFile(Data(repeating: 1, count: 1000)) { file in
            var form = MultipartFormData()
            try form.append(file: file, name: "a")
            try Data(repeating: 1, count: 999).write(to: file)
            await expectFailure(.invalidRequest) { _ = try await Self.octets(of: form) }
        }
    }

    @Test("Rejects an invalid file, media type or boundary", .shows("4.40"))
    func refusals() async throws {
        var form = MultipartFormData()
        let folder = FileManager.default.temporaryDirectory
        for url in [folder, folder.appending(path: "none-\(UUID().uuidString)"), URL(string: "https://a.example/b")!] {
            await expectFailure(.invalidRequest) { try form.append(file: url, name: "a") }
        }
        for type in ["", "text", "text/plain\r\nX-Evil: 1", "text/plain\u{7F}", "a b/c", "text/plain; a=\"\n\""] {
            let error = await failure { try form.append(.data(Data()), name: "a", contentType: type) }
            #expect(error?.code == .invalidRequest, "\(type.debugDescription)")
        }
        #expect(form.contentLength == "--\(form.boundary)--\r\n".utf8.count)
        for boundary in ["", "a\r\n", "a ", "é", "a\"b", "a;b", String(repeating: "a", count: 71)] {
            let error = await failure { _ = try MultipartFormData(boundary: boundary) }
            #expect(error?.code == .invalidRequest, "\(boundary.debugDescription)")
        }
        let odd = try MultipartFormData(boundary: "'()+_,-./:=? x")
        #expect(odd.contentType == "multipart/form-data; boundary=\"'()+_,-./:=? x\"")
        #expect(try ParsedForm(try await Self.octets(of: odd), contentType: odd.contentType).parts.isEmpty)
    }

    @Test("Creates unique boundaries without quotation marks")
    func randomBoundary() throws {
        let (one, other) = (MultipartFormData(), MultipartFormData())
        #expect(one.boundary != other.boundary)
        #expect(!one.contentType.contains("\""))
        _ = try MultipartFormData(boundary: one.boundary)
    }

    @Test(
        "Derives the media type from the extension, with octet-stream as the fallback",
        arguments: [
            ("a.PNG", "image/png"), ("a.tar.gz", "application/gzip"), ("a.json", "application/json"),
            ("a", "application/octet-stream"), (".png", "application/octet-stream"), ("", "application/octet-stream"),
            ("a.", "application/octet-stream"), ("a.unheard-of", "application/octet-stream"), ("a.txt", "text/plain"),
        ]
    )
    func mediaTypes(name: String, type: String) async throws {
        var form = MultipartFormData()
        try form.append(.data(Data()), name: "a", fileName: name)
        let parsed = try ParsedForm(try await Self.octets(of: form), contentType: form.contentType)
        #expect(parsed.parts == [.init(name: "a", fileName: name, contentType: type, content: Data())])
    }

    private struct Sending: HTTPEndpoint {
        let baseURL: URL
        let form: MultipartFormData
        var method: HTTPMethod { .post }
        var body: EndpointBody { .multipart(form) }
    }

    @Test("An endpoint sends a form with its length and content type", arguments: [true, false])
    func endpoint(isHeld: Bool) async throws {
        try await withTemporaryFile(Data(repeating: 7, count: 200_000)) { file in
            try await withLoopbackServer { server async throws in
                server.on(.post, "/forms", .status(204))
                var form = MultipartFormData()
                form.append("Ada", name: "who")
                if !isHeld { try form.append(file: file, name: "file") }
                let endpoint = Sending(baseURL: server.url(for: "/forms"), form: form)
                _ = try await NetworkClient().response(for: endpoint)
                let request = try #require(server.requests.first)
                #expect(request.headers["Content-Length"] == form.contentLength.map(String.init))
                let type = try #require(request.headers["Content-Type"])
                let parsed = try ParsedForm(request.body, contentType: type)
                #expect(parsed.parts.map(\.name) == (isHeld ? ["who"] : ["who", "file"]))
            }
        }
    }
}

/// The checks of STRV's multipart tests, with the delimiters of RFC 2046.
@Suite("Multipart acceptance", .computing)
struct MultipartAcceptanceTests {
    /// A boundary that begins with hyphens, which follow those of the delimiter.
    private static let boundary = "--boundary--123"

    @Test("Encodes two parts in memory", .shows("4.39"))
    func twoParts() async throws {
        var form = try MultipartFormData(boundary: Self.boundary)
        try form.append(.data(Data("Hello".utf8)), name: "first")
        try form.append(.data(Data("World".utf8)), name: "second", fileName: "file.txt", contentType: "text/plain")
        let expected = [
            "----boundary--123",
            "Content-Disposition: form-data; name=\"first\"",
            "",
            "Hello",
            "----boundary--123",
            "Content-Disposition: form-data; name=\"second\"; filename=\"file.txt\"",
            "Content-Type: text/plain",
            "",
            "World",
            "----boundary--123--",
            "",
        ]
        #expect(try await Self.text(of: form) == expected.joined(separator: "\r\n"))
        #expect(form.contentType == "multipart/form-data; boundary=--boundary--123")
    }

    @Test("Encodes a file")
    func file() async throws {
        try await withTemporaryFile(Data("Hello".utf8), named: "a.txt") { url in
            var form = try MultipartFormData(boundary: Self.boundary)
            try form.append(file: url, name: "file")
            let expected = [
                "----boundary--123",
                "Content-Disposition: form-data; name=\"file\"; filename=\"a.txt\"",
                "Content-Type: text/plain",
                "",
                "Hello",
                "----boundary--123--",
                "",
            ]
            #expect(try await Self.text(of: form) == expected.joined(separator: "\r\n"))
        }
    }

    @Test(
        "Rejects an invalid file when it is appended, without changing the form",
        .shows("4.40"),
        arguments: ["https://example.com/a.txt", "data:text/plain,a", "file:///nowhere/at/all.txt", "file:///"]
    )
    func noFile(_ text: String) throws {
        let url = try #require(URL(string: text))
        var form = MultipartFormData()
        expectThrown(.invalidRequest) { try form.append(file: url, name: "file") }
        #expect(form.contentLength == "--\(form.boundary)--\r\n".utf8.count)
    }

    private static func text(of form: MultipartFormData) async throws -> String {
        let whole = try await MultipartFormDataTests.octets(of: form)
        let streamed = try await MultipartFormDataTests.octets(of: form, threshold: 0)
        #expect(whole == streamed)
        return String(decoding: whole, as: UTF8.self)
    }
}
