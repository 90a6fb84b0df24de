import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("CacheInterceptor", .limitedConcurrency, .tags(.concurrency))
struct CacheInterceptorTests {
    private static let dated: HTTPHeaders = [
        "ETag": "\"1\"", "Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control": "max-age=0", "X-A": "old",
    ]

    @Test("Answers with a fresh response and its age, without a request", .shows("RFC 9111"))
    func fresh() async throws {
        let fixture = CacheFixture(.text("a", headers: .fresh), .text("b", headers: .fresh))
        let first = try await fixture.response()
        #expect(first.cacheUse == nil && first.headers["Age"] == nil)
        fixture.time.advance(by: .seconds(59))
        let second = try await fixture.response()
        #expect(second.body == Data("a".utf8) && second.cacheUse == .fresh && second.headers["Age"] == "59")
        fixture.time.advance(by: .seconds(1))
        #expect(try await fixture.text() == "b")
        #expect(fixture.sent == 2)
    }

    @Test("Validates a stale response and adopts the fields of the 304", .shows("RFC 9111 §4.3"))
    func validation() async throws {
        let fixture = CacheFixture(
            .text("first", headers: Self.dated),
            .status(304, headers: ["X-A": "new", "Content-Length": "0", "Content-Type": "text/html", "ETag": "\"1\""]),
            .text("second", headers: ["ETag": "W/\"2\""]),
            .status(304)
        )
        #expect(try await fixture.text() == "first")
        let again = try await fixture.response()
        #expect(again.status == 200 && again.body == Data("first".utf8) && again.cacheUse == .revalidated)
        #expect(again.headers.values(for: "X-A") == ["new"])
        #expect(again.headers["Content-Type"] == "text/plain; charset=utf-8" && again.headers["Content-Length"] == nil)
        #expect(try await fixture.text() == "second")
        #expect(try await fixture.text() == "second")
        let sent = fixture.transport.requests.map(\.headers)
        #expect(sent.map { $0["If-None-Match"] } == [nil, "\"1\"", "\"1\"", "W/\"2\""])
        #expect(
            sent.map { $0["If-Modified-Since"] } == [
                nil, Self.dated["Last-Modified"], Self.dated["Last-Modified"], nil,
            ]
        )
    }

    @Test("A 304 makes the response fresh again")
    func freshAgain() async throws {
        let headers: HTTPHeaders = ["Cache-Control": "max-age=60", "ETag": "\"1\"", "Age": "30"]
        let fixture = CacheFixture(.text("a", headers: headers), .status(304))
        _ = try await fixture.response()
        fixture.time.advance(by: .seconds(40))
        #expect(try await fixture.response().cacheUse == .revalidated)
        fixture.time.advance(by: .seconds(59))
        let third = try await fixture.response()
        #expect(third.cacheUse == .fresh && third.headers["Age"] == "59")
    }

    @Test("Answers HEAD with the fields of a response to GET")
    func head() async throws {
        let fixture = CacheFixture(.text("a", headers: .fresh))
        _ = try await fixture.response()
        let head = try await fixture.response(method: "HEAD")
        #expect(head.cacheUse == .fresh && head.body.isEmpty && head.headers["Content-Type"] != nil)
        #expect(fixture.sent == 1)
    }

    @Test("Doesn't store responses to HEAD and POST")
    func otherMethods() async throws {
        let fixture = CacheFixture(
            .text("", headers: .fresh),
            .text("", headers: .fresh),
            .text("b", headers: .fresh)
        )
        _ = try await fixture.response(method: "HEAD")
        _ = try await fixture.response(method: "POST")
        #expect(try await fixture.text() == "b")
        #expect(fixture.cache.responses(for: CacheKey(url: "http://a.example:80/things", credentials: "")).count == 1)
    }

    @Test(
        "Passes requests for ranges, with preconditions, with no-store and with a body on",
        arguments: [
            "Range: bytes=0-1", "If-Range: x", "If-Match: x", "If-Unmodified-Since: x", "Cache-Control: no-store",
        ]
    )
    func passed(_ field: String) async throws {
        let parts = field.components(separatedBy: ": ")
        let fixture = CacheFixture(.text("a", headers: .fresh), .text("b"))
        _ = try await fixture.response()
        #expect(try await fixture.text([parts[0]: parts[1]]) == "b")
        #expect(fixture.transport.requests[1].headers["If-None-Match"] == nil)
        #expect(try await fixture.text() == "a")
    }

    @Test("Neither stores a streamed response nor answers a stream")
    func streamed() async throws {
        let fixture = CacheFixture(.text("a", headers: .fresh), .text("b", headers: .fresh), .text("c"))
        _ = try await fixture.client.stream(CacheFixture.request())
        #expect(try await fixture.text() == "b")
        let stream = try await fixture.client.stream(CacheFixture.request())
        #expect(try await stream.stream.collect(upTo: 9) == Data("c".utf8))
    }

    @Test("Generates a 504 for only-if-cached without a response, and doesn't retry it", .shows("RFC 9111 §5.2"))
    func onlyIfCached() async throws {
        let fixture = CacheFixture(.text("a", headers: .fresh), after: [Retry.Policy.maxRetries(3)])
        let fields = ["Cache-Control": "only-if-cached"]
        let error = await #expect(throws: ServerError.self) { try await fixture.text(fields) }
        #expect(error?.errorCode == 504 && fixture.sent == 0)
        expectReason(.storedResponse, error?.retry)
        _ = try await fixture.response()
        #expect(try await fixture.text(fields) == "a")
    }

    @Test("Follows the cache policy of the request")
    func policies() async throws {
        let fixture = CacheFixture(
            .text("a", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""]),
            .text("b", headers: ["Cache-Control": "max-age=60", "ETag": "\"2\""]),
            .status(304)
        )
        func text(_ policy: URLRequest.CachePolicy) async throws -> String {
            var request = CacheFixture.request()
            request.cachePolicy = policy
            return String(decoding: try await fixture.client.makeRequest(request), as: UTF8.self)
        }
        await #expect(throws: ServerError.self) { try await text(.returnCacheDataDontLoad) }
        #expect(try await text(.useProtocolCachePolicy) == "a")
        #expect(try await text(.reloadIgnoringLocalCacheData) == "b")
        #expect(try await text(.reloadRevalidatingCacheData) == "b")
        fixture.time.advance(by: .seconds(600))
        #expect(try await text(.returnCacheDataElseLoad) == "b")
        #expect(try await text(.returnCacheDataDontLoad) == "b")
        #expect(fixture.transport.requests.map { $0.headers["If-None-Match"] } == [nil, nil, "\"2\""])
    }

    @Test("Doesn't retry a stored error")
    func storedError() async throws {
        let fixture = CacheFixture(.status(503, headers: .fresh), after: [Retry.Policy.maxRetries(2)])
        for _ in 0..<2 { await expectStatus(503) { try await fixture.response() } }
        #expect(fixture.sent == 1)
    }

    @Test("Answers the request's own conditions with 304, or passes them on")
    func conditions() async throws {
        let fixture = CacheFixture(
            .text("a", headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""]),
            .status(304)
        )
        _ = try await fixture.response()
        for tag in ["\"1\"", "W/\"1\", \"2\"", "*"] {
            await expectStatus(304) { try await fixture.text(["If-None-Match": tag]) }
        }
        #expect(try await fixture.text(["If-None-Match": "\"2\""]) == "a")
        #expect(fixture.sent == 1)
        fixture.time.advance(by: .seconds(61))
        await #expect(throws: ServerError.self) { try await fixture.text(["If-None-Match": "\"2\""]) }
        #expect(fixture.transport.requests[1].headers["If-None-Match"] == "\"2\"")
    }

    @Test("Answers the request's conditions with a stored error, not with 304")
    func conditionsOnError() async throws {
        let fixture = CacheFixture(.status(404, headers: ["Cache-Control": "max-age=60", "ETag": "\"1\""]))
        await expectStatus(404) { try await fixture.response() }
        for (name, value) in [("If-None-Match", "*"), ("If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT")] {
            await expectStatus(404) { try await fixture.response([name: value]) }
        }
        #expect(fixture.sent == 1)
    }

    @Test("Clients that share a cache get the responses to their own user agents")
    func userAgents() async throws {
        let (cache, time) = (MemoryResponseCache(), ManualTime().timeSource)
        let headers = HTTPHeaders.fresh + ["Vary": "User-Agent"]
        let transport = MockTransport(.text("to a", headers: headers), .text("to b", headers: headers))
        for name in ["a", "b", "a", "b"] {
            let client = NetworkClient(
                transport: transport,
                interceptors: [CacheInterceptor(cache: cache, timeSource: time)],
                options: .init(timeout: nil, userAgent: UserAgent(applicationName: name), timeSource: time)
            )
            #expect(try await client.makeRequest(CacheFixture.request()) == Data("to \(name)".utf8))
        }
        #expect(transport.requests.count == 2)
    }

    @Test("Doesn't store a response after a redirect, or a redirect")
    func redirects() async throws {
        let moved = HTTPHeaders.fresh + ["Location": "/other"]
        let fixture = CacheFixture(
            .status(301, headers: moved),
            .text("a", headers: .fresh),
            .status(301, headers: moved),
            .text("b")
        )
        #expect(try await fixture.text() == "a")
        #expect(try await fixture.text() == "b")
        let other = CacheFixture(.status(301, headers: moved), .status(301, headers: moved), redirects: .never)
        for _ in 0..<2 { await #expect(throws: ServerError.self) { try await other.text() } }
        #expect(other.sent == 2)
    }

    @Test("Later interceptors don't see what the cache answers, and earlier ones do")
    func order() async throws {
        let log = EventLog()
        let fixture = CacheFixture(
            .text("a", headers: .fresh),
            before: [RecordingInterceptor("first", log: log)],
            after: [RecordingInterceptor("last", log: log)]
        )
        for _ in 0..<2 { _ = try await fixture.response() }
        #expect(
            log.all == [
                "first request", "last request", "last response 200", "first response 200", "first request",
                "first response 200",
            ]
        )
    }

    @Test("A limiter after the cache counts only the requests that are sent")
    func limiter() async throws {
        let time = ManualTime()
        let limiter = RateLimiter(1, per: .seconds(600), timeSource: time.timeSource)
        let fixture = CacheFixture(.text("a", headers: .fresh), after: [limiter])
        for _ in 0..<5 { _ = try await fixture.response() }
        #expect(fixture.sent == 1)
    }

    @Test("Rejects a stored body that is larger than the request's limit")
    func bodyLimit() async throws {
        let fixture = CacheFixture(.text("0123456789", headers: .fresh))
        _ = try await fixture.response()
        await expectFailure(.bodyTooLarge) {
            try await fixture.client.response(
                for: CacheFixture.request(),
                options: RequestOptions(maximumBodySize: 9)
            )
        }
    }

    @Test("Logs that a response comes from the cache")
    func logging() async throws {
        let lines = Mutex<[String]>([])
        let log = RequestLogger { line in lines.withLock { $0.append(line) } }
        let fixture = CacheFixture(.text("a", headers: .fresh), observers: [log])
        for _ in 0..<2 { _ = try await fixture.response() }
        #expect(lines.withLock { $0.map { $0.contains("from the cache: fresh") } } == [false, false, true])
    }
}

extension HTTPHeaders {
    static func + (left: Self, right: Self) -> Self { Self(Array(left) + Array(right)) }
}
