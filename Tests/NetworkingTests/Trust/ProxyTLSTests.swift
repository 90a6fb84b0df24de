import Foundation
import MockNetworking
import Networking
import Testing

@Suite("TLS to proxies")
struct ProxyTLSTests {
    /// Sends a request for an `http` URL to a server as if it were a proxy that is spoken to over TLS.
    private func send(
        to proxy: LoopbackServer,
        named host: String = "localhost",
        _ tls: TLSConfiguration
    ) async throws -> NetworkError? {
        let proxyURL = try #require(URL(string: "https://\(host):\(proxy.port)"))
        let url = try #require(URL(string: "http://example.org/"))
        return try await withCurl(CurlTransport.Configuration(proxy: .https(proxyURL), tls: tls)) { transport in
            await failure { _ = try await transport.get(url) }
        }
    }

    @Test("The trust roots hold for a proxy too", arguments: ["localhost", "127.0.0.1"])
    func roots(host: String) async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { proxy in
            let accepted = try await send(to: proxy, named: host, TLSConfiguration(trustRoots: fixture.roots))
            #expect(accepted == nil)
            #expect(proxy.connections.map(\.isHandshakeFinished) == [true])
            let refused = try await send(to: proxy, named: host, TLSConfiguration())
            #expect(refused?.tlsFailure == .untrustedChain)
        }
    }

    @Test("The certificate must be the proxy's")
    func wrongHost() async throws {
        let fixture = try TLSFixture(hosts: ["example.org"])
        try await fixture.withServer { proxy in
            for host in ["localhost", "127.0.0.1"] {
                let error = try await send(to: proxy, named: host, TLSConfiguration(trustRoots: fixture.roots))
                #expect(error?.tlsFailure == .wrongHost)
            }
            #expect(try await proxy.receivedOctets() == 0)
        }
    }

    @Test("A proxy is shown no client certificate, though it asks")
    func identity() async throws {
        let fixture = try TLSFixture()
        let clients = try MockCertificateAuthority()
        let certificate = try clients.issueClientCertificate()
        try await fixture.withServer {
            $0.clientAuthentication = .requested(issuedBy: clients)
        } _: { proxy in
            let identity = try ClientIdentity(
                certificateChain: certificate.chainPEM,
                privateKey: certificate.privateKeyPEM
            )
            for host in ["localhost", "127.0.0.1"] {
                let tls = TLSConfiguration(trustRoots: try fixture.roots, clientIdentity: identity)
                #expect(try await send(to: proxy, named: host, tls) == nil)
            }
            #expect(proxy.connections.map(\.isHandshakeFinished) == [true, true])
            #expect(proxy.connections.map(\.clientCertificateSubject) == [nil, nil])
        }
    }

    @Test("Pins are looked up under the proxy's own name")
    func pins() async throws {
        let fixture = try TLSFixture()
        try await fixture.withServer { proxy in
            for (domain, pin, expected) in [
                ("localhost", fixture.certificate.publicKeyPin, nil),
                ("example.org", fixture.certificate.publicKeyPin, TLSFailure.hostNotPinned),
            ] as [(String, String, TLSFailure?)] {
                let policy = try PinningPolicy(domainName: domain, pinnedHashes: [pin], enforceBackupPin: false)
                let evaluator = try ServerTrustEvaluator(configuration: .init(pinningPolicies: [policy]))
                let tls = TLSConfiguration(trustRoots: try fixture.roots, serverTrustEvaluator: evaluator)
                #expect(try await send(to: proxy, tls)?.tlsFailure == expected)
            }
        }
    }
}
