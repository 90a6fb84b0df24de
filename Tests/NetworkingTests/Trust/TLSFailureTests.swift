import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("TLSFailure on connections", .limitedConcurrency)
struct TLSFailureTests {
    @Test(
        "Rejects a server with an untrusted root, and one with a self-signed certificate",
        .shows("H10", "FAPI 2.0 §5.2.1 (certificates)")
    )
    func untrusted() async throws {
        let fixture = try TLSFixture()
        let stranger = try TLSFixture()
        let selfSigned = try MockCertificateAuthority.selfSignedServerCertificate()
        for certificate in [stranger.certificate, selfSigned, try fixture.certificate.withoutIssuers()] {
            try await fixture.withServer(showing: certificate) { server in
                try await expectRefusal(
                    .untrustedChain,
                    by: server,
                    TLSConfiguration(trustRoots: fixture.roots),
                    sendsNothing: true
                )
            }
        }
    }

    @Test("The default configuration rejects the test's root as untrusted")
    func systemRoots() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            try await expectRefusal(.untrustedChain, by: server, TLSConfiguration())
            let error = await failure {
                _ = try await NetworkClient().makeRequest(URLRequest(url: server.url(for: "/")))
            }
            #expect(error?.tlsFailure == .untrustedChain)
            #expect(try await server.receivedOctets() == 0)
        }
    }

    @Test("Distinguishes expired and not yet valid certificates", .shows("H10", "1.42"))
    func validity() async throws {
        let now = Date()
        for (fixture, expected) in [
            (try TLSFixture(notBefore: now - 7200, notAfter: now - 3600), TLSFailure.certificateExpired),
            (try TLSFixture(notBefore: now + 3600, notAfter: now + 7200), .certificateNotYetValid),
        ] {
            try await fixture.withServer { server in
                try await expectRefusal(
                    expected,
                    by: server,
                    TLSConfiguration(trustRoots: fixture.roots),
                    sendsNothing: true
                )
            }
        }
    }

    @Test(
        "Rejects the certificate of another host",
        .shows("H10", "FAPI 2.0 §5.2.1 (certificates)"),
        arguments: [
            (["example.org"], "localhost"), (["example.org"], "127.0.0.1"), (["localhost"], "127.0.0.1"),
            (["127.0.0.1"], "localhost"), (["*.localhost"], "localhost"), (["*.localhost"], "a.b.localhost"),
            (["a*.localhost"], "api.localhost"), ([], "localhost"),
        ]
    )
    func wrongHost(hosts: [String], host: String) async throws {
        let fixture = try TLSFixture(hosts: hosts)
        try await fixture.withServer { server in
            try await expectRefusal(
                .wrongHost,
                by: server,
                host: host,
                TLSConfiguration(trustRoots: fixture.roots),
                sendsNothing: true
            )
        }
    }

    @Test(
        "Accepts the right certificate for names and addresses",
        arguments: ["localhost", "LOCALHOST", "127.0.0.1", "api.localhost", "api.tenant.localhost"]
    )
    func rightHost(host: String) async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let error = try await refusal(by: server, host: host, TLSConfiguration(trustRoots: fixture.roots))
            #expect(error == nil)
        }
    }

    @Test(
        "Rejects a server whose versions are too old or too new",
        .shows("3.4", "RFC 8446, RFC 5246", "FAPI 2.0 §5.2.1 (versions)")
    )
    func versions() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer {
            $0.maximumVersion = .tls12
        } _: { server in
            let roots = try fixture.roots
            try await expectRefusal(
                .protocolVersion,
                by: server,
                TLSConfiguration(trustRoots: roots, minimumVersion: .tls13)
            )
            try await expectRefusal(nil, by: server, TLSConfiguration(trustRoots: roots))
        }
        try await fixture.withServer {
            $0.minimumVersion = .tls13
        } _: { server in
            let roots = try fixture.roots
            try await expectRefusal(
                .protocolVersion,
                by: server,
                TLSConfiguration(trustRoots: roots, maximumVersion: .tls12)
            )
            try await expectRefusal(nil, by: server, TLSConfiguration(trustRoots: roots, minimumVersion: .tls13))
            #expect(server.connections.last?.tlsVersion == .tls13)
        }
        try await fixture.withServer {
            $0.minimumVersion = .insecureTLS11
            $0.maximumVersion = .insecureTLS11
        } _: { server in
            try await expectRefusal(.protocolVersion, by: server, TLSConfiguration(trustRoots: fixture.roots))
        }
    }

    @Test("Creating a transport fails if the configuration rules out every version")
    func noVersion() {
        let tls = TLSConfiguration(minimumVersion: .tls13, maximumVersion: .tls12)
        #expect(throws: NetworkError(.transportUnavailable, "")) {
            _ = try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        }
        #expect(throws: NetworkError(.transportUnavailable, "")) { _ = try NetworkClient(tls: tls) }
    }

    @Test(
        "Doesn't use a connection beyond its maximum age, in libcurl's whole seconds",
        arguments: [1, 3600]
    )
    func connectionAge(_ seconds: Int) async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let tls = TLSConfiguration(trustRoots: try fixture.roots, maximumConnectionAge: .seconds(seconds))
            try await withTLS(tls) { transport in
                repeat {
                    for _ in 0..<3 { _ = try await transport.get(server.url(for: "/", host: "localhost")) }
                    try await Task.sleep(for: .milliseconds(100))
                } while seconds == 1 && server.acceptedConnectionCount < 2
            }
            #expect(seconds == 1 || server.acceptedConnectionCount == 1)
        }
    }
}

