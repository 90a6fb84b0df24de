import COpenSSL
import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of TLS with an independent client.
@Suite(.limitedConcurrency) struct LoopbackTLSTests {
    private typealias Options = RawTLSConnection.Options
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    private let authority: MockCertificateAuthority

    init() throws {
        authority = try MockCertificateAuthority()
    }

    private func configuration(
        _ change: (inout LoopbackServer.TLS) throws -> Void = { _ in }
    ) throws -> LoopbackServer.Configuration {
        var tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        try change(&tls)
        var configuration = LoopbackServer.Configuration()
        configuration.tls = tls
        return configuration
    }

    @Test("Serves requests over TLS, and records the negotiated parameters", .shows("RFC 6066 §3, RFC 7301"))
    func requests() async throws {
        try await withLoopbackServer(configuration: configuration()) { server in
            #expect(server.baseURL.absoluteString == "https://127.0.0.1:\(server.port)")
            #expect(server.url(for: "/a?b", host: "localhost").absoluteString == "https://localhost:\(server.port)/a?b")
            server.on(.get, "/", .text("hello"))
            server.on(.post, "/") { .text("\($0.body.count)") }
            let options = Options(roots: [authority], host: "localhost")
            let name = try await withTLS(server, options) { client in
                try client.send(Self.get)
                #expect(try client.receiveResponse().body == "hello")
                try client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc")
                #expect(try client.receiveResponse().body == "3")
                return client.applicationProtocol
            }
            #expect(name == "http/1.1")
            let record = try #require(server.connections.first)
            #expect(server.connections.count == 1)
            #expect(record.number == 1)
            #expect(record.isHandshakeFinished)
            #expect(record.handshakeFailure == nil)
            #expect(record.tlsVersion == .tls13)
            #expect(record.cipherSuite?.hasPrefix("TLS_") == true)
            #expect(record.serverName == "localhost")
            #expect(record.applicationProtocol == "http/1.1")
            #expect(!record.isResumed)
            #expect(record.clientCertificateSubject == nil)
            #expect(record.receivedOctetCount == Self.get.utf8.count + 50)
            #expect(server.requests.map(\.connection) == [1, 1])
        }
    }

    @Test("Records a connection without TLS, without a handshake")
    func plain() async throws {
        try await withLoopbackServer { server in
            server.on(.get, "/", .text("x"))
            _ = try await rawExchange(server.port, Self.get)
            try await server.waitForOpenConnections(atMost: 0)
            let record = try #require(server.connections.first)
            #expect(!record.isHandshakeFinished)
            #expect(record.handshakeFailure == nil)
            #expect(!record.isOpen)
            #expect(record.receivedOctetCount == Self.get.utf8.count)
            server.clearRecord()
            #expect(server.connections.isEmpty)
        }
    }

