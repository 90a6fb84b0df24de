import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestTurns
import Testing

/// That requests and tokens go the way that Docs/Architecture.md draws.
@Suite("Pictures in Docs/Architecture.md", .timeLimit(.minutes(10)), .turns)
struct PictureTests {
    /// The picture below a heading.
    static func picture(_ heading: String) throws -> String {
        let page = try #require(Repository.text("Docs/Architecture.md"))
        let section = try #require(page.components(separatedBy: "\n## \(heading)\n").dropFirst().first)
        return try #require(section.components(separatedBy: "```").dropFirst().first)
    }

    /// Writes down what it is told.
    private final class Recorder: RequestInterceptor {
        private let calls = Mutex<[[String]]>([])

        var attempts: [[String]] { calls.withLock { $0 } }

        private func note(_ name: String, isFirst: Bool = false) {
            calls.withLock { calls in
                if isFirst { calls.append([]) }
                calls[calls.count - 1].append(name)
            }
        }

        func interceptRequest(
            _ request: Result<URLRequest, any Error>,
            context: RequestContext
        ) async throws -> URLRequest {
            note("interceptRequest", isFirst: true)
            return try request.get()
        }

        func requestScheduled(_ request: URLRequest, context: RequestContext) { note("requestScheduled") }

        func interceptResponse(
            _ response: HTTPResponse,
            for request: URLRequest,
            context: RequestContext
        ) async throws -> HTTPResponse {
            note("interceptResponse")
            return response
        }

        func requestSucceeded(_ request: URLRequest, response: HTTPResponse, context: RequestContext) {
            note("requestSucceeded")
        }

        func attemptEnded(_ attempt: RequestAttempt) { note("attemptEnded") }

        func evaluateFailedRequest(
            _ request: URLRequest,
            data: Data?,
            response: HTTPURLResponse?,
            error: any Error,
            context: RequestContext
        ) -> Retry.Action {
            note("evaluateFailedRequest")
            return .retry
        }
    }

    @Test(
        "An attempt that fails and one that succeeds pass the stations of the picture in its order, and there are no others"
    )
    func requests() async throws {
        let hooks = try #require(Repository.text("Sources/Networking/Interceptors/RequestInterceptor.swift"))
            .split(separator: "\n").prefix { $0 != "}" }.joined(separator: "\n")
            .matches(of: /[ ]{4}func (\w+)\(/).map { String($0.1) }
        let stations = try Self.picture("How a request flows").matches(of: /\w+/).map { String($0.0) }
            .filter(Set(hooks).contains)
        #expect(Set(stations) == Set(hooks), "the picture has other stations than RequestInterceptor has functions")
        #expect(stations.count == Set(stations).count)

        let recorder = Recorder()
        let client = NetworkClient(transport: MockTransport(.status(503), .text("ok")), interceptors: [recorder])
        let url = try #require(URL(string: "https://api.example/reports"))
        _ = try await client.makeRequest(URLRequest(url: url))
        let failed = stations.filter { $0 != "requestSucceeded" }
        let succeeded = stations.filter { $0 != "evaluateFailedRequest" }
        #expect(recorder.attempts == [failed, succeeded])
    }

    /// A store that writes down what it is asked.
    private final class RecordingStore: TokenStore {
        private let inner = InMemoryTokenStore()
        private let calls = Mutex<[String]>([])

        var all: [String] { calls.withLock { $0 } }

        func note(_ name: String) { calls.withLock { $0.append(name) } }

        func load(_ key: String) async throws -> VersionedTokenRecord? {
            note("load")
            return inner.load(key)
        }

        func compareAndSwap(_ key: String, expectedVersion: Int?, record: TokenRecord) async throws -> Bool {
            note("compareAndSwap")
            return inner.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
        }

        func remove(_ key: String, ifVersion version: Int) async throws -> Bool {
            note("remove")
            return inner.remove(key, ifVersion: version)
        }

        func withExclusiveAccess<Result: Sendable>(
            to key: String,
            timeout: Duration,
            _ body: @Sendable () async throws -> Result
        ) async throws -> Result {
            try await inner.withExclusiveAccess(to: key, timeout: timeout) {
                note("withExclusiveAccess")
                defer { note("end") }
                return try await body()
            }
        }
    }

    @Test(
        "A token is asked for inside the store's exclusive section, in the picture's order, and is in the store before it is used"
    )
    func tokens() async throws {
        let picture = try Self.picture("How a token lives")
        let store = RecordingStore()
        let steps = ["withExclusiveAccess", "load", "ask", "compareAndSwap", "use"]
        let drawn = picture.split(separator: "\n").filter { !$0.contains("decides:") }
            .flatMap { $0.matches(of: /\w+/).map { String($0.0) } }.filter(Set(steps).contains)
        #expect(drawn == steps)

        let transport = MockTransport(steps: []) { request in
            store.note(request.url.path == "/token" ? "ask" : "use")
            let token = #"{"access_token":"a","token_type":"Bearer","expires_in":300}"#
            return HTTPTransportResponse(status: 200, body: Data(token.utf8))
        }
        let client = NetworkClient(transport: transport)
        let (endpoint, api) = try (
            #require(URL(string: "https://as.example/token")), #require(URL(string: "https://api.example/reports"))
        )
        let authenticator = OAuth2Authenticator(
            server: AuthorizationServer(issuer: "https://as.example", tokenEndpoint: endpoint),
            clientAuthentication: .clientSecretBasic(clientID: "a", secret: Secret("b")),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin,
            store: store,
            client: client
        )
        _ = try await NetworkClient(transport: transport, interceptors: [authenticator])
            .makeRequest(URLRequest(url: api))
        #expect(store.all.filter { $0 != "end" }.suffix(steps.count) == steps[...])
        let end = try #require(store.all.firstIndex(of: "end"))
        #expect(try end < #require(store.all.firstIndex(of: "use")))
    }

    @Test("The decisions on the picture of a token's life are those that its value can come to")
    func decisions() throws {
        let source = try #require(Repository.text("Sources/OAuth2/Lifecycle/TokenLifecycle.swift"))
        let body = try #require(source.components(separatedBy: "enum Acquisition {").dropFirst().first)
            .components(separatedBy: "\n    }")[0]
        let cases = body.matches(of: /case (\w+)/).map { String($0.1) }
        let line = try #require(
            try Self.picture("How a token lives").split(separator: "\n").first {
                $0.contains("TokenLifecycle decides:")
            }
        )
        let drawn = line.split(separator: "decides:")[1].matches(of: /\w+/).map { String($0.0) }
        #expect(drawn == cases)
    }
}
