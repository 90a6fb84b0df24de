import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Testing

/// A client with a cache and a scripted server, on a clock that stands still.
struct CacheFixture {
    let time = ManualTime()
    let transport: MockTransport
    let cache: MemoryResponseCache
    let client: NetworkClient

    static let url = URL(string: "http://a.example/things")!

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - steps: The server's responses.
    ///   - capacity: The capacity of the cache.
    ///   - before: The interceptors before the cache.
    ///   - after: The interceptors after the cache.
    init(
        _ steps: MockTransport.Step...,
        capacity: Int = 10 << 20,
        before: [any RequestInterceptor] = [],
        after: [any RequestInterceptor] = [],
        redirects: RedirectPolicy = .follow
    ) {
        transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
        cache = MemoryResponseCache(capacity: capacity)
        var options = NetworkClient.Options()
        options.timeSource = time.timeSource
        options.timeout = nil
        options.redirects = redirects
        client = NetworkClient(
            transport: transport,
            interceptors: before + [CacheInterceptor(cache: cache, timeSource: time.timeSource)] + after,
            options: options
        )
    }

    static func request(_ fields: [String: String] = [:], method: String = "GET", url: URL = url) -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    func response(_ fields: [String: String] = [:], method: String = "GET", url: URL = url) async throws -> HTTPResponse
    {
        try await client.response(for: Self.request(fields, method: method, url: url))
    }

    /// Sends a request and returns its body as text.
    func text(_ fields: [String: String] = [:]) async throws -> String {
        String(decoding: try await response(fields).body, as: UTF8.self)
    }

    /// The number of requests that reached the server.
    var sent: Int { transport.requests.count }
}

extension HTTPHeaders {
    /// The fields of a response that is fresh for a minute.
    static var fresh: Self { ["Cache-Control": "max-age=60"] }

    /// The fields of a response that is fresh for a minute, also with credentials.
    static var personal: Self { ["Cache-Control": "private, max-age=60"] }
}