    @Test("Doesn't record connections if recording is turned off")
    func unrecorded() async throws {
        var configuration = try configuration()
        configuration.recordsConnections = false
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.get, "/", .text("x"))
            _ = try await withTLS(server, Options(roots: [authority])) { client in
                try client.send(Self.get)
                return try client.receiveResponse().status
            }
            #expect(server.connections.isEmpty)
            #expect(server.acceptedConnectionCount == 1)
        }
    }

    @Test(
        "Uses the configured TLS versions",
        arguments: [
            (LoopbackServer.TLS.Version.insecureTLS11, TLS1_1_VERSION), (.tls12, TLS1_2_VERSION),
            (.tls13, TLS1_3_VERSION),
        ]
    )
    func versions(_ version: LoopbackServer.TLS.Version, _ number: Int32) async throws {
        let configuration = try configuration {
            $0.minimumVersion = version
            $0.maximumVersion = version
        }
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.get, "/", .text("x"))
            let body = try await withTLS(server, Options(roots: [authority])) { client in
                try client.send(Self.get)
                return try client.receiveResponse().body
            }
            #expect(body == "x")
            #expect(server.connections[0].tlsVersion == version)
            for other in [TLS1_1_VERSION, TLS1_2_VERSION, TLS1_3_VERSION] where other != number {
                let options = Options(roots: [authority], minimumVersion: other, maximumVersion: other)
                await #expect(throws: RawTLSConnection.Failure.self) {
                    try await withTLS(server, options) { try $0.handshake() }
                }
            }
            try await server.waitForOpenConnections(atMost: 0)
            for record in server.connections.dropFirst() {
                #expect(!record.isHandshakeFinished)
                #expect(record.handshakeFailure?.contains("The TLS handshake failed") == true)
                #expect(record.receivedOctetCount == 0)
            }
        }
    }

    @Test("Accepts a client without ALPN", .shows("RFC 6066 §3, RFC 7301"))
    func withoutALPN() async throws {
        try await withLoopbackServer(configuration: configuration()) { server in
            _ = try await withTLS(server, Options(roots: [authority], protocols: nil)) { try $0.handshake() }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections[0].isHandshakeFinished)
            #expect(server.connections[0].applicationProtocol == nil)
            #expect(server.connections[0].serverName == nil)
        }
    }

    @Test("Rejects a client that offers only other protocols", .shows("RFC 6066 §3, RFC 7301"))
    func otherProtocols() async throws {
        try await withLoopbackServer(configuration: configuration()) { server in
            let options = Options(roots: [authority], protocols: ["h2", "http/1.0"])
            let error = await #expect(throws: RawTLSConnection.Failure.self) {
                try await withTLS(server, options) { try $0.handshake() }
            }
            #expect(error?.description.contains("no application protocol") == true)
            try await server.waitForOpenConnections(atMost: 0)
            #expect(!server.connections[0].isHandshakeFinished)
        }
    }

    @Test("A client that doesn't trust the server sends no request, and the server continues")
    func distrust() async throws {
        let other = try MockCertificateAuthority()
        try await withLoopbackServer(configuration: configuration()) { server in
            server.on(.get, "/", .text("x"))
            for options in [Options(roots: [other]), Options(), Options(roots: [authority], host: "example.org")] {
                await #expect(throws: RawTLSConnection.Failure.self) {
                    try await withTLS(server, options) { try $0.send(Self.get) }
                }
            }
            let transport = try CurlTransport(configuration: CurlTransport.Configuration(proxy: .none))
            await #expect(throws: NetworkError(.tls, "")) {
                _ = try await transport.send(HTTPRequest(url: server.url(for: "/")), limits: .init())
            }
            await transport.close()
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections.map(\.receivedOctetCount) == [0, 0, 0, 0])
            #expect(server.connections.allSatisfy { !$0.isHandshakeFinished && $0.handshakeFailure != nil })
            let status = try await withTLS(server, Options(roots: [authority])) { client in
                try client.send(Self.get)
                return try client.receiveResponse().status
            }
            #expect(status == 200)
            #expect(server.requestCount == 1)
        }
    }

    @Test("A peer that doesn't use TLS only ends its own connection")
    func noTLS() async throws {
        try await withLoopbackServer(configuration: configuration()) { server in
            server.on(.get, "/", .text("x"))
            // The response is an alert, which contains no text.
            #expect(try await !rawExchange(server.port, Self.get).contains("HTTP"))
            #expect(try await rawExchange(server.port, "") == "")
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.requestCount == 0)
            #expect(server.rejections.isEmpty)
            #expect(server.connections.map(\.receivedOctetCount) == [0, 0])
            #expect(server.connections[0].handshakeFailure?.contains("http request") == true)
            #expect(server.connections[1].handshakeFailure?.contains("before the handshake was complete") == true)
            let status = try await withTLS(server, Options(roots: [authority])) { client in
                try client.send(Self.get)
                return try client.receiveResponse().status
            }
            #expect(status == 200)
        }
    }

    @Test("A client that stalls in the handshake blocks neither other clients nor stopping the server")
    func stalledHandshake() async throws {
        let server = try LoopbackServer.start(configuration: configuration())
        server.on(.get, "/", .text("x"))
        try await offPool { [port = server.port, authority] in
            let options = Options(roots: [authority])
            let stalled = try RawTLSConnection(port: port, options).hello()
            let slow = try RawConnection(port: port)
            for (index, byte) in stalled.enumerated() {
                try slow.send(Data([byte]))
                guard index % 50 == 0 else { continue }
                let client = try RawTLSConnection(port: port, options)
                try client.send(Self.get)
                #expect(try client.receiveResponse().body == "x")
            }
            // The message is now complete. The server responds and waits for the client's next one.
            #expect(try slow.receiveSome().first == 0x16)
            return Held(slow)
        }.value = nil
        await server.stop()
        #expect(server.openConnectionCount == 0)
    }

    @Test("Handles 200 concurrent handshakes")
    func manyAtOnce() async throws {
        try await withLoopbackServer(configuration: configuration()) { server in
            server.on(.get, "/*") { .text($0.path) }
            let count = 200
            let bodies = try await offPool { [port = server.port, authority] in
                let options = Options(roots: [authority])
                let clients = try (0..<count).map { _ in try RawTLSConnection(port: port, options) }
                for (index, client) in clients.enumerated() {
                    try client.send("GET /\(index) HTTP/1.1\r\nHost: h\r\n\r\n")
                }
                return try clients.map { try $0.receiveResponse().body }
            }
            #expect(bodies == (0..<count).map { "/\($0)" })
            #expect(server.connections.count { $0.isHandshakeFinished } == count)
        }
    }

    @Test(
        "Resumes a session with its ticket if tickets are issued",
        arguments: [(TLS1_2_VERSION, true), (TLS1_3_VERSION, true), (TLS1_2_VERSION, false), (TLS1_3_VERSION, false)]
    )
    func resumption(_ version: Int32, _ issuesTickets: Bool) async throws {
        let identity = try authority.issueClientCertificate(name: "billing")
        let configuration = try configuration {
            $0.issuesSessionTickets = issuesTickets
            $0.clientAuthentication = .required(issuedBy: authority)
        }
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.get, "/", .text("x"))
            var options = Options(roots: [authority], identity: identity, maximumVersion: version)
            for _ in 0..<2 {
                options.session = try await withTLS(server, options) { client in
                    try client.send(Self.get)
                    #expect(try client.receiveResponse().status == 200)
                    try client.finishSending()
                    return client.session
                }
            }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections.map(\.isResumed) == [false, issuesTickets])
            // A resumed session doesn't present certificates again. The ticket identifies the
            // client.
            #expect(server.connections.map(\.clientCertificateSubject) == ["CN=billing", "CN=billing"])
        }
    }
}
