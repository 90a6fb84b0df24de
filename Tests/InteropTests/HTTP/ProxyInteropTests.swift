import Foundation
import FoundationNetworking
import Networking
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

    @Test("A tunnel through the proxy reaches TLS servers", arguments: ["TLS12", "TLS13"])
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

    @Test("A SOCKS5 proxy forwards plain requests and TLS")
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
