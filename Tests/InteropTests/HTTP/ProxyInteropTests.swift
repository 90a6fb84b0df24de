import Foundation
import FoundationNetworking
import Networking
import TestSupport
import Testing

@Suite("Proxies: tinyproxy and microsocks", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct ProxyInteropTests {
    private typealias Proxy = CurlTransport.ProxySelection
    private static let right = CurlTransport.ProxyCredentials(username: "user", password: "secret")
    private static let wrong = CurlTransport.ProxyCredentials(username: "user", password: "wrong")

    private func http(_ credentials: CurlTransport.ProxyCredentials?, noProxy: [String] = []) throws -> Proxy {
        let url = try #require(URL(string: Interop.required("INTEROP_PROXY")))
        return .http(url, credentials: credentials, noProxy: noProxy)
    }

    private func socks(_ credentials: CurlTransport.ProxyCredentials?) throws -> Proxy {
        .socks5(try #require(URL(string: Interop.required("INTEROP_SOCKS"))), credentials: credentials)
    }

    private func withClient<Result>(
        _ proxy: Proxy,
        _ body: (NetworkClient) async throws -> Result
    ) async throws -> Result {
        try await TLSPeer.withClient(TLSPeer.trust(), proxy: proxy, perform: body)
    }

    @Test("An HTTP proxy forwards a plain request without the proxy password")
    func plain() async throws {
        try await withClient(http(Self.right)) { client in
            let via = try await client.makeRequest(Nginx.request("/via"))
            let text = String(decoding: via, as: UTF8.self)
            #expect(text.contains("interop"))
            #expect(text.hasSuffix("|"))
            let body = try await client.makeRequest(Nginx.request("/large"))
            #expect(try body == Nginx.large())
            let size = try await client.makeRequest(Nginx.request("/size", method: "POST", body: Nginx.large()))
            #expect(String(decoding: size, as: UTF8.self) == "POST \(10 << 20)")
        }
    }

    @Test("A tunnel through the proxy reaches TLS servers", .shows("P20"), arguments: ["TLS12", "TLS13"])
    func tunnel(peer: String) async throws {
        try await withClient(http(Self.right)) { client in
            let version = peer == "TLS12" ? "TLSv1.2" : "TLSv1.3"
            #expect(try await client.text(TLSPeer.url(peer, "/agreed")) == "HTTP/2.0 \(version)")
            let body = try await client.makeRequest(URLRequest(url: TLSPeer.url(peer, "/large")))
            #expect(try body == Nginx.large())
        }
        // The tunnel doesn't change which servers are trusted.
        try await TLSPeer.withClient(TLSPeer.trust("rsa-authority.pem"), proxy: http(Self.right)) { client in
            let url = try TLSPeer.url(peer, "/agreed")
            let error = await #expect(throws: NetworkError(.tls, "")) { try await client.text(url) }
            #expect(error?.tlsFailure == .untrustedChain)
        }
    }

    // tinyproxy responds to wrong credentials with 401, which is an origin server's status, not a
    // proxy's.
    @Test("With a wrong password, the proxy responds to a plain request and rejects a tunnel")
    func refused() async throws {
        for (credentials, status, code) in [
            (nil, 407, NetworkError.Code.proxyAuthenticationRequired), (Self.wrong, 401, .cannotConnect),
        ] {
            try await withClient(http(credentials)) { client in
                let request = try Nginx.request("/ok")
                let answer = try await #require(throws: ServerError.self) { try await client.makeRequest(request) }
                #expect(answer.errorCode == status)
                let url = try TLSPeer.url("TLS13", "/ok")
                let error = await #expect(throws: NetworkError(code, "")) { try await client.text(url) }
                #expect(error.map { !"\($0)".contains("wrong") } ?? false)
            }
        }
    }

    @Test("Reaches an excluded host without the proxy")
    func noProxy() async throws {
        try await withClient(http(Self.wrong, noProxy: ["127.0.0.1"])) { client in
            let via = try await client.makeRequest(Nginx.request("/via"))
            #expect(via == Data("|".utf8))
        }
    }

    @Test("A SOCKS5 proxy forwards plain requests and TLS", .shows("RFC 1928, RFC 1929"))
    func socks() async throws {
        try await withClient(socks(Self.right)) { client in
            #expect(try await client.makeRequest(Nginx.request("/via")) == Data("|".utf8))
            #expect(try await client.text(TLSPeer.url("TLS13", "/agreed")) == "HTTP/2.0 TLSv1.3")
            let body = try await client.makeRequest(URLRequest(url: TLSPeer.url("TLS13", "/large")))
            #expect(try body == Nginx.large())
        }
    }

    @Test("Fails if a SOCKS5 proxy rejects the password")
    func refusedSocks() async throws {
        for credentials in [nil, Self.wrong] {
            try await withClient(socks(credentials)) { client in
                let request = try Nginx.request("/ok")
                let error = await #expect(throws: NetworkError(.cannotConnect, "")) {
                    try await client.makeRequest(request)
                }
                #expect(error.map { !"\($0)".contains("wrong") } ?? false)
            }
        }
    }
}

@Suite("Python's http.server", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct PythonServerTests {
    private func request(_ path: String, method: String = "GET", body: Data? = nil) throws -> URLRequest {
        var request = URLRequest(url: try TLSPeer.url("PYTHON_SERVER", path))
        request.httpMethod = method
        request.httpBody = body
        return request
    }

    @Test("Receives HTTP/1.0 responses, each on its own connection", arguments: Engine.allCases)
    func files(engine: Engine) async throws {
        let client = engine.client()
        for _ in 0..<3 { #expect(try await client.makeRequest(request("/large")) == Nginx.large()) }
        let head = try await client.response(for: request("/large", method: "HEAD"))
        #expect(head.headers["Content-Length"] == "\(10 << 20)")
        #expect(head.body.isEmpty)
    }

    @Test("Throws a server error for a missing resource or an unsupported method", arguments: Engine.allCases)
    func failures(engine: Engine) async throws {
        let missing = try await #require(throws: ServerError.self) {
            try await engine.client().makeRequest(request("/missing"))
        }
        #expect(missing.errorCode == 404)
        // The server responds without reading the body, and closes the connection.
        let unsupported = try await #require(throws: ServerError.self) {
            try await engine.client().makeRequest(request("/x", method: "POST", body: Data("x".utf8)))
        }
        #expect(unsupported.errorCode == 501)
    }
}

@Suite("openssl s_server", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(20)))
struct OpenSSLServerTests {
    @Test(
        "Supports a rare curve without tickets, RSA key exchange, and certificate requests",
        arguments: [
            ("CHACHA", "authority.pem", "TLS_CHACHA20_POLY1305_SHA256"), ("STATIC", "rsa-authority.pem", "AES128-SHA"),
            ("ASKING", "authority.pem", "TLSv1.2"),
        ]
    )
    func page(peer: String, authority: String, sign: String) async throws {
        try await TLSPeer.withClient(TLSPeer.trust(authority)) { client in
            for _ in 0..<3 {
                let page = try await client.text(TLSPeer.url(peer, "/"))
                #expect(page.contains(sign))
            }
        }
    }

    @Test("Presents a requested certificate if it has one")
    func shownCertificate() async throws {
        var tls = try TLSPeer.trust()
        tls.clientIdentity = try ClientIdentity(
            certificateChainFile: TLSPeer.file("client.pem"),
            privateKeyFile: TLSPeer.file("client-key.pem")
        )
        try await TLSPeer.withClient(tls) { client in
            let page = try await client.text(TLSPeer.url("ASKING", "/"))
            #expect(page.contains("CN=client") || page.contains("CN = client"))
        }
    }

    @Test("Reports incompatible TLS versions")
    func versions() async throws {
        var tls = try TLSPeer.trust()
        tls.maximumVersion = .tls12
        try await TLSPeer.withClient(tls) { client in
            let url = try TLSPeer.url("CHACHA", "/")
            let error = await #expect(throws: NetworkError(.tls, "")) { try await client.text(url) }
            #expect(error?.tlsFailure == .protocolVersion)
        }
    }
}
