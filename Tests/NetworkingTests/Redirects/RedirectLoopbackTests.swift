import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

/// Tests redirects between real servers with each transport, based on the bytes that arrive.
@Suite("Redirects on loopback", .limitedConcurrency)
struct RedirectLoopbackTests {
    private static let secrets = ["t0ken", "cook1e", "pr0xy", "pr00f", "k3y"]

    private func withServers(
        _ engine: LoopbackClientTests.Engine,
        _ test: (_ client: NetworkClient, _ first: LoopbackServer, _ second: LoopbackServer) async throws -> Void
    ) async throws {
        try await withLoopbackServer { first async throws in
            try await withLoopbackServer { second async throws in
                try await test(engine.client(), first, second)
            }
        }
    }

    private func request(_ server: LoopbackServer, _ method: String = "GET", _ path: String = "/start") -> URLRequest {
        var request = URLRequest(url: server.url(for: path))
        request.httpMethod = method
        request.setValue("Bearer t0ken", forHTTPHeaderField: "Authorization")
        request.setValue("a=cook1e", forHTTPHeaderField: "Cookie")
        request.setValue("Basic pr0xy", forHTTPHeaderField: "Proxy-Authorization")
        request.setValue("k3y", forHTTPHeaderField: "X-Api-Key")
        return request
    }

    private func hasSecret(_ request: LoopbackRequest) -> Bool {
        let texts = request.headers.map(\.value) + [request.target, String(decoding: request.body, as: UTF8.self)]
        return texts.contains { text in Self.secrets.contains { text.contains($0) } }
    }

    @Test(
        "Never sends credentials to another origin, and doesn't restore them on the way back",
        arguments: LoopbackClientTests.Engine.allCases,
        [301, 302, 303, 307, 308]
    )
    func leaks(_ engine: LoopbackClientTests.Engine, _ status: Int) async throws {
        try await withServers(engine) { client, first, second in
            first.on(.get, "/start", .status(status, headers: ["Location": second.url(for: "/there").absoluteString]))
            second.on(.get, "/there", .status(status, headers: ["Location": first.url(for: "/back").absoluteString]))
            first.on(.get, "/back", .text("back"))
            var request = request(first)
            request.setValue("pr00f", forHTTPHeaderField: "DPoP")
            let options = RequestOptions(redirects: .follow.protecting("X-Api-Key"))
            let response = try await client.response(for: request, options: options)
            #expect(response.body == Data("back".utf8))
            #expect(response.redirects.map(\.status) == [status, status])
            #expect(first.requests(for: "/start").allSatisfy(hasSecret))
            #expect(!second.requests.contains(where: hasSecret))
            #expect(!first.requests(for: "/back").contains(where: hasSecret))
            #expect(second.requestCount == 1 && first.requestCount == 2)
            #expect(second.requests.first?.headers["Host"] == "127.0.0.1:\(second.port)")
        }
    }

    @Test("Treats another name of the same machine as another origin", arguments: LoopbackClientTests.Engine.allCases)
    func otherName(_ engine: LoopbackClientTests.Engine) async throws {
        try await withServers(engine) { client, first, _ in
            let location = "http://localhost:\(first.port)/there"
            first.on(.get, "/start", .status(302, headers: ["Location": location]))
            first.on(.get, "/there", .text("there"))
            let options = RequestOptions(redirects: .follow.protecting("X-Api-Key"))
            let response = try await client.response(for: request(first), options: options)
            #expect(response.url.absoluteString == location)
            #expect(!first.requests(for: "/there").contains(where: hasSecret))
        }
    }

    @Test("Keeps credentials and the connection within an origin", arguments: LoopbackClientTests.Engine.allCases)
    func sameOrigin(_ engine: LoopbackClientTests.Engine) async throws {
        try await withServers(engine) { client, first, _ in
            first.on(.get, "/start", .text("moved", status: 302, headers: ["Location": "a/../there?q=1"]))
            first.on(.get, "/there", .text("there"))
            let stream = try await client.stream(request(first))
            #expect(try await stream.stream.collect(upTo: 10) == Data("there".utf8))
            #expect(stream.url == first.url(for: "/there?q=1"))
            let last = try #require(first.requests.last)
            #expect(last.target == "/there?q=1")
            #expect(last.headers["Authorization"] == "Bearer t0ken")
            #expect(first.acceptedConnectionCount == 1)
        }
    }

