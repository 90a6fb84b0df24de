import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("CacheInterceptor: hostile responses", .limitedConcurrency)
struct CachePoisoningTests {
    private func expectNotStored(_ headers: HTTPHeaders, _ line: Int = #line) async throws {
        let fixture = CacheFixture(.text("a", headers: headers), .text("b"))
        _ = try await fixture.response()
        #expect(try await fixture.text() == "b", "line \(line)")
        #expect(fixture.transport.requests[1].headers["If-None-Match"] == nil, "line \(line)")
    }

    @Test("Doesn't store a response with control characters or line breaks in a field", .shows("P14"))
    func splitting() async throws {
        for value in ["x\r\nSet-Cookie: a=b", "x\u{0}", "x\u{7F}", "x\n"] {
            try await expectNotStored(.fresh + ["X-A": value])
        }
        try await expectNotStored(.fresh + ["X A\r\nB": "x"])
    }

    @Test("Doesn't store a response whose Vary matches no request, or is too large", .shows("RFC 9111 §4.1"))
    func vary() async throws {
        let many = (0..<17).map { "a\($0)" }.joined(separator: ",")
        let long = String(repeating: "a", count: 2_000)
        for value in ["*", "a, *", "a b", "\"a\"", many, long, "a\u{1}"] {
            try await expectNotStored(.fresh + ["Vary": value])
        }
        try await expectNotStored(
            .fresh + HTTPHeaders((0..<30).map { HTTPHeaders.Field(name: "Vary", value: "a\($0)") })
        )
    }

    @Test("Doesn't store a response whose Content-Length contradicts its body")
    func lengths() async throws {
        for value in ["5", "x", "-1", "1, 1", "01"] { try await expectNotStored(.fresh + ["Content-Length": value]) }
        try await expectNotStored(.fresh + ["Content-Length": "1", "content-length": "2"])
    }

    @Test(
        "Reads a wrong Age as the specification requires",
        arguments: [
            ("x", true), ("-1", true), ("1.5", true), ("\"100\"", true), ("", true), ("59", true), ("60", false),
            ("99999999999999999999999", false), ("60, 0", false), ("0, 60", true),
        ]
    )
    func age(_ value: String, isFresh: Bool) async throws {
        let fixture = CacheFixture(.text("a", headers: .fresh + ["Age": value]), .text("b"))
        _ = try await fixture.response()
        #expect(try await fixture.text() == (isFresh ? "a" : "b"))
    }

    @Test("Replaces the stored response by a 200 to a conditional request")
    func unconditional() async throws {
        let fixture = CacheFixture(
            .text("a", headers: ["ETag": "\"1\""]),
            .text("b", headers: .fresh + ["ETag": "\"1\""])
        )
        _ = try await fixture.response()
        #expect(try await fixture.text() == "b")
        #expect(try await fixture.text() == "b")
        #expect(fixture.sent == 2)
    }

    @Test("Removes the stored response if its successor must not be stored")
    func successor() async throws {
        let fixture = CacheFixture(
            .text("a", headers: ["ETag": "\"1\"", "Cache-Control": "max-age=1, stale-if-error=60"]),
            .text("b", headers: ["Cache-Control": "no-store"]),
            .status(503)
        )
        _ = try await fixture.response()
        fixture.time.advance(by: .seconds(2))
        #expect(try await fixture.text() == "b")
        await #expect(throws: ServerError.self) { try await fixture.text() }
    }

    @Test("Delivers a 304 unchanged if no response is stored")
    func unasked() async throws {
        let fixture = CacheFixture(.status(304, headers: .fresh), .text("a"))
        let error = await #expect(throws: ServerError.self) { try await fixture.text() }
        #expect(error?.errorCode == 304 && fixture.cache.size == 0)
        #expect(try await fixture.text() == "a")
    }

    @Test("Repeats the request without conditions after a 304 with another tag", .shows("RFC 9111 §4.3"))
    func otherTag() async throws {
        for (stored, received) in [("\"1\"", "\"2\""), ("W/\"1\"", "\"1\""), ("W/\"1\"", "W/\"2\"")] {
            let fixture = CacheFixture(
                .text("a", headers: ["ETag": stored]),
                .status(304, headers: ["ETag": received]),
                .text("b")
            )
            _ = try await fixture.response()
            #expect(try await fixture.text() == "b")
            #expect(fixture.transport.requests.map { $0.headers["If-None-Match"] } == [nil, stored, nil])
        }
    }

