import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// The samples of the article on caching.
@Suite("Caching samples", .limitedConcurrency)
struct CacheSnippets {
    @Test("Adds a cache after an authenticator")
    func adding() {
        let authenticator = ClosureInterceptor.changingRequest { $0.setAuthorization("Bearer a") }

        let client = NetworkClient(interceptors: [
            authenticator, CacheInterceptor(), Retry.Policy.maxRetries(2),
        ])
        #expect(client.interceptors.count == 3)
    }

    @Test("Separates users by an API key")
    func keys() async throws {
        var options = NetworkClient.Options()
        options.redirects = .follow.protecting("X-Api-Key")
        let client = NetworkClient(
            interceptors: [CacheInterceptor()],
            options: options
        )
        try await withLoopbackServer { server in
            server.on(.get, "/", .text("a", headers: ["Cache-Control": "private, max-age=60"]))
            for key in ["one", "two", "one"] {
                var request = URLRequest(url: server.url(for: "/"))
                request.setValue(key, forHTTPHeaderField: "X-Api-Key")
                _ = try await client.data(for: request)
            }
            #expect(server.requests.count == 2)
        }
    }

    @Test("Revalidates a stored response")
    func revalidating() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .text("a", headers: ["Cache-Control": "max-age=60"]))
            let client = NetworkClient(interceptors: [CacheInterceptor()])
            let url = server.url(for: "/")

            var request = URLRequest(url: url)
            request.cachePolicy = .reloadRevalidatingCacheData
            let response = try await client.response(for: request)
            switch response.cacheUse {
            case nil: print("the server sent the response")
            case .revalidated: print("the server confirmed the stored response")
            default: print("the response is \(response.headers["Age"] ?? "?") s old")
            }
            #expect(response.cacheUse == nil)
        }
    }

    @Test("Removes all responses")
    func removing() {
        let storage = MemoryResponseCache(capacity: 50 << 20)
        let client = NetworkClient(interceptors: [CacheInterceptor(cache: storage)])
        storage.removeAll()
        #expect(client.interceptors.count == 1)
    }
}
