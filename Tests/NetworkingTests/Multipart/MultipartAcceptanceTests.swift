import Foundation
import Networking
import Testing

/// The checks of STRV's multipart tests, with the delimiters of RFC 2046.
@Suite("Multipart acceptance")
struct MultipartAcceptanceTests {
    /// A boundary that begins with hyphens, which follow those of the delimiter.
    private static let boundary = "--boundary--123"

    @Test("Encodes two parts in memory")
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
        let folder = FileManager.default.temporaryDirectory.appending(path: "form-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appending(path: "a.txt")
        try Data("Hello".utf8).write(to: url)
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

    @Test(
        "Rejects an invalid file when it is appended, without changing the form",
        arguments: ["https://example.com/a.txt", "data:text/plain,a", "file:///nowhere/at/all.txt", "file:///"]
    )
    func noFile(_ text: String) throws {
        let url = try #require(URL(string: text))
        var form = MultipartFormData()
        let error = #expect(throws: NetworkError.self) { try form.append(file: url, name: "file") }
        #expect(error?.code == .invalidRequest)
        #expect(form.contentLength == "--\(form.boundary)--\r\n".utf8.count)
    }

    private static func text(of form: MultipartFormData) async throws -> String {
        let whole = try await MultipartFormDataTests.octets(of: form)
        let streamed = try await MultipartFormDataTests.octets(of: form, threshold: 0)
        #expect(whole == streamed)
        return String(decoding: whole, as: UTF8.self)
    }
}
