import Foundation
import MockNetworking
import Networking
import Testing

/// A root, an intermediate and a server certificate for this machine's names, created for one test.
struct TLSFixture {
    let root: MockCertificateAuthority
    let intermediate: MockCertificateAuthority
    let certificate: MockCertificate

    /// Names that always resolve to this machine
    /// ([RFC 6761 §6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)).
    static let hosts = ["127.0.0.1", "localhost", "api.localhost", "*.tenant.localhost"]

    init(hosts: [String] = hosts, notBefore: Date? = nil, notAfter: Date? = nil) throws {
        root = try MockCertificateAuthority(name: "Test Root")
        intermediate = try root.makeIntermediate(name: "Test Intermediate", keyType: .p384)
        certificate = try intermediate.issueServerCertificate(hosts: hosts, notBefore: notBefore, notAfter: notAfter)
    }

    /// Trust roots with only the test's root.
    var roots: TrustRoots {
        get throws { try .pem(root.certificatePEM) }
    }

    /// Runs a test with a server that responds to everything with 200.
    func withServer<Result>(
        showing certificate: MockCertificate? = nil,
        _ configure: (inout LoopbackServer.TLS) throws -> Void = { _ in },
        _ test: (LoopbackServer) async throws -> Result
    ) async throws -> Result {
        var configuration = LoopbackServer.Configuration()
        var tls = LoopbackServer.TLS(certificate: certificate ?? self.certificate)
        try configure(&tls)
        configuration.tls = tls
        return try await withLoopbackServer(configuration: configuration) { server in
            server.fallback { _ in .text("hello") }
            return try await test(server)
        }
    }
}

/// Runs a test with a transport that has a TLS configuration.
func withTLS<Result>(
    _ tls: TLSConfiguration,
    _ test: (CurlTransport) async throws -> Result
) async throws -> Result {
    try await withCurl(CurlTransport.Configuration(proxy: .none, tls: tls), test)
}

/// Returns the error of a request, or `nil` for a response with the status 200.
func refusal(
    by server: LoopbackServer,
    host: String = "localhost",
    _ tls: TLSConfiguration
) async throws -> NetworkError? {
    try await withTLS(tls) { transport in
        await failure {
            let response = try await transport.get(server.url(for: "/", host: host))
            #expect(response.status == 200)
        }
    }
}

extension LoopbackServer {
    /// Waits for the end of all connections, and returns the total number of request bytes
    /// received.
    func receivedOctets() async throws -> Int {
        try await waitForOpenConnections(atMost: 0)
        return connections.map(\.receivedOctetCount).reduce(0, +)
    }
}

extension PublicKeyPin {
    /// A pin that matches no key.
    static let nobodys = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
}

/// Returns the error that an operation throws, if it has a certain type.
func thrown<Failure: Error>(_ type: Failure.Type, _ operation: () throws -> Void) -> Failure? {
    do {
        try operation()
        return nil
    } catch {
        return error as? Failure
    }
}
