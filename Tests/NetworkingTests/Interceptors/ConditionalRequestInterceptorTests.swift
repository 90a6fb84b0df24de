import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("ConditionalRequestInterceptor", .limitedConcurrency)
struct ConditionalRequestInterceptorTests {
    private let url = URL(string: "http://a.example/things")!

    private func client(
        _ transport: MockTransport,
        _ interceptor: ConditionalRequestInterceptor = ConditionalRequestInterceptor()
    ) -> NetworkClient {
        NetworkClient(transport: transport, interceptors: [interceptor])
    }

    private func request(_ headers: [String: String] = [:], method: String = "GET") -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = method
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }

    private let tagged: HTTPHeaders = ["ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "X-A": "old"]

    @Test("Replaces a 304 with the cached response and updated header fields")
    func notModified() async throws {
        let transport = MockTransport(
            .text("first", headers: tagged),
            .status(304, headers: ["X-A": "new", "Content-Length": "0", "ETag": "\"1\""]),
            .text("second", headers: ["ETag": "W/\"2\""]),
            .status(304)
        )
        let client = client(transport)
        #expect(try await client.makeRequest(request()) == Data("first".utf8))
        let again = try await client.response(for: request())
        #expect(again.status == 200 && again.body == Data("first".utf8))
        #expect(
            again.headers.values(for: "X-A") == ["new"] && again.headers["Content-Type"] == "text/plain; charset=utf-8"
        )
        #expect(again.headers["Content-Length"] == nil)
        #expect(try await client.makeRequest(request()) == Data("second".utf8))
        #expect(try await client.makeRequest(request()) == Data("second".utf8))
        let sent = transport.requests.map(\.headers)
        #expect(sent.map { $0["If-None-Match"] } == [nil, "\"1\"", "\"1\"", "W/\"2\""])
        #expect(sent.map { $0["If-Modified-Since"] } == [nil, tagged["Last-Modified"], tagged["Last-Modified"], nil])
    }

    @Test("Caches responses separately for each credential")
    func credentials() async throws {
        let transport = MockTransport(.text("a", headers: tagged), .text("b", headers: tagged), .status(304))
        let client = client(transport)
        #expect(try await client.makeRequest(request(["Authorization": "Bearer a"])) == Data("a".utf8))
        #expect(try await client.makeRequest(request(["Authorization": "Bearer b"])) == Data("b".utf8))
        #expect(try await client.makeRequest(request(["Authorization": "Bearer a"])) == Data("a".utf8))
        #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, nil, "\"1\""])
    }

    @Test(
        "Doesn't cache responses that must not be cached",
        arguments: [
            ["ETag": "\"1\"", "Cache-Control": "private, No-Store"], ["ETag": "\"1\"", "Vary": "*"],
            ["X-A": "no validator"],
        ] as [HTTPHeaders]
    )
    func notKept(_ headers: HTTPHeaders) async throws {
        let transport = MockTransport(.text("a", headers: headers), .text("b"))
        let client = client(transport)
        _ = try await client.makeRequest(request())
        _ = try await client.makeRequest(request())
        #expect(transport.requests.allSatisfy { $0.headers["If-None-Match"] == nil })
    }

    @Test("Uses a response with Vary only for requests with the same field values")
    func vary() async throws {
        let transport = MockTransport(
            .text("de", headers: ["ETag": "\"1\"", "Vary": "Accept-Language, accept"]),
            .text("en"),
            .status(304)
        )
        let client = client(transport)
        _ = try await client.makeRequest(request(["Accept-Language": "de"]))
        _ = try await client.makeRequest(request(["Accept-Language": "en"]))
        #expect(try await client.makeRequest(request(["Accept-Language": "de"])) == Data("de".utf8))
        #expect(transport.requests.map { $0.headers["If-None-Match"] } == [nil, nil, "\"1\""])
    }

    @Test(
        "Ignores requests with their own conditions, with no-store or with another method",
        arguments: [
            ["If-None-Match": "\"x\""], ["Range": "bytes=0-1"], ["Cache-Control": "no-store"],
            ["If-Modified-Since": "x"],
        ]
    )
    func leftAlone(_ headers: [String: String]) async throws {
        let transport = MockTransport(.text("a", headers: tagged), .status(304), .text("c"))
        let client = client(transport)
        _ = try await client.makeRequest(request())
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request(headers)) }
        #expect(error?.errorCode == 304)
        _ = try await client.makeRequest(request(method: "POST"))
        let sent = transport.requests.map(\.headers)
        #expect(sent[1]["If-None-Match"] == headers["If-None-Match"])
        #expect(sent[2]["If-None-Match"] == nil)
    }

    @Test("Neither caches a streamed body nor replaces it with a cached one")
    func streamed() async throws {
        let transport = MockTransport(.text("a", headers: tagged), .text("b", headers: tagged), .text("c"))
        let client = client(transport)
        _ = try await client.stream(request())
        _ = try await client.makeRequest(request())
        let stream = try await client.stream(request())
        #expect(try await stream.stream.collect(upTo: 9) == Data("c".utf8))
        #expect(transport.requests.allSatisfy { $0.headers["If-None-Match"] == nil })
    }

    @Test("Bounds the memory, and evicts the least recently used response first")
    func eviction() {
        let cache = MemoryResponseCache(capacity: 3 * 1_124)
        func response(_ size: Int) -> CachedResponse {
            CachedResponse(response: HTTPResponse(url: url, status: 200, body: Data(count: size)), varying: [:])
        }
        for key in ["a", "b", "c"] { cache.store(response(100), for: key) }
        _ = cache.response(for: "a")
        cache.store(response(100), for: "d")
        #expect(["a", "b", "c", "d"].map { cache.response(for: $0) != nil } == [true, false, true, true])
        cache.store(response(99_999), for: "a")
        #expect(cache.response(for: "a") == nil && cache.response(for: "d") != nil)
    }
}
