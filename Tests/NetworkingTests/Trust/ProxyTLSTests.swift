import Foundation
import MockNetworking
import Networking
import TestPrograms
import TestSupport
import Testing

@Suite("TLS to proxies", .limitedConcurrency)
struct ProxyTLSTests {
    /// Sends a request for an `http` URL to a server that acts as an HTTPS proxy.
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

    @Test("Applies the trust roots to a proxy", arguments: ["localhost", "127.0.0.1"])
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

    @Test("Requires the proxy's certificate to match its name")
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

    @Test("Sends no client certificate to a proxy, even on request", .shows("H14"))
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

    @Test("Finds the pins under the proxy's own name")
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

@Suite(
    "Tunnels through TLS to proxies",
    .enabled(if: ChildProgram.path(of: "python3") != nil, "requires python3"),
    .limitedConcurrency
)
struct ProxyTunnelTLSTests {
    /// Prints its port, then each request line and whether the request had credentials.
    private static let program = """
        import select, socket, ssl, sys, threading
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        listener = socket.create_server(("127.0.0.1", 0))
        print("PORT", listener.getsockname()[1], flush=True)
        def serve(raw):
            try:
                client = context.wrap_socket(raw, server_side=True)
                head = b""
                while b"\\r\\n\\r\\n" not in head:
                    part = client.recv(4096)
                    if not part: return
                    head += part
                lines = head.decode().split("\\r\\n")
                known = any(line.lower() == "proxy-authorization: basic dTpw".lower() for line in lines)
                print(lines[0], "known" if known else "unknown", "secret" in head.decode(), flush=True)
                origin = socket.create_connection(("127.0.0.1", int(lines[0].split()[1].rsplit(":", 1)[1])))
                client.sendall(b"HTTP/1.1 200 Connection established\\r\\n\\r\\n")
                while True:
                    ready = [client] if client.pending() else select.select([client, origin], [], [])[0]
                    for source in ready:
                        data = source.recv(65536)
                        if not data: return
                        (origin if source is client else client).sendall(data)
            except (OSError, ssl.SSLError) as error:
                print("ERROR", error, flush=True)
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """

    private func withProxy(_ fixture: TLSFixture, _ test: (ChildServer) async throws -> Void) async throws {
        let proxy = try await ChildServer.start("python3", ["-c", Self.program, "chain.pem", "key.pem"], fixture) {
            output in
            output.firstMatch(of: /PORT (\d+)/).flatMap { Int($0.1) }
        }
        defer { proxy.stop() }
        try await test(proxy)
    }

    private func get(
        _ server: LoopbackServer,
        through proxy: ChildServer,
        trusting roots: TrustRoots,
        pinning evaluator: ServerTrustEvaluator? = nil
    ) async throws -> NetworkError? {
        let location = try #require(URL(string: "https://localhost:\(proxy.port)"))
        let credentials = CurlTransport.ProxyCredentials(username: "u", password: "p")
        let configuration = CurlTransport.Configuration(
            proxy: .https(location, credentials: credentials),
            tls: TLSConfiguration(trustRoots: roots, serverTrustEvaluator: evaluator)
        )
        return try await withCurl(configuration) { transport in
            await failure {
                let request = HTTPRequest(
                    url: server.url(for: "/", host: "api.localhost"),
                    headers: ["Authorization": "Bearer secret"]
                )
                let response = try await transport.send(request)
                #expect(response.body == Data("hello".utf8))
            }
        }
    }

    @Test("Sends the request without showing its header or path to the proxy")
    func tunnel() async throws {
        let fixture = try TLSFixture()
        try await withProxy(fixture) { proxy in
            try await fixture.withServer { server in
                let error = try await get(server, through: proxy, trusting: fixture.roots)
                #expect(error == nil)
                #expect(server.connections.map(\.serverName) == ["api.localhost"])
                #expect(proxy.output.contains("CONNECT api.localhost:\(server.port) HTTP/1.1 known False"))
            }
        }
    }

    @Test("Rejects an untrusted proxy, and an untrusted server behind a trusted proxy", .shows("H14"))
    func distrust() async throws {
        let (proxys, servers) = (try TLSFixture(), try TLSFixture())
        try await withProxy(proxys) { proxy in
            try await servers.withServer { server in
                let behind = try await get(server, through: proxy, trusting: proxys.roots)
                #expect(behind?.tlsFailure == .untrustedChain)
                #expect(try await server.receivedOctets() == 0)
                #expect(proxy.output.contains("CONNECT api.localhost"))
            }
        }
        try await withProxy(proxys) { proxy in
            try await servers.withServer { server in
                let before = try await get(server, through: proxy, trusting: servers.roots)
                #expect(before?.tlsFailure == .untrustedChain)
                #expect(server.acceptedConnectionCount == 0)
                #expect(!proxy.output.contains("CONNECT"))
            }
        }
    }

    @Test("Applies pins to the server in the tunnel and to the proxy, each under its name")
    func pins() async throws {
        let fixture = try TLSFixture()
        func evaluator(_ proxyPin: String, _ serverPin: String) throws -> ServerTrustEvaluator {
            let policies = try [("localhost", proxyPin), ("api.localhost", serverPin)].map {
                try PinningPolicy(domainName: $0.0, pinnedHashes: [$0.1], enforceBackupPin: false)
            }
            return try ServerTrustEvaluator(configuration: .init(pinningPolicies: policies))
        }
        let pin = fixture.certificate.publicKeyPin
        for (proxyPin, serverPin, isRefused) in [
            (pin, pin, false), (pin, PublicKeyPin.nobodys, true), (PublicKeyPin.nobodys, pin, true),
        ] {
            try await withProxy(fixture) { proxy in
                try await fixture.withServer { server in
                    let evaluator = try evaluator(proxyPin, serverPin)
                    let error = try await get(server, through: proxy, trusting: fixture.roots, pinning: evaluator)
                    #expect((error != nil) == isRefused)
                    if isRefused {
                        guard case .pinMismatch = error?.tlsFailure else {
                            Issue.record("unexpected: \(String(describing: error))")
                            return
                        }
                        #expect(try await server.receivedOctets() == 0)
                    }
                }
            }
        }
    }
}
