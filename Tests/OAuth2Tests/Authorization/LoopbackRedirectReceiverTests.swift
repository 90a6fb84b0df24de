import Foundation
import FoundationNetworking
import Glibc
import MockNetworking
import Networking
import SystemIO
import TestSupport
import Testing

@testable import OAuth2

/// Requests from browsers and other programs to a real socket on 127.0.0.1.
@Suite("Loopback redirect receiver", .limitedConcurrency, .tags(.concurrency))
struct LoopbackRedirectReceiverTests {
    /// A timeout that is longer than a test waits for its turn.
    private static let patience = Duration.seconds(300)

    @Test("Receives a browser's response and shows one page", .shows("RFC 8252 §7.3"))
    func answer() async throws {
        let receiver = try LoopbackRedirectReceiver(patience: Self.patience)
        #expect(receiver.redirectURI.wholeMatch(of: /http:\/\/127\.0\.0\.1:[1-9][0-9]+\/callback/) != nil)
        let request = try request(receiver)
        async let redirect = receiver.redirect(for: request)
        let answer = try await visit(receiver, "?code=c%2B1&state=\(request.state)")
        #expect(answer.status == 200)
        #expect(answer.body.contains("Thank you"))
        #expect(answer.headers["Content-Type"] == "text/html; charset=utf-8")
        #expect(answer.headers["Cache-Control"] == "no-store")
        #expect(answer.headers["Referrer-Policy"] == "no-referrer")
        #expect(answer.headers["Content-Security-Policy"]?.contains("default-src 'none'") == true)
        let url = try await redirect
        let grant = try request.grant(from: url, of: AuthorizationRequestTests.server)
        #expect(try grant.parameters(at: Date())?.first { $0.name == "code" }?.value == "c+1")
        // The receiver has stopped listening.
        await #expect(throws: NetworkError.self) { try await visit(receiver, "?code=d&state=\(request.state)") }
        await #expect(throws: OAuth2Error(.receiverFailed, "")) { try await receiver.redirect(for: request) }
    }

    @Test("Shows a different page for an error, and custom pages")
    func pages() async throws {
        let pages = LoopbackRedirectReceiver.Pages(authorized: "<p>yes", refused: "<p>no")
        for (query, body) in [("code=c", "<p>yes"), ("error=access_denied", "<p>no")] {
            let receiver = try LoopbackRedirectReceiver(path: "/", pages: pages, patience: Self.patience)
            let request = try request(receiver)
            async let redirect = receiver.redirect(for: request)
            #expect(try await visit(receiver, "?\(query)&state=\(request.state)").body == body)
            _ = try await redirect
        }
    }

