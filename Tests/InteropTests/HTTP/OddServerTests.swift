import Foundation
import FoundationNetworking
import Networking
import Testing

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
