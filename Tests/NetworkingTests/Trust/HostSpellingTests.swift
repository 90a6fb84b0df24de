import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests that pins, certificates and identities apply to a host in every spelling.
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
