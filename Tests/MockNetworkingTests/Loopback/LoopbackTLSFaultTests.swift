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

/// Tests of client certificates: the demand for them and the accepted authorities.
@Suite(.limitedConcurrency) struct LoopbackTLSClientTests {
    private typealias Options = RawTLSConnection.Options
    private static let get = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
    private let authority: MockCertificateAuthority
    private let clients: MockCertificateAuthority

    init() throws {
        authority = try MockCertificateAuthority()
        clients = try MockCertificateAuthority(name: "Clients")
    }

    private func withServer<Result>(
        _ demand: LoopbackServer.TLS.ClientAuthentication,
        _ body: (LoopbackServer) async throws -> Result
    ) async throws -> Result {
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        configuration.tls?.clientAuthentication = demand
        return try await withLoopbackServer(configuration: configuration) { server in
            server.on(.get, "/", .text("x"))
            return try await body(server)
        }
    }

    /// Returns the status of a response, or the error.
    private func outcome(
        _ server: LoopbackServer,
        _ version: Int32,
        _ identity: MockCertificate?,
        repetitions: Int = 0
    ) async throws -> String {
        let options = Options(
            roots: [authority],
            identity: identity,
            repetitions: repetitions,
            maximumVersion: version
        )
        do {
            return try await withTLS(server, options) { client in
                try client.send(Self.get)
                return "\(try client.receiveResponse().status)"
            }
        } catch let failure as RawTLSConnection.Failure {
            return failure.description
        }
    }

    @Test("Accepts only the right certificate if one is required", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func required(_ version: Int32) async throws {
        let right = try clients.issueClientCertificate(name: "billing")
        let wrong = try authority.issueClientCertificate(name: "billing")
        let expired = try clients.issueClientCertificate(
            name: "billing",
            notBefore: Date(timeIntervalSinceNow: -7200),
            notAfter: Date(timeIntervalSinceNow: -3600)
        )
        let server = try clients.issueServerCertificate()
        try await withServer(.required(issuedBy: clients)) { loopback in
            #expect(try await outcome(loopback, version, right) == "200")
            // An alert tells the client why, even in TLS 1.3, where the client has sent its request
            // by then.
            #expect(
                try await outcome(loopback, version, nil).contains(
                    version == TLS1_3_VERSION ? "tlsv13 alert certificate required" : "alert handshake failure"
                )
            )
            #expect(try await outcome(loopback, version, wrong).contains("alert unknown ca"))
            #expect(try await outcome(loopback, version, expired).contains("alert certificate expired"))
            // A server certificate doesn't identify a client.
            #expect(try await outcome(loopback, version, server).contains("alert"))
            try await loopback.waitForOpenConnections(atMost: 0)
            #expect(loopback.requestCount == 1)
            #expect(loopback.requests[0].clientCertificateDER == right.certificateDER)
            let records = loopback.connections
            #expect(records.count == 5)
            #expect(records[0].clientCertificateSubject == "CN=billing")
            #expect(records[0].clientCertificateDER == right.certificateDER)
            #expect(records[1].handshakeFailure?.contains("peer did not return a certificate") == true)
            #expect(records.dropFirst().allSatisfy { $0.receivedOctetCount == 0 && !$0.isHandshakeFinished })
            #expect(
                records.dropFirst(2).allSatisfy { $0.handshakeFailure?.contains("certificate verify failed") == true }
            )
        }
    }

    @Test("Decodes at most 16 certificates of a client", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func manyCertificates(_ version: Int32) async throws {
        let right = try clients.issueClientCertificate(name: "billing")
        try await withServer(.required(issuedBy: clients)) { server in
            #expect(try await outcome(server, version, right, repetitions: 15) == "200")
            #expect(try await outcome(server, version, right, repetitions: 16).contains("alert decode error"))
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections.map(\.clientCertificateSubject) == ["CN=billing", nil])
        }
    }

    @Test("Accepts a client without a certificate if it is optional", arguments: [TLS1_2_VERSION, TLS1_3_VERSION])
    func requested(_ version: Int32) async throws {
        let right = try clients.issueClientCertificate(name: "billing")
        let wrong = try authority.issueClientCertificate(name: "billing")
        try await withServer(.requested(issuedBy: clients)) { server in
            #expect(try await outcome(server, version, nil) == "200")
            #expect(try await outcome(server, version, right) == "200")
            #expect(try await outcome(server, version, wrong).contains("alert unknown ca"))
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections.map(\.clientCertificateSubject) == [nil, "CN=billing", nil])
            #expect(server.requests.map { $0.clientCertificateDER != nil } == [false, true])
        }
    }

    @Test("A client doesn't present a certificate unless the server requests it")
    func none() async throws {
        try await withServer(.none) { server in
            let identity = try clients.issueClientCertificate()
            #expect(try await outcome(server, TLS1_3_VERSION, identity) == "200")
            #expect(server.connections[0].clientCertificateSubject == nil)
        }
    }

    @Test("Accepts certificates of an intermediate authority, but not those of its issuer")
    func intermediate() async throws {
        let department = try clients.makeIntermediate(name: "Department")
        try await withServer(.required(issuedBy: department)) { server in
            let inside = try department.issueClientCertificate()
            let outside = try clients.issueClientCertificate()
            #expect(try await outcome(server, TLS1_3_VERSION, inside) == "200")
            #expect(try await outcome(server, TLS1_3_VERSION, outside).contains("unknown ca"))
        }
    }
}
