import Foundation
import Networking
import Synchronization

/// A peer for the behaviors of ``ClientBehavior``. The path of a request decides the response.
struct BehaviorPeer: Sendable {
    /// An element for each response that never ends.
    let stalled = AsyncStream<Void>.makeStream()
    /// The entity tag, which changes with each validation.
    private let tag = EntityTag()

    func answer(_ connection: TCPPeer.Connection) throws {
        while true { try answerOnce(connection) }
    }

    private func answerOnce(_ connection: TCPPeer.Connection) throws {
        let head = try connection.readHead()
        let lines = head.components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count == 3 else { throw TCPPeer.Gone() }
        let fields = HTTPHeaders(
            lines.dropFirst().compactMap { line in
                line.firstIndex(of: ":").map {
                    HTTPHeaders.Field(
                        name: String(line[..<$0]),
                        value: line[$0...].dropFirst().trimmingCharacters(in: .whitespaces)
                    )
                }
            }
        )
        let body = BodyReader(connection: connection, fields: fields)
        let path = words[1].prefix { $0 != "?" }
        if let response = Self.raw[String(path)] {
            connection.peer.record(head)
            try connection.send(response)
            connection.finishSending()
            throw TCPPeer.Gone()
        }
        switch path {
        case "/echo": return try echo(body)
        case "/speak": return try speak(body)
        default: break
        }
        let request = head + String(decoding: try body.readAll(), as: UTF8.self)
        connection.peer.record(request)
        if path.hasPrefix("/stall") {
            let start = "HTTP/1.1 200 OK\r\nContent-Length: 2000\r\n\r\n" + String(repeating: "A", count: 1000)
            if path == "/stall/body" { try connection.send(start) }
            stalled.continuation.yield()
            try connection.waitForClose()
        }
        var response = response(to: path, request, fields)
        if words[0] == "HEAD", let end = response.range(of: "\r\n\r\n") { response.removeSubrange(end.upperBound...) }
        // Each Latin-1 character stands for a byte of coded content.
        try connection.send(response.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) })
    }

    /// Responses after which the connection is closed.
    private static let raw = [
        "/raw/no-http": "FOOBAR",
        "/raw/version-case": "Http/1.1 200 OK\r\nConnection: close\r\n\r\n",
        "/raw/no-reason": "HTTP/1.1 200\r\nConnection: close\r\n\r\n",
        "/raw/204": "HTTP/1.1 204 No Content\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n",
        "/raw/304": "HTTP/1.1 304 Not Modified\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n",
        "/raw/cut": "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\n1234",
        "/raw/no-length": "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n1234",
        "/raw/two-lengths": "HTTP/1.1 200 OK\r\nContent-Length: 10, 4\r\nConnection: close\r\n\r\n1234",
    ]

    /// “TEST” and a line feed.
    private static let coded: [(path: String, coding: String, octets: [UInt8])] = [
        (
            "/gzip", "gzip",
            [
                0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0x0B, 0x71, 0x0D, 0x0E, 0xE1, 2, 0, 0xBE, 0xD7, 0x83, 0xF7, 5, 0, 0,
                0,
            ]
        ),
        ("/deflate", "deflate", [0x78, 0x9C, 0x0B, 0x71, 0x0D, 0x0E, 0xE1, 2, 0, 4, 0x68, 1, 0x4B]),
        ("/br", "br", [0x0F, 2, 0x80, 0x54, 0x45, 0x53, 0x54, 0x0A, 3]),
    ]

    private func response(to path: Substring, _ request: String, _ fields: HTTPHeaders) -> String {
        if let (_, coding, octets) = Self.coded.first(where: { $0.path == path }),
            fields["Accept-Encoding"]?.contains(coding) == true
        {
            let text = octets.reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) }
            return Self.ok("Content-Encoding: \(coding)", text)
        }
        return switch path {
        case "/gzip", "/deflate", "/br", "/plain": Self.ok("", "TEST\n")
        case "/request": Self.ok("Content-Type: message/http", request)
        case "/length": Self.ok("", String(repeating: " ", count: 1000))
        case "/large": Self.ok("", String(repeating: "A", count: 1_000_000))
        case "/twice": Self.ok("X-Test: one\r\nX-Test: two")
        case "/moved/301": Self.redirect(301, "/request")
        case "/moved/308": Self.redirect(308, "/request")
        case "/loop/a": Self.redirect(301, "/loop/b")
        case "/loop/b": Self.redirect(301, "/loop/a")
        case "/404": "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        case "/999": "HTTP/1.1 999 Unknown\r\nContent-Length: 0\r\n\r\n"
        case "/cookie": Self.ok("Set-Cookie: foo=7; Path=/")
        case "/tag": tag.response(to: fields["If-None-Match"])
        case "/trailers":
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nD\r\nResponse body\r\n0\r\n"
                + "X-Trailer-One: first\r\nX-Trailer-Two: second\r\n\r\n"
        default: Self.ok("")
        }
    }

    private static func ok(_ fields: String, _ body: String = "") -> String {
        let length = "Content-Length: \(body.unicodeScalars.count)\r\n"
        return "HTTP/1.1 200 OK\r\n\(length)\(fields.isEmpty ? "" : fields + "\r\n")\r\n\(body)"
    }

    private static func redirect(_ status: Int, _ target: String) -> String {
        "HTTP/1.1 \(status) Moved\r\nLocation: \(target)\r\nContent-Length: 0\r\n\r\n"
    }

    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// Sends each part of the request's body back as it arrives.
    private func echo(_ body: BodyReader) throws {
        guard body.isChunked else {
            let octets = try body.readAll()
            return try body.connection.send(
                Array("HTTP/1.1 200 OK\r\nContent-Length: \(octets.count)\r\n\r\n".utf8) + octets
            )
        }
        try body.connection.send(Self.chunked)
        while let part = try body.next() { try body.connection.send(Self.chunk(part)) }
        try body.connection.send("0\r\n\r\n")
    }

    /// Sends parts, each after the client has sent the previous one back.
    private func speak(_ body: BodyReader) throws {
        try body.connection.send(Self.chunked)
        for _ in 0..<1000 {
            try body.connection.send(Self.chunk([UInt8(ascii: "A")]))
            guard try body.next() == [UInt8(ascii: "A")] else { throw TCPPeer.Gone() }
        }
        try body.connection.send("0\r\n\r\n")
        guard try body.next() == nil else { throw TCPPeer.Gone() }
    }

    private static func chunk(_ octets: [UInt8]) -> [UInt8] {
        Array("\(String(octets.count, radix: 16))\r\n".utf8) + octets + Array("\r\n".utf8)
    }
}

