import Foundation
import Networking
import Testing

/// What our forms say to other parsers: Python's `email`, and Werkzeug's behind Flask.
@Suite("Forms against Python's email and Flask", .enabled(if: Interop.isPrepared, Interop.hint))
struct FormInteropTests {
    private struct Part: Codable, Hashable, Sendable {
        var name: String
        var filename: String?
        var type: String?
        var content: String
    }

    private struct Answer: Codable, Sendable {
        let email: [Part]
        let werkzeug: [Part]
    }

    private static func hexadecimal(_ data: Data) -> String {
        data.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// What a server sees of a name: quotation marks, backslashes and control characters percent-encoded.
    private static func seen(_ name: String) -> String {
        name.unicodeScalars.map { scalar in
            guard "\"\\".unicodeScalars.contains(scalar) || scalar.value < 0x20 || scalar.value == 0x7F else {
                return String(scalar)
            }
            return "%" + (scalar.value < 16 ? "0" : "") + String(scalar.value, radix: 16, uppercase: true)
        }.joined()
    }

    private func answer(_ form: MultipartFormData) async throws -> Answer {
        let address = try Interop.required("INTEROP_FORMS") + (form.count == 0 ? "?empty=1" : "")
        let url = try #require(URL(string: address))
        return try await NetworkClient().upload(.multipart(form), to: url, decoding: .json(Answer.self)).value
    }

    private static let names: [String] =
        (0...0x7F).map { "a\(Character(Unicode.Scalar(UInt8($0))))b" } + [
            " ", "\\", "\"", "a\\", "\\\"", "\\\\", "a\"; filename=\"evil.sh", "a\r\nX-Evil: 1", "naïve", "日本語", "👩🏽‍💻",
            "e\u{301}",
            "\u{85}\u{2028}\u{FEFF}\u{10FFFF}", "%", "%25", "../../etc/passwd", "C:\\dir\\file.txt", "=?utf-8?Q?x?=",
            "name*",
        ]

    @Test("every special character in names and file names comes back, as browsers send it")
    func names() async throws {
        for name in Self.names {
            var form = MultipartFormData()
            form.append("value of \(name)", name: name)
            try form.append(Data(name.utf8), name: name, fileName: "f" + name, contentType: "text/x-test")
            let parts = try await answer(form)
            let seen = Self.seen(name)
            let expected = [
                Part(name: seen, content: Self.hexadecimal(Data("value of \(name)".utf8))),
                Part(name: seen, filename: "f" + seen, type: "text/x-test", content: Self.hexadecimal(Data(name.utf8))),
            ]
            #expect(parts.email == expected, "\(name.debugDescription)")
            // Werkzeug undoes what browsers do to a quotation mark, and to nothing else.
            let undone = expected.map { part in
                var part = part
                part.name = part.name.replacing("%22", with: "\"")
                part.filename = part.filename?.replacing("%22", with: "\"")
                return part
            }
            #expect(parts.werkzeug == undone, "\(name.debugDescription)")
        }
    }

    @Test("no part, one and many, empty ones and large ones come back", arguments: [0, 1, 60])
    func matrix(count: Int) async throws {
        let large = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ $0 >> 8) })
        let file = FileManager.default.temporaryDirectory.appending(path: "form-\(UUID().uuidString).pdf")
        try large.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        var form = MultipartFormData()
        var expected: [Part] = []
        for index in 0..<count {
            let name = "part \(index)"
            switch index % 4 {
            case 0:
                try form.append(file: file, name: name, fileName: "a.pdf")
                let content = Self.hexadecimal(large)
                expected.append(Part(name: name, filename: "a.pdf", type: "application/pdf", content: content))
            case 1:
                form.append("", name: name)
                expected.append(Part(name: name, content: ""))
            case 2:
                try form.append(Data(), name: name, fileName: "empty")
                expected.append(Part(name: name, filename: "empty", type: "application/octet-stream", content: ""))
            default:
                form.append("line\r\nline\n\r\n--form\r--\n", name: name)
                let content = Self.hexadecimal(Data("line\r\nline\n\r\n--form\r--\n".utf8))
                expected.append(Part(name: name, content: content))
            }
        }
        let parts = try await answer(form)
        #expect(parts.email == expected)
        #expect(Set(parts.werkzeug) == Set(expected) && parts.werkzeug.count == expected.count)
    }
}
