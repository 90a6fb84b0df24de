import Foundation
import FoundationNetworking
import Networking
import Testing

@Suite("Python's http.server", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(5)))
struct PythonServerTests {
    private func request(_ path: String, method: String = "GET", body: Data? = nil) throws -> URLRequest {
        var request = URLRequest(url: try TLSPeer.url("PYTHON_SERVER", path))
        request.httpMethod = method
        request.httpBody = body
        return request
    }

    @Test("HTTP/1.0 answers, each on a connection of its own, come as they were sent", arguments: Engine.allCases)
    func files(engine: Engine) async throws {
        let client = engine.client()
        for _ in 0..<3 { #expect(try await client.makeRequest(request("/large")) == Nginx.large()) }
        let head = try await client.response(for: request("/large", method: "HEAD"))
        #expect(head.headers["Content-Length"] == "\(10 << 20)")
        #expect(head.body.isEmpty)
    }

    @Test("What it does not have or can't do is a server error", arguments: Engine.allCases)
    func failures(engine: Engine) async throws {
        let missing = try await #require(throws: ServerError.self) {
            try await engine.client().makeRequest(request("/missing"))
        }
        #expect(missing.errorCode == 404)
        // It answers without having read the body, and closes.
        let unsupported = try await #require(throws: ServerError.self) {
            try await engine.client().makeRequest(request("/x", method: "POST", body: Data("x".utf8)))
        }
        #expect(unsupported.errorCode == 501)
    }
}

@Suite("openssl s_server", .enabled(if: Interop.isPrepared, Interop.hint), .timeLimit(.minutes(5)))
struct OpenSSLServerTests {
    @Test(
        "Rare TLS is spoken: one suite on a rare curve without tickets, RSA key exchange, a certificate that is asked for",
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

    @Test("A certificate that is asked for is shown if there is one")
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

    @Test("A client with other versions is told so")
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
