import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of redirects with exact wire formats, with each transport.
@Suite("Redirects on raw sockets", .limitedConcurrency)
struct RedirectWireTests {
    private typealias Engine = LoopbackClientTests.Engine

    enum Body: CaseIterable {
        case data, file, stream, chunked

        static let size = 1 << 20

        /// Returns a body, and the file that contains it.
        func make() throws -> (HTTPBody, URL?) {
            let part = Data(repeating: 7, count: Self.size / 16)
            let parts: @Sendable () -> AsyncStream<Data> = {
                AsyncStream { continuation in
                    for _ in 0..<16 { continuation.yield(part) }
                    continuation.finish()
                }
            }
            switch self {
            case .data: return (.data(Data(repeating: 7, count: Self.size)), nil)
            case .stream: return (.stream(length: Self.size, parts), nil)
            case .chunked: return (.stream(parts), nil)
            case .file:
                let file = FileManager.default.temporaryDirectory.appending(path: "redirect-\(UUID())")
                try Data(repeating: 7, count: Self.size).write(to: file)
                return (try .file(file), file)
            }
        }
    }

    /// Reads only the header of a request.
    private static func readHeader(_ connection: TCPPeer.Connection) throws -> String {
        var octets: [UInt8] = []
        while octets.suffix(4) != Array("\r\n\r\n".utf8)[...] { octets += try connection.read(1) }
        return String(decoding: octets, as: UTF8.self)
    }

    @Test(
        "Sends the whole body to the target if a server redirects before reading it",
        arguments: Engine.allCases,
        Body.allCases
    )
    private func early(_ engine: Engine, _ body: Body) async throws {
        try await withLoopbackServer { there async throws in
            there.fallback { .text("\($0.body.count)") }
            let location = there.url(for: "/there").absoluteString
            try await withPeer { connection in
                _ = try Self.readHeader(connection)
                try connection.send("HTTP/1.1 307 There\r\nLocation: \(location)\r\nContent-Length: 0\r\n")
                try connection.send("Connection: close\r\n\r\n")
                connection.finishSending()
                try connection.waitForClose()
            } _: { peer in
                let (body, file) = try body.make()
                defer { if let file { try? FileManager.default.removeItem(at: file) } }
                var request = URLRequest(url: peer.url)
                request.httpMethod = "PUT"
                let response = try await engine.client().response(for: request, options: RequestOptions(body: body))
                #expect(response.body == Data("\(Body.size)".utf8))
                #expect(response.redirects.map(\.status) == [307])
                #expect(there.requestCount == 1)
            }
        }
    }

    @Test(
        "Parses a Location in unusual spellings",
        arguments: Engine.allCases,
        ["Location: /there", "LOCATION:   /there  ", "location: \t/there \t", "Location: HTTP://127.0.0.1:PORT/there"]
    )
    private func spellings(_ engine: Engine, _ field: String) async throws {
        try await withPeer { connection in
            while true {
                let header = try connection.readRequest()
                let field = field.replacing("PORT", with: "\(connection.peer.port)")
                try connection.send(
                    header.hasPrefix("GET / ")
                        ? "HTTP/1.1 302 Found\r\n\(field)\r\nContent-Length: 0\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere"
                )
            }
        } _: { peer in
            let response = try await engine.client().response(for: URLRequest(url: peer.url))
            #expect(response.body == Data("there".utf8))
            #expect(response.url == peer.url("/there"))
            #expect(peer.requests.last?.hasPrefix("GET /there HTTP/1.1\r\n") == true)
        }
    }

    @Test("Follows a redirect of a HEAD that announces a body", arguments: Engine.allCases)
    private func head(_ engine: Engine) async throws {
        try await withPeer { connection in
            while true {
                let isFirst = try connection.readRequest().hasPrefix("HEAD / ")
                try connection.send(
                    isFirst
                        ? "HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 1000\r\n\r\n"
                        : "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n"
                )
            }
        } _: { peer in
            var request = URLRequest(url: peer.url)
            request.httpMethod = "HEAD"
            let stream = try await engine.client().stream(request)
            #expect(stream.headers["Content-Length"] == "7")
            #expect(try await stream.stream.collect(upTo: 10).isEmpty)
            #expect(peer.requests.map { $0.prefix(11) } == ["HEAD / HTTP", "HEAD /there"])
        }
    }
}
