import Foundation
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("Client certificates on connections", .limitedConcurrency)
struct MutualTLSTests {
    private let fixture: TLSFixture
    private let clients: MockCertificateAuthority

    init() throws {
        fixture = try TLSFixture()
        clients = try MockCertificateAuthority(name: "Clients")
    }

    private func tls(_ identity: ClientIdentity?) throws -> TLSConfiguration {
        TLSConfiguration(trustRoots: try fixture.roots, clientIdentity: identity)
    }

    private func identity(_ certificate: MockCertificate) throws -> ClientIdentity {
        try ClientIdentity(certificateChain: certificate.chainPEM, privateKey: certificate.privateKeyPEM)
    }

    /// Runs a test with a server that requires a certificate, supports one TLS version and doesn't
    /// reuse connections.
    private func withDemandingServer<Result>(
        _ version: LoopbackServer.TLS.Version,
        _ test: (LoopbackServer) async throws -> Result
    ) async throws -> Result {
        try await fixture.withServer {
            $0.clientAuthentication = .required(issuedBy: clients)
            $0.minimumVersion = version
            $0.maximumVersion = version
        } _: { server in
            server.fallback { _ in .text("hello", headers: ["Connection": "close"]) }
            return try await test(server)
        }
    }

    @Test(
        "Sends the certificate and its issuers' with every kind of key",
        arguments: [
            MockCertificate.KeyType.p256, .p384, .rsa2048, .ed25519,
        ]
    )
    func right(keyType: MockCertificate.KeyType) async throws {
        for version in [LoopbackServer.TLS.Version.tls12, .tls13] {
            try await withDemandingServer(version) { server in
                let certificate = try clients.makeIntermediate().issueClientCertificate(
                    name: "billing",
                    keyType: keyType
                )
                #expect(try await refusal(by: server, tls(identity(certificate))) == nil)
                #expect(server.connections.map(\.clientCertificateSubject) == ["CN=billing"])
                #expect(server.connections.map(\.clientCertificateDER) == [certificate.certificateDER])
            }
        }
    }

    @Test("Reports a missing certificate", arguments: [LoopbackServer.TLS.Version.tls12, .tls13])
    func missing(version: LoopbackServer.TLS.Version) async throws {
        try await withDemandingServer(version) { server in
            let error = try await refusal(by: server, tls(nil))
            #expect(error?.code == .tls)
            #expect(error?.tlsFailure == .clientCertificateRequired)
            #expect(server.requestCount == 0)
        }
    }

    @Test("Reports a certificate of another authority", arguments: [LoopbackServer.TLS.Version.tls12, .tls13])
    func wrongAuthority(version: LoopbackServer.TLS.Version) async throws {
        try await withDemandingServer(version) { server in
            let stranger = try MockCertificateAuthority(name: "Stranger").issueClientCertificate()
            let error = try await refusal(by: server, tls(identity(stranger)))
            #expect(error?.code == .tls)
            #expect(error?.tlsFailure == .clientCertificateRefused)
            #expect(server.requestCount == 0)
        }
    }

    @Test("Reports an expired certificate", arguments: [LoopbackServer.TLS.Version.tls12, .tls13])
    func expired(version: LoopbackServer.TLS.Version) async throws {
        try await withDemandingServer(version) { server in
            let now = Date()
            let old = try clients.issueClientCertificate(notBefore: now - 7200, notAfter: now - 3600)
            #expect(try await refusal(by: server, tls(identity(old)))?.tlsFailure == .clientCertificateRefused)
        }
    }

    @Test("Sends no certificate unless requested, and connects without one if it is optional")
    func unasked() async throws {
        let certificate = try clients.issueClientCertificate()
        try await fixture.withServer { server in
            let refused = try await refusal(by: server, tls(identity(certificate)))
            #expect(refused == nil)
            #expect(server.connections.map(\.clientCertificateSubject) == [nil])
        }
        try await fixture.withServer {
            $0.clientAuthentication = .requested(issuedBy: clients)
        } _: { server in
            for identity in [nil, try identity(certificate)] {
                #expect(try await refusal(by: server, tls(identity)) == nil)
            }
            #expect(server.connections.map(\.clientCertificateSubject) == [nil, "CN=client"])
        }
    }

    @Test("Uses separate connections for two identities on one host")
    func twoIdentities() async throws {
        try await fixture.withServer {
            $0.clientAuthentication = .required(issuedBy: clients)
        } _: { server in
            let url = server.url(for: "/", host: "localhost")
            let names = ["billing", "shipping"]
            let configurations = try names.map { try tls(identity(clients.issueClientCertificate(name: $0))) }
            try await withTLS(configurations[0]) { billing in
                try await withTLS(configurations[1]) { shipping in
                    for transport in [billing, shipping, billing, shipping] { _ = try await transport.get(url) }
                }
            }
            #expect(server.connections.compactMap(\.clientCertificateSubject) == ["CN=billing", "CN=shipping"])
        }
    }