    @Test("Fails if a 304 isn't about the stored response of a Last-Modified date twice")
    func otherDate() async throws {
        let dates = ["Sun, 06 Nov 1994 08:49:37 GMT", "Mon, 07 Nov 1994 08:49:37 GMT"]
        let fixture = CacheFixture(
            .text("a", headers: ["Last-Modified": dates[0], "Cache-Control": "no-cache"]),
            .status(304, headers: ["Last-Modified": dates[1]]),
            .status(304)
        )
        _ = try await fixture.response()
        let error = await #expect(throws: ServerError.self) { try await fixture.text() }
        #expect(error?.errorCode == 304 && fixture.sent == 3)
    }

    @Test("Validates a response after the clock was set back")
    func clock() async throws {
        let fixture = CacheFixture(.text("a", headers: .fresh), .text("b"))
        _ = try await fixture.response()
        fixture.time.setDate(fixture.time.date - 1)
        #expect(try await fixture.text() == "b")
    }

    @Test("Passes requests with a long URL on")
    func urls() async throws {
        let url = try #require(URL(string: "http://a.example/" + String(repeating: "a", count: 9_000)))
        let fixture = CacheFixture(.text("a", headers: .fresh), .text("b"))
        _ = try await fixture.response(url: url)
        #expect(try await fixture.response(url: url).body == Data("b".utf8))
    }

    @Test("Malformed or excessive Cache-Control fields forbid storing", .shows("RFC 9111 §3, §3.5"))
    func directives() async throws {
        for value in [
            "max-age=60, \"", "max-age=60, a=\"no-store", "max-age=60 no-store", "max-age=60; no-store",
            "max-age=60, " + String(repeating: "a", count: 5_000),
            "max-age=60, " + (0..<70).map { "a\($0)" }.joined(separator: ","), "max-age=60, é",
        ] {
            try await expectNotStored(["Cache-Control": value])
        }
    }

    @Test("Bounds the variants of a URL")
    func variants() async throws {
        let time = ManualTime()
        let cache = MemoryResponseCache()
        let transport = MockTransport { _ in
            HTTPTransportResponse(status: 200, headers: .fresh + ["Vary": "X-A"], body: Data("a".utf8))
        }
        let client = NetworkClient(
            transport: transport,
            interceptors: [CacheInterceptor(cache: cache, timeSource: time.timeSource)]
        )
        for number in 0..<100 { _ = try await client.response(for: CacheFixture.request(["X-A": "\(number)"])) }
        let key = CacheKey(url: "http://a.example:80/things", credentials: "")
        #expect(cache.responses(for: key).count == 16)
        #expect(try await client.response(for: CacheFixture.request(["X-A": "99"])).cacheUse == .fresh)
        #expect(try await client.response(for: CacheFixture.request(["X-A": "0"])).cacheUse == nil)
    }
}

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
        .shows("RFC 9111 §4.4"),
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

    @Test("Doesn't store a response that an unsafe request has overtaken", .shows("RFC 9111 §4.4"))
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

/// A client with a cache and a scripted server, on a clock that stands still.
struct CacheFixture {
    let time = ManualTime()
    let transport: MockTransport
    let cache: MemoryResponseCache
    let client: NetworkClient

    static let url = URL(string: "http://a.example/things")!

    init(
        _ steps: MockTransport.Step...,
        capacity: Int = 10 << 20,
        before: [any Interceptor] = [],
        after: [any Interceptor] = [],
        redirects: RedirectPolicy = .follow,
        observers: [any ClientObserver] = []
    ) {
        transport = MockTransport(steps: steps, time: time.timeSource, handler: nil)
        cache = MemoryResponseCache(capacity: capacity)
        var options = NetworkClient.Options()
        options.timeSource = time.timeSource
        options.timeout = nil
        options.redirects = redirects
        options.observers = observers
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

    /// Gets a response, and waits until it isn't fresh.
    func makeStale() async throws {
        _ = try await response()
        time.advance(by: .seconds(5))
    }

    func text(_ fields: [String: String] = [:]) async throws -> String {
        String(decoding: try await response(fields).body, as: UTF8.self)
    }

    var sent: Int { transport.requests.count }
}

extension HTTPHeaders {
    static var fresh: Self { ["Cache-Control": "max-age=60"] }

    /// The fields of a response that is fresh for a minute, also with credentials.
    static var personal: Self { ["Cache-Control": "private, max-age=60"] }
}
