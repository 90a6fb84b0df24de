import Foundation
import MockNetworking
import Networking
import Synchronization
import TestPrograms
import TestSupport
import Testing

@Suite("Client certificates on connections", .limitedConcurrency, .tags(.concurrency))
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
        .shows("P19"),
        arguments: [MockCertificate.KeyType.p256, .p384, .rsa2048, .ed25519]
    )
    func right(keyType: MockCertificate.KeyType) async throws {
        for version in [LoopbackServer.TLS.Version.tls12, .tls13] {
            try await withDemandingServer(version) { server in
                let certificate = try clients.makeIntermediate().issueClientCertificate(
                    name: "billing",
                    keyType: keyType
                )
                try await expectRefusal(nil, by: server, tls(identity(certificate)))
                #expect(server.connections.map(\.clientCertificateSubject) == ["CN=billing"])
                #expect(server.connections.map(\.clientCertificateDER) == [certificate.certificateDER])
            }
        }
    }

    @Test(
        "Reports a missing certificate, one of another authority and an expired one",
        arguments: [LoopbackServer.TLS.Version.tls12, .tls13]
    )
    func refusedIdentities(version: LoopbackServer.TLS.Version) async throws {
        let stranger = try MockCertificateAuthority(name: "Stranger").issueClientCertificate()
        let now = Date()
        let old = try clients.issueClientCertificate(notBefore: now - 7200, notAfter: now - 3600)
        try await withDemandingServer(version) { server in
            try await expectRefusal(.clientCertificateRequired, by: server, tls(nil))
            for certificate in [stranger, old] {
                try await expectRefusal(.clientCertificateRefused, by: server, tls(identity(certificate)))
            }
            #expect(server.requestCount == 0)
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
                try await expectRefusal(nil, by: server, tls(identity))
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

    @Test("Uses replaced files for the next connection", .shows("P19"))
    func rotatedFiles() async throws {
        try await withDemandingServer(.tls13) { server in
            try await withTemporaryFolder { folder in
                let (chain, key) = (folder.appending(path: "tls.crt"), folder.appending(path: "tls.key"))
                func write(_ certificate: MockCertificate) throws {
                    try certificate.chainPEM.write(to: chain, atomically: true, encoding: .utf8)
                    try certificate.privateKeyPEM.write(to: key, atomically: true, encoding: .utf8)
                }
                try write(clients.issueClientCertificate(name: "first"))
                let failures = Collected<TrustConfigurationError.Code?>()
                let identity = try ClientIdentity.reloading(
                    certificateChainFile: chain.path(percentEncoded: false),
                    privateKeyFile: key.path(percentEncoded: false),
                    onFailure: { failures.append(($0 as? TrustConfigurationError)?.code) }
                )
                try await withTLS(tls(identity)) { transport in
                    let url = server.url(for: "/", host: "localhost")
                    _ = try await transport.get(url)
                    let second = try clients.issueClientCertificate(name: "second")
                    // After half of the change, the old identity stays in use, and the failure is
                    // reported.
                    try second.chainPEM.write(to: chain, atomically: true, encoding: .utf8)
                    _ = try await transport.get(url)
                    #expect(failures.all == [.keyMismatch])
                    try write(second)
                    _ = try await transport.get(url)
                    try FileManager.default.removeItem(at: key)
                    _ = try await transport.get(url)
                    #expect(failures.all == [.keyMismatch, .unreadableFile])
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
            let asked = Atomic(0)
            let changing = ClientIdentity.reloading {
                let index = asked.add(1, ordering: .relaxed).oldValue
                guard index < identities.count else { throw Sealed() }
                return identities[index]
            }
            try await withTLS(tls(changing)) { transport in
                let url = server.url(for: "/", host: "localhost")
                for _ in identities { _ = try await transport.get(url) }
                let error = await expectFailure(.tls) { _ = try await transport.get(url) }
                #expect(error?.tlsFailure == .clientIdentityUnavailable)
                #expect(error?.cause is Sealed)
            }
            #expect(server.connections.compactMap(\.clientCertificateSubject) == ["CN=first", "CN=second"])
            #expect(server.requestCount == 2)
        }
    }
}

/// Tests of a server that starts a second handshake on a connection, as TLS 1.2 allows
/// ([RFC 5246 §7.4.1.1](https://www.rfc-editor.org/rfc/rfc5246#section-7.4.1.1)).
///
/// Apache and IIS do this to request a client certificate, so it isn't rejected. The new handshake
/// must satisfy the same policy.
@Suite(
    "Renegotiation",
    .enabled(if: ChildProgram.path(of: "openssl") != nil, "requires openssl"),
    .limitedConcurrency,
    .tags(.concurrency)
)
struct RenegotiationTests {
    @Test("Completes the request, and checks a certificate that the server presents again", arguments: [false, true])
    func accepted(isAbbreviated: Bool) async throws {
        let fixture = try TLSFixture()
        let findings = Mutex<[ServerTrustEvaluator.Report.Finding]>([])
        let pin = fixture.certificate.publicKeyPin
        try await exchange(fixture, pinning: pin, isAbbreviated: isAbbreviated) { report in
            findings.withLock { $0.append(report.finding) }
        } _: { outcome in
            let response = try outcome.get()
            #expect(response.body == Data("hello".utf8))
        }
        // Each check reports that the only pin is in use. An abbreviated handshake only changes
        // keys: it has no certificate, because both sides prove that they are still the same.
        #expect(findings.withLock { $0 } == Array(repeating: .noPinInReserve, count: isAbbreviated ? 1 : 2))
    }

    @Test("A certificate that is no longer accepted ends the connection, despite the first handshake", .shows("H12"))
    func refused() async throws {
        let fixture = try TLSFixture()
        let count = Mutex(0)
        // The policy expires after the first handshake, as an example of any reason to reject the
        // second one.
        try await exchange(fixture, pinning: fixture.certificate.publicKeyPin, expires: true) { _ in
            count.withLock { $0 += 1 }
        } _: { outcome in
            #expect(throws: NetworkError(.tls, "")) { _ = try outcome.get() }
        }
        #expect(count.withLock { $0 } == 2)
    }

    /// Sends a request to a server that starts a second handshake before it responds.
    private func exchange(
        _ fixture: TLSFixture,
        pinning pin: String,
        isAbbreviated: Bool = false,
        expires: Bool = false,
        report: @escaping @Sendable (ServerTrustEvaluator.Report) -> Void,
        _ check: (Result<HTTPTransportResponse, any Error>) throws -> Void
    ) async throws {
        let arguments = [
            "s_server", "-accept", "127.0.0.1:0", "-tls1_2", "-cert", "chain.pem", "-cert_chain", "chain.pem",
            "-key", "key.pem",
        ]
        // Without these options, the server has a session that a second handshake could resume.
        let options = isAbbreviated ? [] : ["-no_ticket", "-no_cache"]
        let server = try await ChildServer.start("openssl", arguments + options, fixture) { output in
            output.firstMatch(of: /ACCEPT 127\.0\.0\.1:(\d+)/).flatMap { Int($0.1) }
        }
        defer { server.stop() }
        let policy = try PinningPolicy(
            domainName: "localhost",
            expirationDate: Date(),
            pinnedHashes: [pin],
            enforceBackupPin: false
        )
        var configuration = try ServerTrustEvaluator.Configuration(pinningPolicies: [policy])
        configuration.report = report
        let date = Mutex(Date.distantPast)
        configuration.currentDate = { date.withLock { $0 } }
        let evaluator = try ServerTrustEvaluator(configuration: configuration)
        let tls = TLSConfiguration(
            trustRoots: try fixture.roots,
            maximumVersion: .tls12,
            serverTrustEvaluator: evaluator
        )
        let url = try #require(URL(string: "https://localhost:\(server.port)/"))
        try await withTLS(tls) { transport in
            async let response = transport.get(url)
            try await server.waitForOutput("GET / HTTP/1.1")
            if expires { date.withLock { $0 = .distantFuture } }
            server.type("r\n")
            try await server.waitForOutput("SSL_do_handshake")
            server.type("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\n")
            let outcome: Result<HTTPTransportResponse, any Error>
            do { outcome = .success(try await response) } catch { outcome = .failure(error) }
            try check(outcome)
        }
    }
}
