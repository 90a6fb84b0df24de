import Foundation
import FoundationNetworking
import MockNetworking
import Synchronization
import TestSupport
import Testing

@testable import Networking

@Suite("Values of the cache", .computing, .tags(.concurrency))
struct CacheValueTests {
    private static let now = Date(timeIntervalSince1970: 1_000_000_000)

    private func freshness(_ headers: HTTPHeaders, status: Int = 200, after seconds: TimeInterval = 0) -> CacheFreshness
    {
        let url = URL(string: "http://a.example/")!
        let stored = CachedResponse(
            response: HTTPResponse(url: url, status: status, headers: headers),
            requestTime: Self.now - 2,
            responseTime: Self.now
        )
        return CacheFreshness(stored, at: Self.now + seconds)
    }

    private static func date(_ offset: TimeInterval) -> String { HTTPDate.format(now + offset) }

    @Test("Calculates the lifetime from max-age, Expires or Last-Modified, in this order", .shows("RFC 9111 §4.2"))
    func lifetimes() {
        let modified = Self.date(-1_000)
        let cases: [(HTTPHeaders, Int, TimeInterval)] = [
            (["Cache-Control": "max-age=5", "Expires": Self.date(60)], 200, 5),
            (["Cache-Control": "max-age=5, max-age=5"], 200, 5), (["Cache-Control": "max-age=5, max-age=6"], 200, 0),
            (["Cache-Control": "max-age=x", "Expires": Self.date(60)], 200, 0), (["Cache-Control": "max-age"], 200, 0),
            (["Cache-Control": "max-age=99999999999999999999"], 200, 2_147_483_648),
            (["Cache-Control": "s-maxage=60"], 200, 0), (["Expires": Self.date(60)], 200, 60),
            (["Expires": Self.date(60), "Date": Self.date(10)], 200, 50), (["Expires": Self.date(-1)], 200, 0),
            (["Expires": "0"], 200, 0), (["Expires": Self.date(60), "expires": Self.date(61)], 200, 0),
            (["Last-Modified": modified], 200, 100), (["Last-Modified": modified], 404, 100),
            (["Last-Modified": modified], 500, 0), (["Last-Modified": modified, "Cache-Control": "public"], 500, 100),
            (["Last-Modified": Self.date(60)], 200, 0), (["Last-Modified": Self.date(-9_999_999)], 200, 86_400),
            (["Last-Modified": modified, "Expires": "x"], 200, 0), ([:], 200, 0),
        ]
        for (headers, status, lifetime) in cases {
            #expect(freshness(headers, status: status).lifetime == lifetime, "\(headers)")
        }
    }

    @Test("Calculates the age from Age, Date, the duration of the request and the time since", .shows("RFC 9111 §4.2"))
    func ages() {
        let cases: [(HTTPHeaders, TimeInterval, TimeInterval)] = [
            ([:], 0, 2), (["Age": "10"], 5, 17), (["Date": Self.date(-100)], 5, 105),
            (["Date": Self.date(-5), "Age": "10"], 0, 12), (["Date": "x"], 0, 2), (["Date": Self.date(3_600)], 0, 2),
            ([:], -1, .infinity),
        ]
        for (headers, seconds, age) in cases {
            #expect(freshness(headers, after: seconds).age == age, "\(headers)")
        }
        #expect(freshness([:], after: -1).ageField == "2147483648")
    }

