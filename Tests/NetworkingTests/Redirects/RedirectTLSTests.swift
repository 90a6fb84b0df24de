import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests of redirects between servers with and without TLS, based on the requests that arrive.
@Suite("Redirects and TLS", .limitedConcurrency)
struct RedirectTLSTests {
    private func withServers(
        _ test: (_ client: NetworkClient, _ secure: LoopbackServer, _ other: LoopbackServer) async throws -> Void,
        isOtherSecure: Bool
    ) async throws {
        let authority = try MockCertificateAuthority()
        var secure = LoopbackServer.Configuration()
        secure.tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        let tls = TLSConfiguration(trustRoots: try .pem(authority.certificatePEM))
        let transport = try CurlTransport(configuration: .init(proxy: .none, tls: tls))
        let client = NetworkClient(transport: transport)
        try await withLoopbackServer(configuration: secure) { server async throws in
            try await withLoopbackServer(configuration: isOtherSecure ? secure : .init()) { other async throws in
                try await test(client, server, other)
            }
        }
        await transport.close()
    }

    private func request(_ server: LoopbackServer) -> URLRequest {
        var request = URLRequest(url: server.url(for: "/start"))
        request.setValue("Bearer t0ken", forHTTPHeaderField: "Authorization")
        return request
    }

    @Test("Sends nothing from https to http")
    func downgrade() async throws {
        try await withServers(
            { client, secure, plain in
                let location = plain.url(for: "/there").absoluteString
                secure.fallback { _ in .status(302, headers: ["Location": location]) }
                plain.fallback { _ in .text("there") }
                let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(request(secure)) }
                #expect(error?.code == .redirectRefused)
                #expect(secure.requestCount == 1)
                #expect(plain.acceptedConnectionCount == 0)
            },
            isOtherSecure: false
        )
    }

    @Test("Follows a redirect from http to https without credentials")
    func upgrade() async throws {
        try await withServers(
            { client, secure, plain in
                let location = secure.url(for: "/there").absoluteString
                plain.fallback { _ in .status(308, headers: ["Location": location]) }
                secure.fallback { _ in .text("there") }
                let response = try await client.response(for: request(plain))
                #expect(response.url.scheme == "https")
                #expect(plain.requests.map { $0.headers["Authorization"] } == ["Bearer t0ken"])
                #expect(secure.requests.map { $0.headers["Authorization"] } == [nil])
            },
            isOtherSecure: false
        )
    }

    @Test("Keeps credentials within one https server and doesn't send them to another")
    func crossOrigin() async throws {
        try await withServers(
            { client, first, second in
                let location = second.url(for: "/there").absoluteString
                first.on(.get, "/start", .status(307, headers: ["Location": "/next"]))
                first.on(.get, "/next", .status(307, headers: ["Location": location]))
                second.fallback { _ in .text("there") }
                let stream = try await client.stream(request(first))
                #expect(try await stream.stream.collect(upTo: 10) == Data("there".utf8))
                #expect(first.requests.map { $0.headers["Authorization"] } == ["Bearer t0ken", "Bearer t0ken"])
                #expect(second.requests.map { $0.headers["Authorization"] } == [nil])
            },
            isOtherSecure: true
        )
    }
}
