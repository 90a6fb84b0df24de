import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Testing

/// The samples of the Networking catalog, run.
@Suite("Networking samples")
struct NetworkingSnippets {
    @Test("A shared client with retries", arguments: [(200, "ok"), (404, "none")])
    func sending(_ status: Int, _ expected: String) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .text("ok", status: status))
            var outcome = ""
            let request = URLRequest(url: server.url(for: "/"))
            let use = { (data: Data) in outcome = String(decoding: data, as: UTF8.self) }
            let useNothing = { outcome = "none" }

            let client = NetworkClient(interceptors: [Retry.Policy.maxRetries(2)])
            do {
                let data = try await client.makeRequest(request)
                use(data)
            } catch let error as ServerError where error.errorCode == 404 {
                useNothing()
            }
            #expect(outcome == expected)
        }
    }

    @Test("Waiting between attempts")
    func waiting() {
        let client = NetworkClient(interceptors: [
            Retry.Policy.backoff(.exponential(.milliseconds(100), until: .maxDelay(.seconds(5))))
        ])
        #expect(client.interceptors.count == 1)
    }
}