    @Test("Reads directives in any case and form, and rejects what isn't a directive", .shows("RFC 9111 §5.2"))
    func directives() {
        let directives = CacheDirectives(["No-Store , MAX-AGE=\"5\",,a=\"b,c=\\\"d\"", "private=\"x\", private"])
        #expect(!directives.isMalformed)
        #expect(directives.contains("no-store") && directives.contains("a") && !directives.contains("c"))
        #expect(directives.seconds("max-age") == .value(5))
        #expect(directives.containsUnqualified("private") && !directives.containsUnqualified("a"))
        #expect(directives.seconds("no-store") == .invalid && directives.seconds("min-fresh") == .absent)
        #expect(CacheDirectives(["max-age =5"]).seconds("max-age") == .invalid)
        #expect(CacheDirectives(["max-age= 5"]).seconds("max-age") == .invalid)
        for text in ["a b", "\"", "=", "a=\"\\\"", "é"] { #expect(CacheDirectives([text]).isMalformed, "\(text)") }
        #expect(!CacheDirectives([""]).isMalformed && !CacheDirectives([]).isMalformed)
    }

    @Test("Reads any fields without trapping")
    func random() {
        let parts = [
            "max-age", "no-store", "=", ",", "\"", "\\", " ", "\t", "60", "-1", "99999999999999999999999", "é",
            "\u{301}",
            "GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "06", "Nov", "9999", ":", "-", "\u{0}", "*", "private", "W/",
        ]
        var state: UInt64 = 1
        func next(_ count: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % count
        }
        for _ in 0..<5_000 {
            var headers: HTTPHeaders = [:]
            for name in ["Cache-Control", "Age", "Date", "Expires", "Last-Modified", "Vary"] where next(3) > 0 {
                headers.append(name: name, value: (0..<next(8)).map { _ in parts[next(parts.count)] }.joined())
            }
            let freshness = freshness(headers, after: TimeInterval(next(1_000)))
            #expect(freshness.lifetime >= 0 && freshness.age >= 0 && freshness.staleness >= 0, "\(headers)")
            #expect((CacheVariant.fields(headers) ?? []).count <= 16)
        }
    }

    @Test("Names a URL in one spelling")
    func keys() throws {
        let cases = [
            ("HTTP://A.Example", "http://a.example:80/"),
            ("https://a.example:443/a%20b?c#d", "https://a.example:443/a%20b?c"),
            ("http://a.example?x", "http://a.example:80/?x"), ("http://[::1]:81/", "http://[::1]:81/"),
            ("http://u:p@a.example/", nil), ("ftp://a.example/", nil), ("file:///a", nil),
        ]
        for (text, key) in cases { #expect(CacheKey.url(try #require(URL(string: text))) == key, "\(text)") }
    }

    @Test("Compares the values of varying fields without meaningless differences", .shows("RFC 9111 §4.1"))
    func variants() {
        func variant(_ name: String, _ value: String?) -> String? {
            var request = HTTPRequest(url: URL(string: "http://a.example/")!)
            request.headers[name] = value
            return CacheVariant.of(request, fields: [name.lowercased()])
        }
        #expect(variant("Foo", "a, b") == variant("Foo", "a,b") && variant("Foo", "a,b") != variant("Foo", "b,a"))
        #expect(variant("Foo", "a") != variant("Foo", "A") && variant("Foo", nil) != variant("Foo", ""))
        #expect(variant("Foo", "\"a, b\"") != variant("Foo", "\"a,b\""))
        #expect(variant("Accept-Language", "en, de") == variant("Accept-Language", "DE,EN"))
        #expect(variant("Accept", "a/b, c/d") != variant("Accept", "c/d, a/b"))
    }
}

@Suite("MemoryResponseCache", .computing, .tags(.concurrency))
struct MemoryResponseCacheTests {
    private func stored(_ size: Int, variant: String = "", headers: HTTPHeaders = [:]) -> CachedResponse {
        let url = URL(string: "http://a.example/")!
        return CachedResponse(
            response: HTTPResponse(url: url, status: 200, headers: headers, body: Data(count: size)),
            requestTime: .distantPast,
            responseTime: .distantPast,
            varyingFields: ["a"],
            variant: variant
        )
    }

    private func key(_ url: String, _ credentials: String = "") -> CacheKey {
        CacheKey(url: url, credentials: credentials)
    }

    @Test("Evicts the least recently used response first")
    func eviction() {
        let cache = MemoryResponseCache(capacity: 100_000, maximumResponseSize: 50_000)
        for name in ["a", "b", "c"] { cache.store(stored(30_000), for: key(name)) }
        _ = cache.responses(for: key("a"))
        cache.store(stored(30_000), for: key("d"))
        #expect(["a", "b", "c", "d"].map { cache.responses(for: key($0)).count } == [1, 0, 1, 1])
        cache.store(stored(30_000), for: key("e"))
        #expect(["a", "c", "d", "e"].map { cache.responses(for: key($0)).count } == [0, 1, 1, 1])
    }

    @Test("Never exceeds its capacity")
    func capacity() {
        let cache = MemoryResponseCache(capacity: 50_000)
        for number in 0..<2_000 {
            cache.store(
                stored(number * 37 % 7_000, variant: "\(number % 5)"),
                for: key("\(number % 90)", "\(number % 3)")
            )
            if number % 7 == 0 { cache.removeResponses(forURL: "\(number % 90)") }
            if number % 11 == 0 { _ = cache.responses(for: key("\(number % 80)", "1")) }
            #expect((0...50_000).contains(cache.size))
        }
        for number in 0..<90 { cache.removeResponses(forURL: "\(number)") }
        #expect(cache.size == 0)
    }

    @Test("Counts header fields, and the key")
    func accounting() {
        let cache = MemoryResponseCache()
        cache.store(stored(10, headers: ["A": String(repeating: "a", count: 1_000)]), for: key("x"))
        #expect(cache.size > 2_000)
        let size = cache.size
        cache.store(stored(10, headers: ["A": String(repeating: "a", count: 1_000)]), for: key("x"))
        #expect(cache.size == size)
        cache.removeAll()
        #expect(cache.size == 0 && cache.responses(for: key("x")).isEmpty)
    }

    @Test("Doesn't store a response above its maximum size, and removes the earlier one")
    func maximumSize() {
        let cache = MemoryResponseCache(capacity: 80_000)
        cache.store(stored(100), for: key("a"))
        cache.store(stored(10_000), for: key("a"))
        #expect(cache.responses(for: key("a")).isEmpty && cache.size == 0)
        let none = MemoryResponseCache(capacity: -1)
        none.store(stored(0), for: key("a"))
        #expect(none.size == 0)
    }

    @Test("Keeps 16 variants of a key, and replaces an equal one")
    func variants() {
        let cache = MemoryResponseCache()
        for number in 0..<40 { cache.store(stored(1, variant: "\(number)"), for: key("a")) }
        cache.store(stored(2, variant: "39"), for: key("a"))
        #expect(cache.responses(for: key("a")).map(\.variant) == (24..<40).map { "\($0)" })
        #expect(cache.responses(for: key("a")).last?.response.body.count == 2)
    }

    @Test("Removes the responses of all credentials for a URL")
    func removal() {
        let cache = MemoryResponseCache()
        for credentials in ["", "1", "2"] { cache.store(stored(1), for: key("a", credentials)) }
        cache.store(stored(1), for: key("b"))
        cache.removeResponses(forURL: "a")
        #expect(["", "1", "2"].allSatisfy { cache.responses(for: key("a", $0)).isEmpty })
        #expect(cache.responses(for: key("b")).count == 1)
    }
}

@Suite("CacheInterceptor: credentials", .limitedConcurrency, .tags(.concurrency))
struct CacheCredentialTests {
    @Test(
        "Stores a response to a request with credentials only if its Cache-Control allows it",
        .shows("RFC 9111 §3, §3.5"),
        arguments: [
            ("max-age=60", false), ("max-age=60, no-cache", false), ("max-age=60, proxy-revalidate", false),
            ("max-age=60, private=\"x\"", false), ("max-age=60, private", true), ("max-age=60, public", true),
            ("max-age=60, must-revalidate", true), ("max-age=60, s-maxage=0", true),
            ("max-age=60, private, no-store", false),
        ]
    )
    func permissions(_ control: String, isStored: Bool) async throws {
        for field in ["Authorization", "Cookie"] {
            let fixture = CacheFixture(
                .text("a", headers: ["Cache-Control": control]),
                .text("b", headers: ["Cache-Control": control])
            )
            _ = try await fixture.text([field: "x"])
            #expect(try await fixture.text([field: "x"]) == (isStored ? "a" : "b"), "\(field)")
        }
    }

    @Test("Doesn't answer a user with another user's response", .shows("P14", "RFC 9111 §3, §3.5"))
    func users() async throws {
        let fixture = CacheFixture(
            .text("a", headers: .personal),
            .text("b", headers: .personal),
            .text("none", headers: .personal)
        )
        for _ in 0..<2 {
            #expect(try await fixture.text(["Authorization": "Bearer a"]) == "a")
            #expect(try await fixture.text(["Authorization": "Bearer b"]) == "b")
            #expect(try await fixture.text() == "none")
        }
        #expect(fixture.sent == 3)
    }

    @Test("Doesn't use the responses of an earlier token after a rotation")
    func rotation() async throws {
        let token = RotatingCredential(["Bearer 1", "Bearer 1", "Bearer 2"])
        let fixture = CacheFixture(
            .text("first", headers: .personal),
            .text("second", headers: .personal),
            before: [token]
        )
        #expect(try await fixture.text() == "first")
        #expect(try await fixture.text() == "first")
        #expect(try await fixture.text() == "second")
    }

    @Test("Doesn't use a response after a 401 for its token")
    func rejectedToken() async throws {
        let headers = HTTPHeaders.personal + ["ETag": "\"1\""]
        let fixture = CacheFixture(.text("a", headers: headers), .status(401), .text("b", headers: headers))
        let fields = ["Authorization": "Bearer a"]
        _ = try await fixture.text(fields)
        fixture.time.advance(by: .seconds(61))
        await #expect(throws: ServerError.self) { try await fixture.text(fields) }
        #expect(try await fixture.text(fields) == "b")
        #expect(fixture.transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"1\"", nil])
    }

    @Test(
        "Separates users by the access token and the fields that the redirect policy protects, not by the DPoP proof",
        arguments: [
            [
                (["Authorization": "DPoP a", "DPoP": "proof 1"], "a"),
                (["Authorization": "DPoP a", "DPoP": "proof 2"], "a"),
                (["Authorization": "DPoP b", "DPoP": "proof 1"], "b"),
            ],
            [(["X-Api-Key": "a"], "a"), (["x-api-key": "b"], "b"), (["X-Api-Key": "a"], "a")],
        ] as [[([String: String], String)]]
    )
    func separation(_ requests: [([String: String], String)]) async throws {
        let fixture = CacheFixture(
            .text("a", headers: .personal),
            .text("b", headers: .personal),
            redirects: .follow.protecting("X-Api-Key")
        )
        for (fields, text) in requests { #expect(try await fixture.text(fields) == text, "\(fields)") }
    }

    @Test("Separates users by the fields of authenticators")
    func authenticatorFields() async throws {
        let fixture = CacheFixture(
            .text("a", headers: .fresh),
            .text("b", headers: .fresh),
            before: [RotatingCredential(["1", "2"], field: "X-Session")]
        )
        #expect(try await fixture.text() == "a")
        #expect(try await fixture.text() == "b")
        #expect(fixture.cache.size == 0)
    }

    @Test("A cache before an authenticator is an error, and nothing is sent")
    func misplaced() async throws {
        let fixture = CacheFixture(after: [RotatingCredential([])])
        let error = await expectFailure(.invalidRequest) { try await fixture.response() }
        #expect(error?.message.contains("put the CacheInterceptor after all authenticators") == true)
        #expect(fixture.sent == 0)
        // Also if the authenticator belongs to a resource.
        let other = CacheFixture()
        let resource = Resource(interceptors: [RotatingCredential([])]) { CacheFixture.request() }
        await expectFailure(.invalidRequest) { _ = try await other.client.response(for: resource) }
        #expect(other.sent == 0)
    }

    @Test("Stores nothing if a later interceptor sets the credential")
    func hiddenCredential() async throws {
        let tokens = Mutex(["Bearer 1", "Bearer 2"])
        let setting = Changing.request { request in
            request.headers["Authorization"] = tokens.withLock { $0.removeFirst() }
        }
        let fixture = CacheFixture(
            .text("a", headers: .personal),
            .text("b", headers: .personal),
            after: [setting]
        )
        #expect(try await fixture.text() == "a")
        #expect(try await fixture.text() == "b")
        #expect(fixture.cache.size == 0)
    }

    /// A credential such as a signature, which no request has before it's on the wire.
    private struct WireCredential: WireInterceptor, RetryVoter {
        func add(to chain: inout InterceptorChain) { chain.addAuthenticator(self) }

        func intercept(_ request: HTTPRequest, next: Wire) async throws -> HTTPTransportResponse {
            var request = request
            request.headers["Signature"] = "s"
            return try await next(request)
        }

        func evaluateFailedRequest(_ failure: FailedRequest) -> Retry.Action { .none }
    }

    @Test("Stores nothing if the only credential is set on the wire")
    func wireCredential() async throws {
        let fixture = CacheFixture(
            .text("a", headers: .personal),
            .text("b", headers: .personal),
            .text("c", headers: .personal),
            after: [WireCredential()]
        )
        #expect(try await fixture.text() == "a")
        #expect(try await fixture.text() == "b")
        #expect(fixture.cache.size == 0)
        // Another credential separates users.
        for _ in 0..<2 { #expect(try await fixture.text(["Authorization": "Bearer 1"]) == "c") }
    }

    @Test("Doesn't store the response of a later interceptor")
    func otherAnswer() async throws {
        struct Answer: RequestInterceptor {
            func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
                HTTPResponse(url: request.url, status: 200, headers: .fresh, body: Data("own".utf8))
            }
        }
        let fixture = CacheFixture(after: [Answer()])
        #expect(try await fixture.text() == "own")
        #expect(fixture.cache.size == 0)
    }

    @Test("Never mixes users, with many requests at once and a small storage")
    func concurrency() async throws {
        let transport = MockTransport { request in
            let user = request.headers["Authorization"] ?? "none"
            let headers = HTTPHeaders.personal + ["ETag": "\"1\"", "Vary": "X-A"]
            return HTTPTransportResponse(status: 200, headers: headers, body: Data((user + request.url.path).utf8))
        }
        let storage = MemoryResponseCache(capacity: 20_000)
        let client = NetworkClient(transport: transport, interceptors: [CacheInterceptor(cache: storage)])
        let bodies = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<1_000 {
                group.addTask {
                    // In no order, so that an evicted response isn't always the next one.
                    let mixed = (number &* 40_503) >> 5
                    let url = try #require(URL(string: "http://a.example/\(mixed % 2)"))
                    let user = "Bearer \(mixed % 3)"
                    let method = number % 50 == 0 ? "POST" : "GET"
                    let fields = ["Authorization": user, "X-A": "\(mixed % 5 % 2)"]
                    let request = CacheFixture.request(fields, method: method, url: url)
                    return try await client.makeRequest(request) == Data((user + url.path).utf8)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(bodies.count == 1_000 && bodies.allSatisfy(\.self))
        #expect(transport.requests.count < 1_000 && storage.size <= 20_000)
    }

    @Test("Keeps no credential, and no value of a field that a response varies by")
    func secrecy() async throws {
        let storage = RecordingCache()
        let transport = MockTransport(.text("a", headers: .personal + ["Vary": "X-Secret, Authorization"]))
        let client = NetworkClient(transport: transport, interceptors: [CacheInterceptor(cache: storage)])
        let fields = ["Authorization": "Bearer secret-1", "X-Secret": "secret-2"]
        _ = try await client.response(for: CacheFixture.request(fields))
        let text = storage.text
        #expect(text.contains("x-secret") && !text.contains("secret-1") && !text.contains("secret-2"))
    }
}

/// A storage that keeps nothing but a dump of what it gets.
private final class RecordingCache: HTTPResponseCache {
    private let dumped = Mutex("")

    var text: String { dumped.withLock { $0 } }

    func responses(for key: CacheKey) async -> [CachedResponse] { [] }

    func store(_ response: CachedResponse, for key: CacheKey) async {
        dumped.withLock { $0 += "\(key) \(response)" }
    }

    func removeResponses(forURL url: String) async {}
}

private final class RotatingCredential: URLRequestAuthenticator {
    let credentialFields: Set<String>
    private let credentials: Mutex<[String]>
    private let field: String

    init(_ credentials: [String], field: String = "Authorization") {
        self.credentials = Mutex(credentials)
        self.field = field
        credentialFields = [field]
    }

    func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
        var request = request
        request.setValue(credentials.withLock { $0.removeFirst() }, forHTTPHeaderField: field)
        return request
    }

    func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action { .none }
}
