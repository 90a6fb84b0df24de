import Foundation
import FoundationNetworking
import MockNetworking
import TestSupport
import Testing

@testable import Networking

/// The method `QUERY` ([RFC 10008](https://www.rfc-editor.org/rfc/rfc10008)).
@Suite("QUERY", .limitedConcurrency)
struct QueryMethodTests {
    private static let url = URL(string: "http://a.example/things")!

    private static func query(_ content: String, type: String = "application/json") -> URLRequest {
        var request = URLRequest(url: url)
        request.httpMethod = "QUERY"
        request.httpBody = Data(content.utf8)
        request.setValue(type, forHTTPHeaderField: "Content-Type")
        return request
    }

    private static let fresh: HTTPHeaders = ["Cache-Control": "max-age=60"]

    /// Returns the bodies of the responses to requests, one after the other, through a cache.
    private func texts(
        _ requests: [URLRequest],
        _ steps: [MockTransport.Step],
        before: [any Interceptor] = []
    ) async throws -> (texts: [String], sentCount: Int) {
        let transport = MockTransport(steps: steps, handler: nil)
        let client = NetworkClient(transport: transport, interceptors: before + [CacheInterceptor()])
        var texts: [String] = []
        for request in requests { texts.append(String(decoding: try await client.makeRequest(request), as: UTF8.self)) }
        return (texts, transport.requests.count)
    }

    @Test("Is safe and idempotent, and is sent with a length")
    func properties() {
        #expect(HTTPMethod.query == HTTPMethod("QUERY"))
        #expect(HTTPMethod.query.isSafe)
        #expect(HTTPMethod.query.isIdempotent)
        #expect(HTTPMethod.query.anticipatesContent)
    }

    @Test("Is retried after a transient failure", .shows("RFC 10008"))
    func retried() async throws {
        let transport = MockTransport(.status(503), .failure(NetworkError(.connectionLost, "gone")), .text("a"))
        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(2)])
        #expect(try await client.makeRequest(Self.query("{}")) == Data("a".utf8))
        #expect(transport.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["{}", "{}", "{}"])
    }

    @Test("Is sent again after its kept connection died")
    func keptConnection() async throws {
        try await withPeer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            guard connection.number > 0 else {
                try connection.readRequest()
                return connection.close()
            }
            try connection.waitForClose()
        } _: { peer in
            try await withCurl { transport in
                let request = HTTPRequest(method: .query, url: peer.url, body: .data(Data("q".utf8)))
                for _ in 0..<2 { _ = try await transport.send(request, limits: .generous()) }
            }
            #expect(peer.requests.count == 3)
            #expect(peer.requests.allSatisfy { $0.hasPrefix("QUERY / ") && $0.hasSuffix("\r\n\r\nq") })
        }
    }

    @Test("Keeps the stored responses for its URL", .shows("RFC 10008"))
    func keeps() async throws {
        let get = URLRequest(url: Self.url)
        let result = try await texts(
            [get, Self.query("1"), get],
            [.text("a", headers: Self.fresh), .text("b")]
        )
        #expect(result == (["a", "b", "a"], 2))
    }

    @Test("Is answered from the cache for the same content only", .shows("RFC 10008"))
    func cached() async throws {
        let requests = [
            Self.query("1"), Self.query("1"), Self.query("2"), Self.query("1", type: "text/plain"), Self.query(""),
            URLRequest(url: Self.url), Self.query("2"),
        ]
        let steps = ["a", "b", "c", "d", "e"].map { MockTransport.Step.text($0, headers: Self.fresh) }
        #expect(try await texts(requests, steps) == (["a", "a", "b", "c", "d", "e", "b"], 5))
    }

    @Test("Unsafe requests remove its stored responses")
    func removed() async throws {
        var post = URLRequest(url: Self.url)
        post.httpMethod = "POST"
        let result = try await texts(
            [Self.query("1"), post, Self.query("1")],
            [.text("a", headers: Self.fresh), .text("b"), .text("c")]
        )
        #expect(result == (["a", "b", "c"], 3))
    }

    @Test("Users don't share its stored responses")
    func users() async throws {
        let requests = ["a", "b", "a"].map { user in
            var request = Self.query("1")
            request.setValue("Bearer \(user)", forHTTPHeaderField: "Authorization")
            return request
        }
        let headers: HTTPHeaders = ["Cache-Control": "private, max-age=60"]
        let steps = ["a", "b"].map { MockTransport.Step.text($0, headers: headers) }
        #expect(try await texts(requests, steps) == (["a", "b", "a"], 2))
    }
}
