import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("TLSFailure on connections", .limitedConcurrency)
struct TLSFailureTests {
    @Test("Rejects a server with an untrusted root, and one with a self-signed certificate")
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

    @Test("The default configuration rejects the test's root as untrusted")
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

    @Test("Distinguishes expired and not yet valid certificates")
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
        "Rejects the certificate of another host",
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

    @Test("Rejects a server whose versions are too old or too new")
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

    @Test("Creating a transport fails if the configuration rules out every version")
    func noVersion() {
        let tls = TLSConfiguration(minimumVersion: .tls13, maximumVersion: .tls12)
        #expect(throws: NetworkError(.transportUnavailable, "")) {
            _ = try CurlTransport(configuration: CurlTransport.Configuration(tls: tls))
        }
        #expect(throws: NetworkError(.transportUnavailable, "")) { _ = try NetworkClient(tls: tls) }
    }

    @Test("Retry policies don't retry TLS failures")
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

    @Test("A peer that doesn't use TLS isn't a known TLS failure")
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
        "Doesn't use a connection beyond its maximum age, in libcurl's whole seconds",
        arguments: [1, 3600]
    )
    func connectionAge(_ seconds: Int) async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { server in
            let tls = TLSConfiguration(trustRoots: try fixture.roots, maximumConnectionAge: .seconds(seconds))
            try await withTLS(tls) { transport in
                // A busy machine may take almost a second for one request. So the age decides, not
                // the number of requests.
                let (end, patience) = (ContinuousClock.now + .milliseconds(2500), ContinuousClock.now + .seconds(60))
                while .now < end || (seconds == 1 && server.acceptedConnectionCount < 2 && .now < patience) {
                    _ = try await transport.get(server.url(for: "/", host: "localhost"))
                    try await Task.sleep(for: .milliseconds(100))
                }
                // Sends at least one more, in case the first one took that long.
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
