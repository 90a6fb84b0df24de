import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import TestSupport
import Testing

@testable import Networking

/// Tests that reading a redirect's body is limited in bytes and time.
///
/// The operation's deadline is an hour, so a client that waits for the deadline exceeds the suite's
/// time limit.
@Suite("Bodies of redirects", .limitedConcurrency)
struct RedirectBodyTests {
    enum Body: String, CaseIterable {
        case announced, endless, huge, dripping, compressed

        func send(on connection: TCPPeer.Connection) throws {
            switch self {
            case .announced: try connection.send("Content-Length: 5\r\n\r\n")
            case .huge: try connection.send("Content-Length: 1000000000000\r\n\r\nx")
            case .dripping:
                try connection.send("Transfer-Encoding: chunked\r\n\r\n")
                while true {
                    try connection.send("1\r\nx\r\n")
                    usleep(2000)
                }
            case .endless, .compressed:
                if self == .compressed { try connection.send("Content-Encoding: gzip\r\n") }
                try connection.send("Transfer-Encoding: chunked\r\n\r\n")
                while true { try connection.send("1000\r\n" + String(repeating: "x", count: 4096) + "\r\n") }
            }
        }
    }

    /// A server that redirects with a body of one kind, and responds normally to everything else.
    private func withServer(_ body: Body, _ test: (TCPPeer, NetworkClient) async throws -> Void) async throws {
        try await withPeer { connection in
            while true {
                guard try connection.readRequest().hasPrefix("GET /from") else {
                    try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
                    continue
                }
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /there\r\n")
                try body.send(on: connection)
                try connection.waitForClose()
            }
        } _: { peer in
            try await withCurl { transport in
                var options = NetworkClient.Options(timeout: .seconds(3600))
                options.maximumBodySize = .max
                try await test(peer, NetworkClient(transport: transport, options: options))
            }
        }
    }

    private func request(_ url: URL) -> URLRequest { URLRequest(url: url, timeoutInterval: 3600) }

    @Test("Follows a redirect regardless of its body", arguments: Body.allCases)
    func followed(_ body: Body) async throws {
        try await withServer(body) { peer, client in
            #expect(try await client.makeRequest(request(peer.url("/from"))) == Data("there".utf8))
            let stream = try await client.stream(Resource { request(peer.url("/from")) })
            #expect(try await stream.stream.collect(upTo: 10) == Data("there".utf8))
        }
    }

    @Test("A policy can't deliver a redirect whose body was cancelled", arguments: [Body.announced, .endless])
    func delivered(_ body: Body) async throws {
        try await withServer(body) { peer, client in
            let error = await failure {
                _ = try await client.response(
                    for: request(peer.url("/from")),
                    options: RequestOptions(redirects: .custom { _ in .deliver })
                )
            }
            #expect(error?.code == .bodyTooLarge)
        }
    }

    @Test("The policy never delivers a redirect with its whole body")
    func never() async throws {
        let body = String(repeating: "x", count: 300 << 10)
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 302 Found\r\nLocation: /there\r\n")
            try connection.send("Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let client = NetworkClient(transport: transport)
                let error = await #expect(throws: ServerError.self) {
                    _ = try await client.response(
                        for: request(peer.url),
                        options: RequestOptions(redirects: .never)
                    )
                }
                #expect(error?.httpResponse?.body.count == body.utf8.count)
            }
        }
    }

    @Test("Reads a short body to reuse the connection")
    func short() async throws {
        try await withPeer { connection in
            while try connection.readRequest().hasPrefix("GET /from") {
                try connection.send("HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 5\r\n\r\nmoved")
            }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nthere")
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let client = NetworkClient(transport: transport)
                let body = try await client.makeRequest(request(peer.url("/from")))
                #expect(body == Data("there".utf8))
            }
            #expect(peer.acceptedCount == 1)
        }
    }
}
