import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("Cases of http-tests/cache-tests", .limitedConcurrency)
struct CacheConformanceTests {
    @Test("Every case applies or has a reason why it doesn't")
    func completeness() throws {
        let all = try CacheCases.all.get()
        let ids = all.cases.map(\.id) + all.notApplicable.values.flatMap(\.self)
        #expect(ids.count == 370 && Set(ids).count == 370)
        #expect(all.cases.count == 288)
    }

    @Test("Stores, validates and replaces responses as the case requires")
    func scripted() async throws {
        for test in try CacheCases.all.get().cases {
            let server = CacheCaseServer(test)
            let transport = MockTransport(time: server.time.timeSource) { request in
                guard let response = server.respond(to: request.headers) else {
                    throw NetworkError(.connectionLost, "closed")
                }
                return response
            }
            try await server.run(client(server, transport), try #require(URL(string: "http://a.example")))
        }
    }

    /// The cases with invalid codings, which the transport rejects.
    private static let rejected: Set = [
        "headers-store-Transfer-Encoding", "headers-store-Content-Encoding",
        "304-etag-update-response-Content-Encoding",
    ]

    @Test("Stores, validates and replaces responses of a server as the case requires")
    func loopback() async throws {
        for test in try CacheCases.all.get().cases where !Self.rejected.contains(test.id) {
            let server = CacheCaseServer(test)
            try await withLoopbackServer { loopback in
                loopback.fallback { request in
                    guard let response = server.respond(to: request.headers) else {
                        return .status(200).cut(.after(octets: 0))
                    }
                    return LoopbackResponse(status: response.status, headers: response.headers, body: response.body)
                }
                try await server.run(client(server, CurlTransport()), loopback.baseURL)
            }
        }
    }

    private func client(_ server: CacheCaseServer, _ transport: some HTTPTransport) -> NetworkClient {
        var options = NetworkClient.Options()
        options.timeSource = server.time.timeSource
        options.timeout = nil
        return NetworkClient(
            transport: transport,
            interceptors: [CacheInterceptor(timeSource: server.time.timeSource)],
            options: options
        )
    }
}