@Suite("Spellings of hosts in handshakes", .limitedConcurrency)
struct HostSpellingTests {
    private static let hosts = ["api.example.org", "xn--bcher-kva.example", "under_score.example", "127.0.0.1"]

    /// Returns the error of a request to a host name that resolves to this machine.
    private func refusal(
        of server: LoopbackServer,
        _ host: String,
        _ tls: TLSConfiguration
    ) async throws -> NetworkError? {
        var configuration = CurlTransport.Configuration(proxy: .none, tls: tls)
        configuration.resolverEntries = Self.hosts.dropLast().flatMap { [$0, $0 + "."] }.map {
            CurlTransport.ResolverEntry(host: $0, port: server.port, addresses: ["127.0.0.1"])
        }
        let url = try #require(URL(string: "https://\(host):\(server.port)/"))
        return try await withCurl(configuration) { transport in
            await failure { _ = try await transport.get(url) }
        }
    }

    private func tls(_ fixture: TLSFixture, _ domain: String, _ pin: String) throws -> TLSConfiguration {
        let policy = try PinningPolicy(
            domainName: domain,
            includeSubdomains: true,
            pinnedHashes: [pin],
            enforceBackupPin: false
        )
        // A policy that doesn't recognize a host would accept it.
        let evaluator = try ServerTrustEvaluator(
            configuration: .init(pinningPolicies: [policy], allowNotPinnedDomains: true)
        )
        return TLSConfiguration(trustRoots: try fixture.roots, serverTrustEvaluator: evaluator)
    }

    @Test(
        "Verifies the certificate and the pins in every spelling of the host",
        arguments: [
            ("api.example.org.", ["api.example.org", "API.example.ORG", "api.example.org."]),
            ("Example.org", ["api.example.org", "Api.Example.org."]),
            ("b\u{fc}cher.example", ["b\u{fc}cher.example", "B\u{dc}CHER.example.", "XN--BCHER-KVA.example"]),
            ("XN--bcher-kva.example.", ["b\u{fc}cher.example"]), ("under_score.example", ["UNDER_score.example"]),
            ("127.0.0.1", ["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f.1", "0177.0.0.1", "0X7F000001"]),
        ]
    )
    func pins(_ domain: String, _ spellings: [String]) async throws {
        let fixture = try TLSFixture(hosts: Self.hosts)
        try await fixture.withServer { server in
            var unknown = 0
            for host in spellings {
                let right = try tls(fixture, domain, fixture.certificate.publicKeyPin)
                let refused = try await refusal(of: server, host, right)
                // For libcurl 8.14, 0X is the beginning of a name, which isn't in the certificate.
                if host.hasPrefix("0X"), let code = refused?.code, [.tls, .cannotResolveHost].contains(code) {
                    unknown += 1
                    continue
                }
                #expect(refused == nil, "\(host)")
                let wrong = try await refusal(of: server, host, tls(fixture, domain, PublicKeyPin.nobodys))
                guard case .pinMismatch(let seen) = wrong?.tlsFailure else {
                    Issue.record("\(host): \(String(describing: wrong))")
                    continue
                }
                #expect(seen.count == 3)
            }
            #expect(server.requestCount == spellings.count - unknown)
        }
    }

    @Test(
        "Reports another host's certificate in every spelling of the host",
        arguments: ["API.example.org.", "b\u{fc}cher.example", "127.1", "2130706433", "0x7f.0.0.1"]
    )
    func wrongHost(_ host: String) async throws {
        let fixture = try TLSFixture(hosts: ["example.org", "127.0.0.2"])
        try await fixture.withServer { server in
            let error = try await refusal(of: server, host, TLSConfiguration(trustRoots: fixture.roots))
            #expect(error?.tlsFailure == .wrongHost)
            #expect(try await server.receivedOctets() == 0)
        }
    }

    @Test("Sends the client certificate in every spelling of the host", arguments: ["127.1", "LOCALHOST"])
    func identity(_ host: String) async throws {
        let fixture = try TLSFixture()
        let clients = try MockCertificateAuthority(name: "Clients")
        let certificate = try clients.issueClientCertificate(name: "billing")
        try await fixture.withServer {
            $0.clientAuthentication = .required(issuedBy: clients)
        } _: { server in
            let identity = try ClientIdentity(
                certificateChain: certificate.chainPEM,
                privateKey: certificate.privateKeyPEM
            )
            let tls = TLSConfiguration(trustRoots: try fixture.roots, clientIdentity: identity)
            #expect(try await refusal(of: server, host, tls) == nil)
            #expect(server.connections.map(\.clientCertificateSubject) == ["CN=billing"])
        }
    }
}
