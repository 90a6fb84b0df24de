import Foundation
import FoundationNetworking
import Networking
import Testing

@Suite("CurlTransport and nginx over TLS", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxTLSTests {
    @Test(
        "Uses HTTP/2 if both support it, HTTP/1.1 if the client requires it, in both TLS versions",
        arguments: ["TLS12", "TLS13"],
        [(CurlTransport.ProtocolVersion.negotiated, "HTTP/2.0"), (.http1, "HTTP/1.1")]
    )
    func protocols(peer: String, expected: (wanted: CurlTransport.ProtocolVersion, version: String)) async throws {
        try await TLSPeer.withClient(TLSPeer.trust()) {
            $0.protocolVersion = expected.wanted
        } perform: { client in
            let agreed = try await client.text(TLSPeer.url(peer, "/agreed"))
            #expect(agreed == "\(expected.version) \(peer == "TLS12" ? "TLSv1.2" : "TLSv1.3")")
            let body = try await client.makeRequest(URLRequest(url: TLSPeer.url(peer, "/large")))
            #expect(try body == Nginx.large())
            let text = try await client.text(TLSPeer.url(peer, "/text"))
            #expect(text == String(repeating: "The same line, many times over.\n", count: 2000))
        }
    }

    @Test("Rejects a server outside the configured TLS versions")
    func versions() async throws {
        for (peer, minimum, maximum) in [("TLS12", TLSVersion.tls13, TLSVersion?.none), ("TLS13", .tls12, .tls12)] {
            var tls = try TLSPeer.trust()
            tls.minimumVersion = minimum
            tls.maximumVersion = maximum
            try await TLSPeer.withClient(tls) { client in
                let url = try TLSPeer.url(peer, "/ok")
                let error = await #expect(throws: NetworkError(.tls, "")) { try await client.text(url) }
                #expect(error?.tlsFailure == .protocolVersion)
            }
        }
    }

    @Test("100 concurrent requests share a few HTTP/2 connections", arguments: ["TLS12", "TLS13"])
    func multiplexing(peer: String) async throws {
        try await TLSPeer.withClient(TLSPeer.trust()) { client in
            let url = try TLSPeer.url(peer, "/session")
            // From the first request, libcurl learns that this server supports HTTP/2.
            _ = try await client.text(url)
            let connections = try await withThrowingTaskGroup(of: Substring?.self) { group in
                for _ in 0..<100 {
                    group.addTask { try await client.text(url).split(separator: " ").first }
                }
                return try await group.reduce(into: Set<Substring>()) { if let number = $1 { $0.insert(number) } }
            }
            #expect((1...3).contains(connections.count))
        }
    }

    @Test(
        "Verifies chains with an intermediate authority or RSA keys",
        arguments: [("CHAIN", "authority.pem"), ("RSA", "rsa-authority.pem")]
    )
    func chains(peer: String, authority: String) async throws {
        let url = try TLSPeer.url(peer, "/ok")
        try await TLSPeer.withClient(TLSPeer.trust(authority)) { client in
            let body = try await client.text(url)
            #expect(body == "exact body\n")
        }
        let other = authority == "authority.pem" ? "rsa-authority.pem" : "authority.pem"
        try await TLSPeer.withClient(TLSPeer.trust(other)) { client in
            let error = await #expect(throws: NetworkError(.tls, "")) { try await client.text(url) }
            #expect(error?.tlsFailure == .untrustedChain)
        }
    }

    @Test("Rejects a chain with a missing certificate, unless the client has it")
    func incomplete() async throws {
        let url = try TLSPeer.url("INCOMPLETE", "/ok")
        try await TLSPeer.withClient(TLSPeer.trust()) { client in
            let error = await #expect(throws: NetworkError(.tls, "")) { try await client.text(url) }
            #expect(error?.tlsFailure == .untrustedChain)
        }
        let both = try TrustRoots.file(TLSPeer.file("authority.pem")).adding(.file(TLSPeer.file("intermediate.pem")))
        try await TLSPeer.withClient(TLSConfiguration(trustRoots: both)) { client in
            let body = try await client.text(url)
            #expect(body == "exact body\n")
        }
    }

    @Test("Computes the same pins as openssl", arguments: ["leaf", "intermediate", "authority"])
    func pins(certificate: String) async throws {
        let file = try TLSPeer.file("\(certificate).pem")
        let script = """
            openssl x509 -in "$0" -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64
            """
        let peer = try await ChildProcess.run("/bin/sh", ["-c", script, file])
        let pin = peer.output.trimmingCharacters(in: .whitespacesAndNewlines)
        let backup = Data(repeating: 7, count: 32).base64EncodedString()
        let other = Data(repeating: 8, count: 32).base64EncodedString()
        let url = try TLSPeer.url("CHAIN", "/ok")
        for (pins, isRight) in [([pin, backup], true), ([other, backup], false)] {
            var tls = try TLSPeer.trust()
            tls.serverTrustEvaluator = try ServerTrustEvaluator(
                configuration: ServerTrustEvaluator.Configuration(
                    pinningPolicies: [PinningPolicy(domainName: "localhost", pinnedHashes: Set(pins))]
                )
            )
            try await TLSPeer.withClient(tls) { client in
                if isRight {
                    let body = try await client.text(url)
                    return #expect(body == "exact body\n")
                }
                let error = await #expect(throws: NetworkError(.tls, "")) { try await client.text(url) }
                if case .pinMismatch(let seen) = error?.tlsFailure {
                    #expect(seen.contains { PublicKeyPin(pin) == $0 })
                } else {
                    Issue.record("\(String(describing: error))")
                }
            }
        }
    }
}