    @Test(
        "Rejects other states, paths, methods, hosts and malformed requests without ending the wait",
        .shows("G13", "RFC 8252 §7.3", "FAPI 2.0 §5.3.3.1 (4)")
    )
    func foreign() async throws {
        let receiver = try LoopbackRedirectReceiver(patience: Self.patience)
        let request = try request(receiver)
        async let redirect = receiver.redirect(for: request)
        let state = request.state
        let host = String(receiver.redirectURI.dropFirst(7).prefix { $0 != "/" })
        let port = host.split(separator: ":")[1]
        let requests: [(String, Int)] = [
            ("GET /callback?code=evil&state=other HTTP/1.1\r\nHost: \(host)\r\n\r\n", 400),
            ("GET /callback?code=evil HTTP/1.1\r\nHost: \(host)\r\n\r\n", 400),
            ("GET /callback?code=evil&state=\(state)&state=\(state) HTTP/1.1\r\nHost: \(host)\r\n\r\n", 400),
            ("GET /favicon.ico HTTP/1.1\r\nHost: \(host)\r\n\r\n", 404),
            ("GET /callback/?code=evil&state=\(state) HTTP/1.1\r\nHost: \(host)\r\n\r\n", 404),
            ("GET /%63allback?code=evil&state=\(state) HTTP/1.1\r\nHost: \(host)\r\n\r\n", 404),
            ("POST /callback?code=evil&state=\(state) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 0\r\n\r\n", 405),
            ("HEAD /callback?code=evil&state=\(state) HTTP/1.1\r\nHost: \(host)\r\n\r\n", 405),
            // A web page could reach the receiver with another host name (DNS rebinding).
            ("GET /callback?code=evil&state=\(state) HTTP/1.1\r\nHost: evil.example:\(port)\r\n\r\n", 400),
            ("GET /callback?code=evil&state=\(state) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n", 400),
            ("GET /callback?code=evil&state=\(state) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 400),
            ("GET /callback?code=evil&state=\(state) HTTP/1.1\r\nHost: \(host)\r\nHost: \(host)\r\n\r\n", 400),
            ("GET /callback?code=evil&state=\(state) HTTP/1.1\r\n\r\n", 400),
            ("GET http://\(host)/callback?code=evil&state=\(state) HTTP/1.1\r\nHost: \(host)\r\n\r\n", 400),
            ("GET /callback?code=%FF&state=\(state) HTTP/1.1\r\nHost: \(host)\r\n\r\n", 400),
            ("GET /callback?code=a\0b HTTP/1.1\r\nHost: \(host)\r\n\r\n", 400), ("hello\r\n\r\n", 400),
            ("GET /callback HTTP/2.0\r\nHost: \(host)\r\n\r\n", 400), ("\r\n\r\n", 400),
            ("GET /callback?code=evil&state=\(state) HTTP/1.1\r\nHost: \(host)\r\nContent-Length: 5\r\n\r\nhello", 400),
            (
                "GET /callback?code=evil&state=\(state) HTTP/1.1\r\nHost: \(host)\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                400
            ),
            ("GET /callback?code=\(String(repeating: "a", count: 20_000)) HTTP/1.1\r\nHost: \(host)\r\n\r\n", 431),
            (String(repeating: "a", count: 20_000), 431),
        ]
        for (text, status) in requests {
            let answer = try RawVisitor(receiver).exchange(text)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(text.prefix(90)): \(answer.prefix(40))")
            #expect(!answer.contains("evil"))
        }
        _ = try await visit(receiver, "?code=good&state=\(state)")
        #expect(try await redirect.query?.hasPrefix("code=good") == true)
    }

    @Test("Idle and slow connections don't delay the response")
    func slow() async throws {
        let receiver = try LoopbackRedirectReceiver(patience: Self.patience)
        let request = try request(receiver)
        async let redirect = receiver.redirect(for: request)
        let silent = try (1...40).map { _ in try RawVisitor(receiver) }
        let slow = try RawVisitor(receiver)
        slow.send("GET /callback?code=c&st")
        let answer = try await visit(receiver, "?code=c&state=\(request.state)")
        #expect(answer.status == 200)
        _ = try await redirect
        withExtendedLifetime(silent) {}
    }

    @Test("Keeps a response that hasn't been read, despite many idle connections", .shows("S14"))
    func crowd() async throws {
        let receiver = try LoopbackRedirectReceiver(patience: Self.patience)
        let request = try request(receiver)
        let host = receiver.redirectURI.dropFirst(7).prefix { $0 != "/" }
        let browser = try RawVisitor(receiver)
        browser.send("GET /callback?code=c&state=\(request.state) HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        let silent = try (1...200).map { _ in try RawVisitor(receiver) }
        // When a later connection gets a response, the receiver has accepted all of these.
        #expect(try RawVisitor(receiver).exchange("hello\r\n\r\n").hasPrefix("HTTP/1.1 400 "))
        #expect(try await receiver.redirect(for: request).query == "code=c&state=\(request.state)")
        #expect(browser.receive().hasPrefix("HTTP/1.1 200 "))
        withExtendedLifetime(silent) {}
    }

    @Test("Queues 40 connections without refusing one", .shows("S14"))
    func backlog() throws {
        let listener = try Socket.listening()
        var sockets: [Int32] = []
        defer { for socket in sockets { close(socket) } }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = try listener.port().bigEndian
        address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
        for _ in 1...40 {
            let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0)
            sockets.append(socket)
            _ = unsafe withUnsafePointer(to: &address) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        var accepted = 0
        while let _ = try listener.accept() { accepted += 1 }
        #expect(accepted == 40)
    }

    @Test("Closes a connection that takes too long")
    func endless() throws {
        let receiver = try LoopbackRedirectReceiver(patience: .milliseconds(10))
        let visitor = try RawVisitor(receiver)
        visitor.send("GET /callback?code=c&st")
        #expect(visitor.receive().isEmpty)
        withExtendedLifetime(receiver) {}
    }

    @Test("Assembles a request from several pieces", .shows("G13"))
    func pieces() async throws {
        let receiver = try LoopbackRedirectReceiver(patience: Self.patience)
        let request = try request(receiver)
        let host = receiver.redirectURI.dropFirst(7).prefix { $0 != "/" }
        let visitor = try RawVisitor(receiver)
        for piece in ["G", "ET /callback?code=c&st", "ate=\(request.state) HTTP/1.1\r\nHo", "st: \(host)\r\n\r", "\n"] {
            visitor.send(piece)
            // When a later connection gets a response, the receiver has read the piece.
            if piece != "\n" { #expect(try RawVisitor(receiver).exchange("hello\r\n\r\n").hasPrefix("HTTP/1.1 400 ")) }
        }
        #expect(try await receiver.redirect(for: request).query == "code=c&state=\(request.state)")
        #expect(visitor.receive().hasPrefix("HTTP/1.1 200 "))
    }

    @Test("The timeout error has the number of responses with another state")
    func timeout() async throws {
        let time = ManualTime()
        let receiver = try LoopbackRedirectReceiver(patience: Self.patience)
        let request = try request(receiver)
        let waiting = Task {
            try await receiver.redirect(for: request, within: .seconds(60), timeSource: time.timeSource)
        }
        try await time.waitForSleepers(count: 1)
        #expect(try await visit(receiver, "?code=c&state=other").status == 400)
        time.advance(by: .seconds(60))
        let error = await failure { try await waiting.value }
        #expect(error?.code == .authorizationExpired)
        #expect(error?.message.contains("rejected responses with another state: 1,") == true)
    }

    @Test("Stops waiting when cancelled or stopped")
    func cancellation() async throws {
        let time = ManualTime()
        let receiver = try LoopbackRedirectReceiver(patience: Self.patience)
        let request = try request(receiver)
        let waiting = Task { try await receiver.redirect(for: request, timeSource: time.timeSource) }
        try await time.waitForSleepers(count: 1)
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let stopped = try LoopbackRedirectReceiver(patience: Self.patience)
        stopped.stop()
        await #expect(throws: OAuth2Error(.receiverFailed, "")) {
            try await stopped.redirect(for: self.request(stopped))
        }
    }

    @Test("Listens on a fixed port again at once, but not while another receiver listens on it")
    func fixedPort() async throws {
        let unused = try LoopbackRedirectReceiver(patience: Self.patience)
        let port = try port(unused)
        unused.stop()
        for _ in 1...2 {
            let receiver = try LoopbackRedirectReceiver(port: port, patience: Self.patience)
            #expect(throws: OAuth2Error(.receiverFailed, "")) { try LoopbackRedirectReceiver(port: port) }
            let request = try request(receiver)
            async let redirect = receiver.redirect(for: request)
            // The receiver ends the connection, whose end the system remembers for a minute.
            #expect(try await visit(receiver, "?code=c&state=\(request.state)").status == 200)
            #expect(try await redirect.port == Int(port))
        }
        _ = try LoopbackRedirectReceiver(port: port, patience: Self.patience)
    }

    @Test("Rejects a port in use, an invalid path and another receiver's request")
    func misuse() async throws {
        let receiver = try LoopbackRedirectReceiver(patience: Self.patience)
        #expect(throws: OAuth2Error(.receiverFailed, "")) { try LoopbackRedirectReceiver(port: port(receiver)) }
        for path in ["callback", "", "/a b", "/a?b", "/a#b", "/a\r\nb", "/" + String(repeating: "a", count: 2_000)] {
            #expect(throws: OAuth2Error(.malformedRequest, "")) { try LoopbackRedirectReceiver(path: path) }
        }
        let other = try AuthorizationRequest(clientID: "a", redirectURI: "http://127.0.0.1:1/callback")
        await #expect(throws: OAuth2Error(.malformedRequest, "")) { try await receiver.redirect(for: other) }
    }

    // MARK: Clients

    private func port(_ receiver: LoopbackRedirectReceiver) throws -> UInt16 {
        try #require(
            receiver.redirectURI.split(separator: ":").last?.split(separator: "/").first.flatMap { UInt16($0) }
        )
    }

    private func request(_ receiver: LoopbackRedirectReceiver) throws -> AuthorizationRequest {
        try AuthorizationRequest(clientID: "cli", redirectURI: receiver.redirectURI)
    }

    private func visit(
        _ receiver: LoopbackRedirectReceiver,
        _ query: String
    ) async throws -> (status: Int, headers: HTTPHeaders, body: String) {
        let url = try #require(URL(string: receiver.redirectURI + query))
        let transport = try CurlTransport(configuration: .init(proxy: .none))
        let limits = HTTPTransportLimits(deadline: .now + .seconds(120))
        let result = await Task { try await transport.send(HTTPRequest(url: url), limits: limits) }.result
        await transport.close()
        let response = try result.get()
        return (response.status, response.headers, String(decoding: response.body, as: UTF8.self))
    }
}

/// A connection that sends raw text.
private final class RawVisitor {
    private let number: Int32

    init(_ receiver: LoopbackRedirectReceiver) throws {
        let port = receiver.redirectURI.split(separator: ":").last?.split(separator: "/").first.flatMap { UInt16($0) }
        number = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = try #require(port).bigEndian
        address.sin_addr = in_addr(s_addr: INADDR_LOOPBACK.bigEndian)
        let connected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(connected == 0)
    }

    deinit { _ = close(number) }

    func send(_ text: String) {
        let octets = Array(text.utf8)
        _ = unsafe octets.withUnsafeBytes { unsafe Glibc.send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Reads until the receiver closes the connection.
    func receive() -> String {
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(number, $0.baseAddress, $0.count, 0) }
            guard count > 0 else { return String(decoding: text, as: UTF8.self) }
            text += buffer.prefix(count)
        }
    }

    func exchange(_ text: String) -> String {
        send(text)
        return receive()
    }
}
