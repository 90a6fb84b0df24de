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
}
