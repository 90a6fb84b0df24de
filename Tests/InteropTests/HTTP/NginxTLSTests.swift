import Foundation
import FoundationNetworking
import Networking
import TestSupport
import Testing

@Suite("CurlTransport and nginx over TLS", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxTLSTests {
    @Test(
        "Uses HTTP/2 if both support it, HTTP/1.1 if the client requires it, in both TLS versions",
        .shows("RFC 9113"),
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

    @Test("Rejects a server outside the configured TLS versions", .shows("RFC 8446, RFC 5246"))
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

    @Test("Computes the same pins as openssl", .shows("1.33"), arguments: ["leaf", "intermediate", "authority"])
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

@Suite("TLSConfiguration and nginx", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxTrustTests {
    private func file(_ name: String) throws -> String { try Interop.required("INTEROP_FOLDER") + "/" + name }

    private var roots: TrustRoots {
        get throws { try .file(Interop.required("INTEROP_AUTHORITY")) }
    }

    private func pinning(_ pins: [String]) throws -> TLSConfiguration {
        let policy = try PinningPolicy(domainName: "localhost", pinnedHashes: pins, enforceBackupPin: false)
        let evaluator = try ServerTrustEvaluator(configuration: .init(pinningPolicies: [policy]))
        return TLSConfiguration(trustRoots: try roots, serverTrustEvaluator: evaluator)
    }

    private func text(_ server: String, _ path: String, _ client: NetworkClient) async throws -> String {
        let url = try #require(URL(string: Interop.required(server) + path))
        return String(decoding: try await client.makeRequest(URLRequest(url: url)), as: UTF8.self)
    }

    @Test("A request with a wrong pin never reaches the server's log", .shows("Y7"))
    func wrongPin() async throws {
        let (stopped, sent) = ("/ok?\(UUID().uuidString)", "/ok?\(UUID().uuidString)")
        let wrong = try NetworkClient(tls: pinning(["AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]))
        let error = await #expect(throws: NetworkError(.tls, "")) {
            _ = try await text("INTEROP_HTTPS", stopped, wrong)
        }
        guard case .pinMismatch(let seen) = error?.tlsFailure else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(seen.count == 2)
        _ = try await text("INTEROP_HTTPS", sent, NetworkClient(tls: TLSConfiguration(trustRoots: try roots)))
        // nginx writes the line after the response, but before the connection's next request.
        let log = { try String(contentsOfFile: file("access.log"), encoding: .utf8) }
        #expect(try await eventually { try log().contains(sent) })
        #expect(try !log().contains(stopped))
    }

    @Test("Resumes a TLS session without pins, and never with them", .shows("H12"))
    func sessions() async throws {
        let pin = try PublicKeyPin(certificate: Data(contentsOf: URL(filePath: file("server.pem")))).description
        for (tls, expected) in [
            (TLSConfiguration(trustRoots: try roots), ["TLSv1.2 .", "TLSv1.2 r", "TLSv1.2 r"]),
            (try pinning([pin]), ["TLSv1.2 .", "TLSv1.2 .", "TLSv1.2 ."]),
        ] {
            let client = try NetworkClient(tls: tls)
            var answers: [String] = []
            for _ in expected { answers.append(try await text("INTEROP_RESUMING", "/", client)) }
            #expect(answers == expected)
        }
    }
}

@Suite("Client certificates and nginx", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct NginxClientCertificateTests {
    private func subject(_ identity: ClientIdentity?, _ version: TLSVersion = .tls13) async throws -> String {
        var tls = try TLSPeer.trust()
        tls.clientIdentity = identity
        tls.maximumVersion = version
        return try await TLSPeer.withClient(tls) { client in try await client.text(TLSPeer.url("MUTUAL", "/client")) }
    }

    @Test("Presents the certificate, from PEM and from PKCS#12", arguments: [TLSVersion.tls12, .tls13])
    func right(version: TLSVersion) async throws {
        let chain = try TLSPeer.file("client.pem")
        let identities = [
            try ClientIdentity(certificateChainFile: chain, privateKeyFile: TLSPeer.file("client-key.pem")),
            try ClientIdentity(certificateChainFile: chain, privateKeyFile: TLSPeer.file("client-encrypted-key.pem")) {
                "secret"
            },
            try ClientIdentity(pkcs12File: TLSPeer.file("client.p12")) { "secret" },
        ]
        for identity in identities { #expect(try await subject(identity, version) == "CN=client") }
    }

    @Test("Distinguishes a wrong password")
    func wrongPassword() throws {
        let archive = try #require(throws: TrustConfigurationError.self) {
            try ClientIdentity(pkcs12File: TLSPeer.file("client.p12")) { "wrong" }
        }
        #expect(archive.code == .incorrectPassword)
        let key = try #require(throws: TrustConfigurationError.self) {
            try ClientIdentity(
                certificateChainFile: TLSPeer.file("client.pem"),
                privateKeyFile: TLSPeer.file("client-encrypted-key.pem")
            ) { "wrong" }
        }
        #expect(key.code == .incorrectPassword)
    }

    // nginx completes the handshake and reports the missing certificate in its response.
    @Test("nginx responds with 400 to a missing certificate or one of another authority")
    func refused() async throws {
        let stranger = try ClientIdentity(
            certificateChainFile: TLSPeer.file("stranger.pem"),
            privateKeyFile: TLSPeer.file("stranger-key.pem")
        )
        for identity in [nil, stranger] {
            let error = try await #require(throws: ServerError.self) { try await subject(identity) }
            #expect(error.errorCode == 400)
        }
    }
}

/// The TLS servers that `Tests/Interop/run` started, with clients that trust their authorities.
enum TLSPeer {
    static func url(_ name: String, _ path: String) throws -> URL {
        try #require(URL(string: Interop.required("INTEROP_\(name)") + path))
    }

    /// Returns the path of a file from `Tests/Interop/certificates`.
    static func file(_ name: String) throws -> String {
        try Interop.required("INTEROP_FOLDER") + "/" + name
    }

    /// Returns the configuration of a client that trusts only one authority.
    static func trust(_ authority: String = "authority.pem") throws -> TLSConfiguration {
        TLSConfiguration(trustRoots: try .file(file(authority)))
    }

    /// Runs a test with a client, and then closes it.
    static func withClient<Result>(
        _ tls: TLSConfiguration,
        proxy: CurlTransport.ProxySelection = .none,
        _ change: (inout CurlTransport.Configuration) -> Void = { _ in },
        perform body: (NetworkClient) async throws -> Result
    ) async throws -> Result {
        var configuration = CurlTransport.Configuration(proxy: proxy, tls: tls)
        change(&configuration)
        let transport = try CurlTransport(configuration: configuration)
        do {
            let result = try await body(NetworkClient(transport: transport))
            await transport.close()
            return result
        } catch {
            await transport.close()
            throw error
        }
    }
}

extension NetworkClient {
    /// Returns the body of a response as text.
    func text(_ url: URL) async throws -> String {
        String(decoding: try await makeRequest(URLRequest(url: url)), as: UTF8.self)
    }
}
