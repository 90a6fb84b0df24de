import Foundation
import Networking
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