/// The body of a request, with a length or in chunks.
private struct BodyReader {
    let connection: TCPPeer.Connection
    let fields: HTTPHeaders

    var isChunked: Bool { fields["Transfer-Encoding"] == "chunked" }

    func readAll() throws -> [UInt8] {
        guard isChunked else {
            return try fields["Content-Length"].flatMap { Int($0) }.map { try connection.readExactly($0) } ?? []
        }
        var octets: [UInt8] = []
        while let part = try next() { octets += part }
        return octets
    }

    /// Returns the next chunk, or `nil` at the end.
    func next() throws -> [UInt8]? {
        guard let size = Int(try connection.readLine(), radix: 16) else { throw TCPPeer.Gone() }
        let octets = try connection.readExactly(size)
        guard try connection.readLine().isEmpty else { throw TCPPeer.Gone() }
        return size == 0 ? nil : octets
    }
}

private final class EntityTag: Sendable {
    private let number = Mutex(0)

    func response(to condition: String?) -> String {
        number.withLock { number in
            let tag = "ETag: \"\(number)\"\r\n"
            guard condition == "\"\(number)\"" else {
                let body = String(number)
                return "HTTP/1.1 200 OK\r\n\(tag)X-Cached: no\r\nContent-Length: \(body.count)\r\n\r\n\(body)"
            }
            number += 1
            return "HTTP/1.1 304 Not Modified\r\n\(tag)X-Cached: yes\r\n\r\n"
        }
    }
}
