import COpenSSL
import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of faulty responses over TLS.
@Suite(.limitedConcurrency) struct LoopbackTLSFaultTests {
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    private let authority: MockCertificateAuthority
    private let configuration: LoopbackServer.Configuration

    init() throws {
        authority = try MockCertificateAuthority()
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        self.configuration = configuration
    }

    private var options: RawTLSConnection.Options { .init(roots: [authority]) }

    /// Returns the bytes of a response up to the end of its connection, and whether a close_notify
    /// ended it.
    private func wire(_ response: LoopbackResponse) async throws -> (text: String, isClosedProperly: Bool) {
        try await withLoopbackServer(configuration: configuration) { server in
            server.onAnyMethod("/") { _ in response }
            return try await withTLS(server, options) { client in
                try client.send(Self.get)
                return try client.receiveAll()
            }
        }
    }

    @Test("Closes a connection with a close_notify unless told otherwise")
    func ending() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
        let response = LoopbackResponse(body: Data("ab".utf8)).closing()
        #expect(try await wire(response) == (head + "ab", true))
        #expect(try await wire(response.withoutCloseNotify()) == (head + "ab", false))
        #expect(
            try await wire(response.cut(.afterBody(octets: 1))) == (
                head.replacing("Connection: close\r\n", with: "") + "a", true
            )
        )
        #expect(
            try await wire(response.cut(.afterHead).withoutCloseNotify())
                == (head.replacing("Connection: close\r\n", with: ""), false)
        )
        #expect(try await wire(.raw("nonsense")) == ("nonsense", true))
        #expect(try await wire(.raw("nonsense").withoutCloseNotify()) == ("nonsense", false))
        #expect(try await wire(LoopbackResponse().cut(.beforeHead)) == ("", true))
    }

    @Test("Resets the connection")
    func reset() async throws {
        let response = LoopbackResponse(body: Data("ab".utf8)).cut(.afterBody(octets: 1), resetting: true)
        let failure = await #expect(throws: RawConnection.Failure.self) { try await wire(response) }
        #expect(failure?.isReset == true)
    }

    @Test("Keeps the connection of an unanswered request until the client closes it")
    func silence() async throws {
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.get, "/", .never)
            let client = try await offPool { [port = server.port, options] in
                let client = try RawTLSConnection(port: port, options)
                try client.send(Self.get)
                return HeldTLS(client)
            }
            try await server.waitForRequests(count: 1)
            #expect(server.openConnectionCount == 1)
            client.value = nil
            try await server.waitForOpenConnections(atMost: 0)
        }
    }

    @Test("Gates and streams work byte by byte")
    func drip() async throws {
        let gate = ResponseGate()
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(
                .get,
                "/",
                .stream { writer in for byte in "drip".utf8 { try await writer.write(Data([byte])) } }.bodyGated(
                    by: gate
                )
            )
            async let text = withTLS(server, options) { client in
                try client.send(Self.get)
                let head = try client.receive(through: "\r\n\r\n")
                gate.open()
                return head + (try client.receive(through: "0\r\n\r\n"))
            }
            let received = try await text
            #expect(
                received == "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "1\r\nd\r\n1\r\nr\r\n1\r\ni\r\n1\r\np\r\n0\r\n\r\n"
            )
        }
    }

    @Test("Transfers large bodies in both directions, and waits for a slow reader")
    func large() async throws {
        let body = Data((0..<8 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try await withLoopbackServer(configuration: configuration) { server in
            server.on(.post, "/") { request in
                LoopbackResponse(body: request.body)
            }
            let written = Log<Int>()
            let isReading = ResponseGate()
            server.on(
                .get,
                "/",
                .stream(length: 64 << 20) { writer in
                    for index in 0..<1024 {
                        try await writer.write(Data(count: 64 << 10))
                        written.note(index)
                        if index == 0 { isReading.open() }
                    }
                }
            )
            let echoed = try await withTLS(server, options) { client in
                try client.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.count)\r\n\r\n")
                try client.send(body)
                _ = try client.receive(through: "\r\n\r\n")
                return try client.receiveData(octets: body.count)
            }
            #expect(echoed == body)
            let slow = try await offPool { [port = server.port, options] in
                let client = try RawTLSConnection(port: port, options)
                try client.send(Self.get)
                _ = try client.receive(through: "\r\n\r\n")
                return HeldTLS(client)
            }
            try await isReading.wait()
            // The kernel buffers some megabytes. The rest waits for the reader.
            #expect(written.entries.count < 1024)
            slow.value = nil
            try await server.waitForOpenConnections(atMost: 0)
            #expect(written.entries.count < 1024)
        }
    }
}
