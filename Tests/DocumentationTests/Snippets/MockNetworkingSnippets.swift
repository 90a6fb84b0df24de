import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Testing

/// The samples of the MockNetworking catalog, run.
@Suite("MockNetworking samples")
struct MockNetworkingSnippets {
    @Test("A scripted transport")
    func scripting() async throws {
        let request = URLRequest(url: try #require(URL(string: "https://api.example/users/1")))

        let transport = MockTransport(.status(503), .json(#"{"name":"Ada"}"#))
        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(1)])
        let data = try await client.makeRequest(request)
        let attempts = transport.requests.count

        #expect(data == Data(#"{"name":"Ada"}"#.utf8))
        #expect(attempts == 2)
    }

    @Test("A server in TLS and a client that doesn't trust it")
    func distrust() async throws {
        let authority = try MockCertificateAuthority()
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        try await withLoopbackServer(configuration: configuration) { server in
            let request = URLRequest(url: server.url(for: "/"))
            await #expect(throws: NetworkError(.tls, "")) {
                _ = try await NetworkClient().makeRequest(request)
            }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections.map(\.receivedOctetCount) == [0])
        }
    }
}