    @Test(
        "Changes methods and bodies as RFC 9110 §15.4 requires",
        arguments: LoopbackClientTests.Engine.allCases,
        [
            (301, "POST", "GET"), (302, "POST", "GET"), (303, "PUT", "GET"), (307, "POST", "POST"), (308, "PUT", "PUT"),
            (302, "PUT", "PUT"), (303, "HEAD", "HEAD"),
        ]
    )
    func methods(_ engine: LoopbackClientTests.Engine, _ row: (Int, String, String)) async throws {
        let (status, method, expected) = row
        try await withServers(engine) { client, first, second in
            first.fallback { _ in .status(status, headers: ["Location": second.url(for: "/there").absoluteString]) }
            second.fallback { _ in .text("") }
            var request = request(first, method)
            if method != "HEAD" {
                request.httpBody = Data("body".utf8)
                request.setValue("text/plain", forHTTPHeaderField: "Content-Type")
            }
            _ = try await client.makeRequest(request)
            let received = try #require(second.requests.first)
            #expect(received.method.rawValue == expected)
            let keepsBody = method != "HEAD" && expected == method
            #expect(received.body == Data((keepsBody ? "body" : "").utf8))
            #expect((received.headers["Content-Type"] == "text/plain") == keepsBody)
        }
    }

    @Test("Creates a streamed body again for a 307", arguments: LoopbackClientTests.Engine.allCases)
    func streamedBody(_ engine: LoopbackClientTests.Engine) async throws {
        try await withServers(engine) { client, first, second in
            first.fallback { _ in .status(307, headers: ["Location": second.url(for: "/there").absoluteString]) }
            second.fallback { .text(String(decoding: $0.body, as: UTF8.self)) }
            let body = HTTPBody.stream(length: 8) {
                AsyncStream { continuation in
                    for part in ["body", "part"] { continuation.yield(Data(part.utf8)) }
                    continuation.finish()
                }
            }
            let response = try await client.response(for: request(first, "PUT"), options: RequestOptions(body: body))
            #expect(response.body == Data("bodypart".utf8))
        }
    }

    @Test("Stops a redirect loop between two servers and names them", arguments: LoopbackClientTests.Engine.allCases)
    func circle(_ engine: LoopbackClientTests.Engine) async throws {
        try await withServers(engine) { client, first, second in
            let there = second.url(for: "/there?secret=t0ken").absoluteString
            first.fallback { _ in .status(302, headers: ["Location": there]) }
            let back = first.url(for: "/start").absoluteString
            second.fallback { _ in .status(302, headers: ["Location": back]) }
            let error = await #expect(throws: NetworkError.self) { try await client.makeRequest(request(first)) }
            #expect(error?.code == .tooManyRedirects)
            #expect(error?.message.contains("127.0.0.1:\(first.port) → 127.0.0.1:\(second.port)") == true)
            #expect(error?.message.contains("t0ken") == false)
            // The first request has credentials; the second one without them is a different
            // request.
            #expect(first.requestCount == 2 && second.requestCount == 1)
        }
    }

    @Test("Cancels a large redirect's body while streaming, and the client keeps working")
    func largeRedirect() async throws {
        try await withServers(.curl) { client, first, second in
            let moved = String(repeating: "moved ", count: 40_000)
            let location = second.url(for: "/there").absoluteString
            first.fallback { _ in .text(moved, status: 302, headers: ["Location": location]) }
            second.fallback { _ in .text("there") }
            for _ in 0..<3 {
                let stream = try await client.stream(request(first))
                #expect(try await stream.stream.collect(upTo: 10) == Data("there".utf8))
            }
        }
    }
}
