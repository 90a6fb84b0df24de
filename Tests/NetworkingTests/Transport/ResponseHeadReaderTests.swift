import Testing

@testable import Networking

@Suite("ResponseHeadReader")
struct ResponseHeadReaderTests {
    private func read(_ lines: [String]) throws -> ResponseHeadReader {
        var reader = ResponseHeadReader(maximumSize: 256 << 10)
        for line in lines { try reader.read(line: Array(line.utf8).span) }
        return reader
    }

    @Test("Reads the status and the fields of a header")
    func plain() throws {
        let reader = try read(["HTTP/2 200 \r\n", "a: 1\r\n", "B:\t two \r\n", "a:\r\n", "\r\n"])
        #expect(reader.isComplete)
        #expect(reader.status == 200)
        #expect(reader.version == "HTTP/2")
        #expect(
            reader.headers == [
                .init(name: "a", value: "1"), .init(name: "B", value: "two"), .init(name: "a", value: ""),
            ]
        )
    }

    @Test("Skips 1xx headers and keeps trailers separate")
    func interim() throws {
        let reader = try read([
            "HTTP/1.1 100 Continue\r\n", "x: 1\r\n", "\r\n", "HTTP/1.1 204 No Content\r\n", "y: 2\r\n", "\r\n",
            "z: 3\r\n", "content-length: 5\r\n", " folded\r\n", "no colon\r\n", "a b: c\r\n", "Z:\r\n",
            "HTTP/1.1 500 Not a status line: any more\r\n", "\r\n",
        ])
        #expect(reader.status == 204)
        #expect(reader.headers == [.init(name: "y", value: "2")])
        #expect(reader.trailers == [.init(name: "z", value: "3"), .init(name: "Z", value: "")])
    }

    @Test(
        "Rejects malformed lines",
        arguments: [
            ["HTTP/1.1\r\n"], ["HTTP/1.1 \r\n"], ["HTTP/1.1 20\r\n"], ["HTTP/1.1 20x OK\r\n"], ["HTTP/1.1 2000 OK\r\n"],
            ["HTTP/1.1 099 Low\r\n"], ["HTTP/\r\n"], ["name: value\r\n"], ["HTTP/1.1 200\r\n", ": value\r\n"],
            ["HTTP/1.1 200\r\n", "no colon\r\n"], ["HTTP/1.1 200\r\n", " folded\r\n"], [" folded\r\n"],
            ["HTTP/3.0 200 OK\r\n"], ["HTTP/3 200 \r\n"], ["HTTP/2.0 200 OK\r\n"], ["HTTP/1.9 200 OK\r\n"],
            ["HTTP/1.1 103 Early Hints\r\n", "\r\n", "HTTP/3.0 200 OK\r\n"],
        ]
    )
    func malformed(_ lines: [String]) {
        #expect(throws: NetworkError(.invalidResponse, "")) { try read(lines) }
    }

    @Test("Accepts a large header up to the limit")
    func size() throws {
        let line = "x: " + String(repeating: "v", count: 1019) + "\r\n"
        let start = ["HTTP/1.1 200\r\n"]
        #expect(try read(start + Array(repeating: line, count: 255)).headers.count == 255)
        #expect(throws: NetworkError(.invalidResponse, "")) { try read(start + Array(repeating: line, count: 256)) }
    }

    @Test("Doesn't take empty input for a header")
    func empty() throws {
        #expect(try !read([]).isComplete)
        #expect(try !read(["\r\n"]).isComplete)
        #expect(try !read([""]).isComplete)
    }
}