    @Test("Uses replaced files for the next connection")
    func rotatedFiles() async throws {
        try await withDemandingServer(.tls13) { server in
            try await withTemporaryFolder { folder in
                let (chain, key) = (folder.appending(path: "tls.crt"), folder.appending(path: "tls.key"))
                func write(_ certificate: MockCertificate) throws {
                    try certificate.chainPEM.write(to: chain, atomically: true, encoding: .utf8)
                    try certificate.privateKeyPEM.write(to: key, atomically: true, encoding: .utf8)
                }
                try write(clients.issueClientCertificate(name: "first"))
                let failures = Failures()
                let identity = try ClientIdentity.reloading(
                    certificateChainFile: chain.path(percentEncoded: false),
                    privateKeyFile: key.path(percentEncoded: false),
                    onFailure: { failures.add($0) }
                )
                try await withTLS(tls(identity)) { transport in
                    let url = server.url(for: "/", host: "localhost")
                    _ = try await transport.get(url)
                    let second = try clients.issueClientCertificate(name: "second")
                    // After half of the change, the old identity stays in use, and the failure is
                    // reported.
                    try second.chainPEM.write(to: chain, atomically: true, encoding: .utf8)
                    _ = try await transport.get(url)
                    #expect(failures.codes == [.keyMismatch])
                    try write(second)
                    _ = try await transport.get(url)
                    try FileManager.default.removeItem(at: key)
                    _ = try await transport.get(url)
                    #expect(failures.codes == [.keyMismatch, .unreadableFile])
                }
                let shown = server.connections.compactMap(\.clientCertificateSubject)
                #expect(shown == ["CN=first", "CN=first", "CN=second", "CN=second"])
                #expect(server.connections.allSatisfy { !$0.isResumed })
            }
        }
    }

    @Test("Uses a replaced PKCS#12 file for the next connection")
    func rotatedPKCS12() async throws {
        try await withDemandingServer(.tls12) { server in
            try await withTemporaryFolder { folder in
                let file = folder.appending(path: "identity.p12")
                try clients.issueClientCertificate(name: "first").pkcs12(password: "secret").write(to: file)
                let identity = try ClientIdentity.reloading(
                    pkcs12File: file.path(percentEncoded: false),
                    password: { "secret" }
                )
                try await withTLS(tls(identity)) { transport in
                    let url = server.url(for: "/", host: "localhost")
                    _ = try await transport.get(url)
                    try clients.issueClientCertificate(name: "second").pkcs12(password: "secret")
                        .write(to: file, options: .atomic)
                    _ = try await transport.get(url)
                }
                #expect(server.connections.compactMap(\.clientCertificateSubject) == ["CN=first", "CN=second"])
            }
        }
    }

    @Test("Calls a provider for each connection, and reports its error as the cause")
    func provider() async throws {
        struct Sealed: Error {}
        try await withDemandingServer(.tls13) { server in
            let identities = try ["first", "second"].map { try identity(clients.issueClientCertificate(name: $0)) }
            let asked = Counter()
            let changing = ClientIdentity.reloading {
                let index = asked.next()
                guard index < identities.count else { throw Sealed() }
                return identities[index]
            }
            try await withTLS(tls(changing)) { transport in
                let url = server.url(for: "/", host: "localhost")
                for _ in identities { _ = try await transport.get(url) }
                let error = await failure { _ = try await transport.get(url) }
                #expect(error?.code == .tls)
                #expect(error?.tlsFailure == .clientIdentityUnavailable)
                #expect(error?.cause is Sealed)
            }
            #expect(server.connections.compactMap(\.clientCertificateSubject) == ["CN=first", "CN=second"])
            #expect(server.requestCount == 2)
        }
    }
}

/// The reported reload failures.
private final class Failures: Sendable {
    private let collected = Mutex<[TrustConfigurationError.Code?]>([])

    var codes: [TrustConfigurationError.Code?] { collected.withLock { $0 } }

    func add(_ error: any Error) { collected.withLock { $0.append((error as? TrustConfigurationError)?.code) } }
}

/// A counter that starts at 0.
private final class Counter: Sendable {
    private let value = Mutex(0)

    func next() -> Int {
        value.withLock { value in
            defer { value += 1 }
            return value
        }
    }
}
