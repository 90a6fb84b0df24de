import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Testing

@Suite("TLSFailure on connections")
struct TLSFailureTests {
    @Test("A server under a root that is not trusted is refused, and so is one that nobody vouches for")
    func untrusted() async throws {
        let fixture = try TLSFixture()
        let stranger = try TLSFixture()
        let selfSigned = try MockCertificateAuthority.selfSignedServerCertificate()
        for certificate in [stranger.certificate, selfSigned, try fixture.certificate.withoutIssuers()] {
            try await fixture.withServer(showing: certificate) { server in
                let error = try await refusal(by: server, TLSConfiguration(trustRoots: try fixture.roots))
                #expect(error?.code == .tls)
                #expect(error?.tlsFailure == .untrustedChain)
                #expect(try await server.receivedOctets() == 0)
            }
        }
    }

    @Test("The default configuration does not trust the test's root, and says so")
    func systemRoots() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let first = try await refusal(by: server, TLSConfiguration())
            #expect(first?.tlsFailure == .untrustedChain)
            let error = await failure {
                _ = try await NetworkClient().makeRequest(URLRequest(url: server.url(for: "/")))
            }
            #expect(error?.tlsFailure == .untrustedChain)
            #expect(try await server.receivedOctets() == 0)
        }
    }

    @Test("Certificates outside their time are told apart")
    func validity() async throws {
        let now = Date()
        for (fixture, expected) in [
            (try TLSFixture(notBefore: now - 7200, notAfter: now - 3600), TLSFailure.certificateExpired),
            (try TLSFixture(notBefore: now + 3600, notAfter: now + 7200), .certificateNotYetValid),
        ] {
            try await fixture.withServer { server in
                let error = try await refusal(by: server, TLSConfiguration(trustRoots: try fixture.roots))
                #expect(error?.code == .tls)
                #expect(error?.tlsFailure == expected)
                #expect(try await server.receivedOctets() == 0)
            }
        }
    }

    @Test(
        "The certificate of another host is refused",
        arguments: [
            (["example.org"], "localhost"), (["example.org"], "127.0.0.1"), (["localhost"], "127.0.0.1"),
            (["127.0.0.1"], "localhost"), (["*.localhost"], "localhost"), (["*.localhost"], "a.b.localhost"),
            (["a*.localhost"], "api.localhost"), ([], "localhost"),
        ]
    )
    func wrongHost(hosts: [String], host: String) async throws {
        let fixture = try TLSFixture(hosts: hosts)
        try await fixture.withServer { server in
            let error = try await refusal(by: server, host: host, TLSConfiguration(trustRoots: try fixture.roots))
            #expect(error?.code == .tls)
            #expect(error?.tlsFailure == .wrongHost)
            #expect(try await server.receivedOctets() == 0)
        }
    }

    @Test(
        "The right certificate is accepted for names and addresses",
        arguments: ["localhost", "LOCALHOST", "127.0.0.1", "api.localhost", "api.tenant.localhost"]
    )
    func rightHost(host: String) async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let error = try await refusal(by: server, host: host, TLSConfiguration(trustRoots: fixture.roots))
            #expect(error == nil)
        }
    }

    @Test("A server that is too old or too new is refused")
    func versions() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer {
            $0.maximumVersion = .tls12
        } _: { server in
            let roots = try fixture.roots
            let tooOld = try await refusal(by: server, TLSConfiguration(trustRoots: roots, minimumVersion: .tls13))
            #expect(tooOld?.tlsFailure == .protocolVersion)
            #expect(try await refusal(by: server, TLSConfiguration(trustRoots: roots)) == nil)
        }
        try await fixture.withServer {
            $0.minimumVersion = .tls13
        } _: { server in
            let roots = try fixture.roots
            let tooNew = try await refusal(by: server, TLSConfiguration(trustRoots: roots, maximumVersion: .tls12))
            #expect(tooNew?.tlsFailure == .protocolVersion)
            #expect(try await refusal(by: server, TLSConfiguration(trustRoots: roots, minimumVersion: .tls13)) == nil)
            #expect(server.connections.last?.tlsVersion == .tls13)
        }
        try await fixture.withServer {
            $0.minimumVersion = .insecureTLS11
            $0.maximumVersion = .insecureTLS11
        } _: { server in
            let error = try await refusal(by: server, TLSConfiguration(trustRoots: try fixture.roots))
            #expect(error?.tlsFailure == .protocolVersion)
        }
    }

    @Test("A configuration that allows no version makes no transport")
    func noVersion() {
        let tls = TLSConfiguration(minimumVersion: .tls13, maximumVersion: .tls12)
        #expect(throws: NetworkError(.transportUnavailable, "")) {
            _ = try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        }
        #expect(throws: NetworkError(.transportUnavailable, "")) { _ = try NetworkClient(tls: tls) }
    }

    @Test("A policy does not try again what TLS refused")
    func retries() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let stranger = try MockCertificateAuthority()
            let client = try NetworkClient(
                tls: TLSConfiguration(trustRoots: try .pem(stranger.certificatePEM)),
                interceptors: [Retry.Policy.maxRetries(3)]
            )
            let error = await failure { _ = try await client.makeRequest(URLRequest(url: server.url(for: "/"))) }
            #expect(error?.tlsFailure == .untrustedChain)
            #expect(server.acceptedConnectionCount == 1)
        }
    }

    @Test("A peer that does not speak TLS is no TLS failure that is known")
    func plainPeer() async throws {
        try await withLoopbackServer { server in
            let url = try #require(URL(string: "https://127.0.0.1:\(server.port)/"))
            try await withTLS(TLSConfiguration()) { transport in
                let error = await failure { _ = try await transport.get(url) }
                #expect(error?.code == .tls)
                #expect(error?.tlsFailure == nil)
            }
        }
    }

    @Test(
        "A connection is not used beyond its age, however busy it is; libcurl counts whole seconds",
        arguments: [1, 3600]
    )
    func connectionAge(_ seconds: Int) async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let tls = TLSConfiguration(trustRoots: try fixture.roots, maximumConnectionAge: .seconds(seconds))
            try await withTLS(tls) { transport in
                // A busy machine may need most of a second for one request: the age decides, not how many there were.
                let (end, patience) = (ContinuousClock.now + .milliseconds(2500), ContinuousClock.now + .seconds(60))
                while .now < end || (seconds == 1 && server.acceptedConnectionCount < 2 && .now < patience) {
                    _ = try await transport.get(server.url(for: "/", host: "localhost"))
                    try await Task.sleep(for: .milliseconds(100))
                }
                // At least once more, if the first one took that long.
                _ = try await transport.get(server.url(for: "/", host: "localhost"))
            }
            if seconds == 1 {
                #expect(server.acceptedConnectionCount >= 2)
            } else {
                #expect(server.acceptedConnectionCount == 1)
            }
        }
    }
}
