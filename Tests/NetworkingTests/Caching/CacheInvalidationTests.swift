import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("CacheInterceptor: invalidation", .limitedConcurrency)
struct CacheInvalidationTests {
    private static let other = URL(string: "http://a.example/other?x=1")!

    @Test("A successful request with an unsafe method removes the responses for its URL", arguments: [200, 204, 303])
    func unsafe(status: Int) async throws {
        for method in ["POST", "PUT", "PATCH", "DELETE", "M-SEARCH"] {
            let fixture = CacheFixture(
                .text("a", headers: .fresh),
                .text("b", headers: .personal),
                .status(status),
                .text("c"),
                .text("d")
            )
            _ = try await fixture.response()
            _ = try await fixture.response(["Authorization": "Bearer b"])
            _ = try? await fixture.response(method: method)
            #expect(try await fixture.text() == "c")
            #expect(try await fixture.text(["Authorization": "Bearer b"]) == "d")
        }
    }

    @Test("Safe methods and failures remove nothing")
    func kept() async throws {
        for (method, status) in [("POST", 400), ("PUT", 500), ("OPTIONS", 200), ("TRACE", 200)] {
            let fixture = CacheFixture(.text("a", headers: .fresh), .status(status))
            _ = try await fixture.response()
            _ = try? await fixture.response(method: method)
            #expect(try await fixture.text() == "a", "\(method)")
        }
    }

    @Test(
        "Removes the responses for Location and Content-Location of the same origin",
        arguments: [
            ("Location", "/other?x=1", true), ("Content-Location", "other?x=1#f", true),
            ("Location", "HTTP://A.example:80/other?x=1", true), ("Location", "/other", false),
            ("Location", "http://b.example/other?x=1", false), ("Location", "https://a.example/other?x=1", false),
            ("Content-Location", "http://a.example:81/other?x=1", false), ("Location", "http://[", false),
        ]
    )
    func locations(_ name: String, _ value: String, isRemoved: Bool) async throws {
        let fixture = CacheFixture(
            .text("a", headers: .fresh),
            .status(201, headers: [name: value]),
            .text("b", headers: .fresh)
        )
        _ = try await fixture.response(url: Self.other)
        _ = try await fixture.response(method: "POST")
        let text = try await fixture.response(url: Self.other).body
        #expect(text == Data((isRemoved ? "b" : "a").utf8))
    }

    @Test("A response of another origin can't remove this origin's responses")
    func otherOrigin() async throws {
        let fixture = CacheFixture(
            .text("a", headers: .fresh),
            .status(201, headers: ["Location": "\(CacheFixture.url)"])
        )
        _ = try await fixture.response()
        _ = try await fixture.response(method: "POST", url: try #require(URL(string: "http://b.example/")))
        #expect(try await fixture.text() == "a")
    }

    @Test("Removes the responses for a URL on demand")
    func onDemand() async throws {
        let cache = CacheInterceptor()
        let transport = MockTransport(.text("a", headers: .fresh), .text("b"))
        let client = NetworkClient(transport: transport, interceptors: [cache])
        _ = try await client.makeRequest(CacheFixture.request())
        await cache.removeResponses(for: try #require(URL(string: "HTTP://a.example:80/things#x")))
        #expect(try await client.makeRequest(CacheFixture.request()) == Data("b".utf8))
    }

    @Test("Doesn't store a response that an unsafe request has overtaken")
    func overtaken() async throws {
        let gate = ResponseGate()
        let fixture = CacheFixture(
            .text("a", headers: .fresh).gated(by: gate),
            .status(204),
            .text("b", headers: .fresh)
        )
        async let slow = fixture.text()
        try await fixture.transport.waitForRequests(count: 1)
        _ = try await fixture.response(method: "PUT")
        gate.open()
        #expect(try await slow == "a")
        #expect(try await fixture.text() == "b")
    }
}
