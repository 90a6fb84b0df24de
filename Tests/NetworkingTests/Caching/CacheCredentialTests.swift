import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("CacheInterceptor: credentials", .limitedConcurrency)
struct CacheCredentialTests {
    @Test(
        "Stores a response to a request with credentials only if its Cache-Control allows it",
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

    @Test("Doesn't answer a user with another user's response")
    func users() async throws {
        let fixture = CacheFixture(
            .text("a", headers: .personal),
            .text("b", headers: .personal),
            .text("none", headers: .personal)
        )
        #expect(try await fixture.text(["Authorization": "Bearer a"]) == "a")
        #expect(try await fixture.text(["Authorization": "Bearer b"]) == "b")
        #expect(try await fixture.text() == "none")
        #expect(try await fixture.text(["Authorization": "Bearer a"]) == "a")
        #expect(try await fixture.text(["Authorization": "Bearer b"]) == "b")
        #expect(try await fixture.text() == "none")
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

    @Test("Separates users by the access token and not by the DPoP proof")
    func proofs() async throws {
        let fixture = CacheFixture(.text("a", headers: .personal), .text("b", headers: .personal))
        #expect(try await fixture.text(["Authorization": "DPoP a", "DPoP": "proof 1"]) == "a")
        #expect(try await fixture.text(["Authorization": "DPoP a", "DPoP": "proof 2"]) == "a")
        #expect(try await fixture.text(["Authorization": "DPoP b", "DPoP": "proof 1"]) == "b")
    }

    @Test("Separates users by the fields that the redirect policy protects")
    func protectedFields() async throws {
        let fixture = CacheFixture(
            .text("a", headers: .personal),
            .text("b", headers: .personal),
            redirects: .follow.protecting("X-Api-Key")
        )
        #expect(try await fixture.text(["X-Api-Key": "a"]) == "a")
        #expect(try await fixture.text(["x-api-key": "b"]) == "b")
        #expect(try await fixture.text(["X-Api-Key": "a"]) == "a")
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

    @Test("Stores nothing if the cache is before the authenticator")
    func misplaced() async throws {
        let fixture = CacheFixture(
            .text("a", headers: .personal),
            .text("b", headers: .personal),
            after: [RotatingCredential(["Bearer 1", "Bearer 2"])]
        )
        #expect(try await fixture.text() == "a")
        #expect(try await fixture.text() == "b")
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

/// An authenticator with a list of credentials.
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
}
