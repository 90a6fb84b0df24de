import COpenSSL
import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

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
        _ identity: MockCertificate?
    ) async throws -> String {
        let options = Options(roots: [authority], identity: identity, maximumVersion: version)
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
