import Foundation
import TestSupport
import Testing

@testable import Networking

@Suite("Requests on the wire", .limitedConcurrency)
struct RequestBytesTests {
    private func wire(
        _ method: HTTPMethod,
        _ path: String = "/",
        headers: HTTPHeaders = [:],
        body: HTTPBody = .none
    ) async throws -> [String] {
        try await withPeer(answering: "HTTP/1.1 204 No Content\r\n\r\n") { peer in
            try await withCurl { transport in
                let request = HTTPRequest(method: method, url: peer.url(path), headers: headers, body: body)
                _ = try await transport.send(request)
            }
            let lines = try #require(peer.requests.first).components(separatedBy: "\r\n")
            return lines.map { $0.replacing("127.0.0.1:\(peer.port)", with: "HOST") }
        }
    }

    @Test("Sends a GET request with only the fields that the protocol needs", .shows("H19"))
    func plainGet() async throws {
        var lines = try await wire(.get, "/a/../b?x=%20y#part")
        lines.removeAll { $0.hasPrefix("Accept-Encoding: ") }
        #expect(lines == ["GET /a/../b?x=%20y HTTP/1.1", "Host: HOST", "Accept: */*", "", ""])
    }

    @Test("Keeps the order and repetition of the caller's fields, which replace the defaults")
    func callersFields() async throws {
        let headers = HTTPHeaders([
            .init(name: "X-B", value: "1"), .init(name: "X-A", value: " padded\t"), .init(name: "X-B", value: "2"),
            .init(name: "X-Empty", value: ""), .init(name: "X-Blank", value: "  "),
            .init(name: "Accept", value: "text/plain"),
            .init(name: "Host", value: "example.org"), .init(name: "X-Name", value: "caf\u{E9} \u{1F600}"),
            .init(name: "accept-encoding", value: "identity"),
        ])
        #expect(
            try await wire(.get, headers: headers) == [
                "GET / HTTP/1.1", "Host: example.org", "X-B: 1", "X-A: padded", "X-B: 2", "X-Empty:", "X-Blank:",
                "Accept: text/plain", "X-Name: caf\u{E9} \u{1F600}", "accept-encoding: identity", "", "",
            ]
        )
    }

    @Test(
        "Sends a body unchanged with its length, and without Expect or a default Content-Type",
        arguments: [1, 70_000, 2_000_000]
    )
    func bodyBytes(_ size: Int) async throws {
        let text =
            String(repeating: "\0\r\n" + String(repeating: "x", count: 9997), count: size / 10_000)
            + String(repeating: "y", count: size % 10_000)
        let lines = try await wire(.post, body: .data(Data(text.utf8)))
        let head = lines.prefix { !$0.isEmpty }
        #expect(head.first == "POST / HTTP/1.1")
        #expect(head.contains("Content-Length: \(size)"))
        #expect(!head.contains { $0.lowercased().hasPrefix("expect") || $0.lowercased().hasPrefix("content-type") })
        #expect(lines.dropFirst(head.count + 1).joined(separator: "\r\n") == text)
    }

    @Test("Sends a body with any method that allows one", arguments: [HTTPMethod.get, .delete, .put, .patch, .options])
    func bodyWithAnyMethod(_ method: HTTPMethod) async throws {
        let lines = try await wire(method, headers: ["Content-Type": "text/plain"], body: .data(Data("hi".utf8)))
        #expect(lines.first == "\(method) / HTTP/1.1")
        #expect(lines.contains("Content-Length: 2"))
        #expect(lines.contains("Content-Type: text/plain"))
        #expect(lines.last == "hi")
    }

    @Test("Sends Content-Length: 0 only with methods that anticipate content")
    func emptyBody() async throws {
        for method in [HTTPMethod.post, .put, .patch] {
            let lines = try await wire(method, headers: ["Content-Length": "0"])
            #expect(lines.first == "\(method) / HTTP/1.1")
            #expect(lines.filter { $0.lowercased().hasPrefix("content-") } == ["Content-Length: 0"], "\(method)")
        }
        for method in [HTTPMethod.get, .head, .delete, .options, .trace, HTTPMethod("PURGE")!] {
            let lines = try await wire(method)
            #expect(lines.first == "\(method) / HTTP/1.1")
            #expect(!lines.contains { $0.lowercased().hasPrefix("content-") }, "\(method)")
        }
    }

    @Test(
        "Sends nothing of a request that a peer could read differently",
        .shows("H1"),
        arguments: Refusal.all,
        TransportUnderTest.allCases
    )
    func refusals(_ refusal: Refusal, _ transport: TransportUnderTest) async throws {
        try await withPeer { connection in
            try connection.readRequest()
        } _: { peer in
            try await transport.run { transport in
                let error = await expectFailure(.invalidRequest) {
                    _ = try await transport.send(refusal.request(peer.port))
                }
                #expect(error?.message.contains("secret") == false)
            }
            #expect(peer.acceptedCount == 0)
        }
    }

    @Test(
        "Rejects a header too large for libcurl and sends the largest one allowed",
        .shows("Q15"),
        arguments: [false, true]
    )
    func largeHeader(isInURL: Bool) async throws {
        try await withPeer { connection in
            var octets: [UInt8] = []
            while octets.suffix(4) != [13, 10, 13, 10] { octets += try connection.read(1 << 16) }
            connection.peer.record("\(octets.count)")
            try connection.send("HTTP/1.1 204 No Content\r\n\r\n")
            try connection.waitForClose()
        } _: { peer in
            func request(_ size: Int) -> HTTPRequest {
                let text = String(repeating: "x", count: size - peer.url("/").absoluteString.utf8.count)
                if isInURL { return HTTPRequest(url: peer.url("/" + text)) }
                var headers = HTTPHeaders()
                for (index, start) in stride(from: 0, to: text.utf8.count, by: 300_000).enumerated() {
                    // A name of one digit, `: ` and the line's terminator.
                    headers["\(index)"] = String(text.dropFirst(start).prefix(300_000).dropLast(4))
                }
                return HTTPRequest(url: peer.url, headers: headers)
            }
            try await withCurl { transport in
                await expectFailure(.invalidRequest, mentioning: "900000") {
                    _ = try await transport.send(request(900_001))
                }
                #expect(peer.acceptedCount == 0)
                guard !CurlLibrary.waitsForever else {
                    return withKnownIssue { Issue.record("libcurl 8.5 doesn't send such a header.") }
                }
                let response = try await transport.send(request(900_000))
                #expect(response.status == 204)
            }
            guard !CurlLibrary.waitsForever else { return }
            let count = try #require(peer.requests.first.flatMap { Int($0) })
            #expect(count > 899_000)
        }
    }

    @Test("Rejects a header field that libcurl could omit because of its size", .shows("Q8"))
    func largeField() async throws {
        try await withCurl { connection in
            try connection.readRequest()
        } _: { transport, peer in
            let request = HTTPRequest(
                url: peer.url,
                headers: ["Authorization": String(repeating: "x", count: 300_000)]
            )
            await expectFailure(.invalidRequest, mentioning: "300000") { _ = try await transport.send(request) }
            #expect(peer.acceptedCount == 0)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var url = "http://127.0.0.1:PORT/"
        var method = HTTPMethod.get
        var headers: HTTPHeaders = [:]
        var body = HTTPBody.none

        func request(_ port: Int) -> HTTPRequest {
            let url = URL(string: url.replacingOccurrences(of: "PORT", with: "\(port)"))!
            return HTTPRequest(method: method, url: url, headers: headers, body: body)
        }

        static let all: [Self] = [
            Self(testDescription: "a line break in a name", headers: ["X\r\nEvil: 1": "2"]),
            Self(testDescription: "a space in a name", headers: ["X Y": "2"]),
            Self(testDescription: "an empty name", headers: ["": "2"]),
            Self(testDescription: "a line break in a value", headers: ["X": "1\r\nEvil: secret"]),
            Self(testDescription: "a NUL in a value", headers: ["X": "1\0secret"]),
            Self(testDescription: "another scheme", url: "ftp://127.0.0.1:PORT/"),
            Self(testDescription: "a file", url: "file:///etc/passwd"),
            Self(testDescription: "a relative URL", url: "/path"),
            Self(testDescription: "port 0", url: "http://127.0.0.1:0/"),
            Self(testDescription: "user information", url: "http://user:secret@127.0.0.1:PORT/"),
            Self(testDescription: "a user without a password", url: "http://secret@127.0.0.1:PORT/"),
            Self(testDescription: "CONNECT", method: .connect),
            Self(testDescription: "HEAD with a body", method: .head, body: .data(Data("x".utf8))),
            Self(testDescription: "TRACE with a body", method: .trace, body: .data(Data("x".utf8))),
            Self(
                testDescription: "another Content-Length",
                method: .post,
                headers: ["Content-Length": "100"],
                body: .data(Data("x".utf8))
            ),
            Self(testDescription: "Transfer-Encoding", method: .post, headers: ["transfer-encoding": "chunked"]),
            Self(testDescription: "two hosts", headers: ["Host": "a.example", "host": "b.example"]),
        ]
    }
}

@Suite("ResponseHeadReader", .computing)
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
        .shows("H4", "Q2", "RFC 9112"),
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

    @Test("Accepts a large header up to the limit", .shows("H5"))
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
