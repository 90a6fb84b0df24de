import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("RedirectPolicy", .limitedConcurrency)
struct RedirectPolicyTests {
    enum Way: String, CaseIterable {
        case whole, streamed

        func response(
            _ client: NetworkClient,
            _ request: URLRequest,
            _ options: RequestOptions = RequestOptions()
        ) async throws -> HTTPResponse {
            switch self {
            case .whole: return try await client.response(for: request, options: options)
            case .streamed:
                let stream = try await client.stream(request, options: options)
                return HTTPResponse(
                    url: stream.url,
                    status: stream.status,
                    headers: stream.headers,
                    body: try await stream.stream.collect(upTo: 1000),
                    redirects: stream.redirects
                )
            }
        }
    }

    private struct Refusal: Error {}

    static func found(_ location: String, _ status: Int = 302) -> MockTransport.Step {
        .text("moved", status: status, headers: ["Location": location])
    }

    func client(_ transport: MockTransport, _ policy: RedirectPolicy = .follow) -> NetworkClient {
        NetworkClient(transport: transport, options: .init(redirects: policy))
    }

    func request(_ method: String = "GET", _ url: String = "https://a.example/x?secret=1") -> URLRequest {
        var request = URLRequest(url: URL(string: url)!)
        request.httpMethod = method
        request.setValue("Bearer t", forHTTPHeaderField: "Authorization")
        request.setValue("a=b", forHTTPHeaderField: "Cookie")
        request.setValue("key", forHTTPHeaderField: "X-Api-Key")
        return request
    }

    @Test("Follows redirects and lists them in the response", arguments: Way.allCases)
    func follows(_ way: Way) async throws {
        let transport = MockTransport(Self.found("/y#part"), Self.found("https://b.example/z", 307), .text("there"))
        let response = try await way.response(client(transport), request())
        #expect(response.body == Data("there".utf8))
        #expect(response.url.absoluteString == "https://b.example/z#part")
        #expect(
            response.redirects == [
                RedirectHop(url: URL(string: "https://a.example/x?secret=1")!, status: 302),
                RedirectHop(url: URL(string: "https://a.example/y#part")!, status: 307),
            ]
        )
        #expect(response.urlResponse.url == response.url)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer t", "Bearer t", nil])
        #expect(transport.requests.allSatisfy { $0.headers["User-Agent"] != nil && $0.headers["Referer"] == nil })
    }

    @Test("A failure after a redirect isn't unprocessed", arguments: Way.allCases)
    func unprocessed(_ way: Way) async throws {
        let refusal = NetworkError(.cannotConnect, "no server listens")
        for transport in [MockTransport(.failure(refusal)), MockTransport(Self.found("/y", 303), .failure(refusal))] {
            let error = await expectFailure(.cannotConnect) {
                try await way.response(client(transport), request("POST"))
            }
            #expect(error?.isUnprocessed == (transport.requests.count == 1))
        }
    }

    @Test("Doesn't restore credentials when a redirect leads back", .shows("G1"))
    func thereAndBack() async throws {
        let transport = MockTransport(
            Self.found("https://b.example/"),
            Self.found("https://a.example/x?secret=1"),
            .text("back")
        )
        let response = try await client(transport, .follow.protecting("x-api-KEY")).response(for: request())
        #expect(response.redirects.count == 2)
        #expect(response.url == request().url)
        for name in ["Authorization", "Cookie", "X-Api-Key"] {
            #expect(transport.requests.map { $0.headers[name] != nil } == [true, false, false], "\(name)")
        }
    }

    @Test("Stops after the maximum number of redirects, 10 by default", arguments: [nil, 0, 1, 3])
    func maximum(_ maximum: Int?) async throws {
        let count = Mutex(0)
        let transport = MockTransport { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return .init(status: 302, headers: ["Location": "/\(number)"])
        }
        let policy = maximum.map { RedirectPolicy.follow.upTo($0) } ?? .follow
        await expectFailure(.tooManyRedirects) { try await client(transport, policy).makeRequest(request()) }
        #expect(transport.requests.count == (maximum ?? 10) + 1)
        let exact = MockTransport(Self.found("/1"), Self.found("/2"), .text("there"))
        #expect(try await client(exact, .follow.upTo(2)).response(for: request()).redirects.count == 2)
    }

    @Test("The policy never delivers the redirect", arguments: Way.allCases)
    func never(_ way: Way) async throws {
        let transport = MockTransport(Self.found("ftp://nonsense"))
        let options = RequestOptions(redirects: .never)
        let error = await expectStatus(302) { try await way.response(client(transport), request(), options) }
        #expect(error?.headers["Location"] == "ftp://nonsense")
        #expect(error?.response == Data("moved".utf8))
    }

    @Test("The policy sameOrigin delivers redirects to other origins")
    func sameOrigin() async throws {
        let transport = MockTransport(Self.found("/y"), Self.found("http://a.example/z"))
        let error = await expectStatus(302) { try await client(transport, .sameOrigin).makeRequest(request()) }
        #expect(error?.headers["Location"] == "http://a.example/z")
        #expect(transport.requests.count == 2)
    }

    @Test("Delivers a 3xx response that isn't a redirect", arguments: [300, 302, 304, 305, 306], [nil, ""])
    func delivered(_ status: Int, _ location: String?) async throws {
        let headers: HTTPHeaders = location.map { ["Location": $0] } ?? [:]
        let transport = MockTransport(.status(status, headers: headers))
        await expectStatus(status) { try await client(transport).makeRequest(request()) }
    }

    @Test("Doesn't follow a 307 with a body that can be sent only once, and drops it for a 303")
    func once() async throws {
        let transport = MockTransport(Self.found("/y", 307), Self.found("/y", 303), .text("there"))
        func options() -> RequestOptions { RequestOptions(body: .once(AsyncStream.of("body"))) }
        await expectFailure(.redirectRefused) {
            try await client(transport).makeRequest(request("PUT"), options: options())
        }
        let response = try await client(transport).response(for: request("PUT"), options: options())
        #expect(response.body == Data("there".utf8))
        #expect(transport.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["body", "body", ""])
    }

    @Test("A closure receives the redirect and the proposed request")
    func custom() async throws {
        let transport = MockTransport(Self.found("/y"), Self.found("https://b.example/z", 307), .text("there"))
        let seen = Mutex<[Redirect]>([])
        let policy = RedirectPolicy.custom { redirect in
            seen.withLock { $0.append(redirect) }
            var next = redirect.request
            next.headers["X-Hops"] = "\(redirect.hops.count)"
            return .follow(next)
        }
        _ = try await client(transport, policy).response(for: request())
        let redirects = seen.withLock { $0 }
        #expect(redirects.map(\.status) == [302, 307])
        #expect(redirects.map { $0.headers["Location"] } == ["/y", "https://b.example/z"])
        #expect(redirects.map(\.source.path) == ["/x", "/y"])
        #expect(redirects.map(\.request.url.absoluteString) == ["https://a.example/y", "https://b.example/z"])
        #expect(redirects.map { $0.request.headers["Authorization"] } == ["Bearer t", nil])
        #expect(redirects.map(\.hops.count) == [0, 1])
        #expect(transport.requests.map { $0.headers["X-Hops"] } == [nil, "0", "1"])
    }

    @Test("Only a closure can restore a credential")
    func customCredential() async throws {
        let transport = MockTransport(Self.found("https://b.example/"), .text("there"))
        let policy = RedirectPolicy.custom { redirect in
            var next = redirect.request
            next.headers["Authorization"] = "Bearer for b"
            return .follow(next)
        }
        _ = try await client(transport, policy).makeRequest(request())
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer t", "Bearer for b"])
    }

    @Test("A closure can deliver a forbidden redirect but not follow it", arguments: [true, false])
    func customRefused(_ isDelivered: Bool) async throws {
        let transport = MockTransport(Self.found("http://a.example/"))
        let policy = RedirectPolicy.custom { isDelivered ? .deliver : .follow($0.request) }
        do {
            _ = try await client(transport, policy).makeRequest(request())
            Issue.record("the redirect was followed")
        } catch let error as ServerError {
            #expect(isDelivered && error.errorCode == 302)
        } catch let error as NetworkError {
            #expect(!isDelivered && error.code == .redirectRefused)
        }
        #expect(transport.requests.count == 1)
    }

    @Test("An error of a closure ends the request")
    func customThrows() async throws {
        let transport = MockTransport(Self.found("/y"))
        await #expect(throws: Refusal.self) {
            try await client(transport, .custom { _ in throw Refusal() }).makeRequest(request())
        }
        #expect(transport.requests.count == 1)
    }

    @Test("Stops a closure that causes a loop")
    func customCircle() async throws {
        let transport = MockTransport { _ in .init(status: 302, headers: ["Location": "/y"]) }
        let original = URL(string: "https://a.example/x?secret=1")!
        let policy = RedirectPolicy.custom { redirect in
            var next = redirect.request
            next.url = original
            return .follow(next)
        }
        await expectFailure(.tooManyRedirects) { try await client(transport, policy).makeRequest(request()) }
    }

    @Test("A retry starts from the original request")
    func retries() async throws {
        let transport = MockTransport(Self.found("/y"), .status(503), Self.found("/y"), .text("there"))
        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(1)])
        let response = try await client.response(for: request())
        #expect(response.redirects.count == 1)
        #expect(transport.requests.map(\.url.path) == ["/x", "/y", "/x", "/y"])
        #expect(transport.requests[2].headers["Authorization"] == "Bearer t")
    }

    private struct KeyAuthenticator: URLRequestAuthenticator {
        let credentialFields: Set = ["X-Signature"]

        func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
            var request = request
            request.setValue("k3y", forHTTPHeaderField: "X-Signature")
            return request
        }

        func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action { .none }
    }

    @Test(
        "Keeps an authenticator's field on its origin, regardless of its name",
        .shows("0.28"),
        arguments: Way.allCases
    )
    func authenticatorsField(_ way: Way) async throws {
        let transport = MockTransport(Self.found("/y"), Self.found("https://b.example/"), .text("there"))
        let marking = Changing.request { $0.headers["X-Trace"] = "1" }
        let client = NetworkClient(transport: transport, interceptors: [marking, KeyAuthenticator()])
        _ = try await way.response(client, request())
        #expect(transport.requests.map { $0.headers["X-Signature"] } == ["k3y", "k3y", nil])
        #expect(transport.requests.map { $0.headers["X-Trace"] } == ["1", "1", "1"])
    }

    @Test("One deadline applies to all redirects")
    func deadline() async throws {
        let transport = MockTransport(Self.found("/y"), Self.found("/z"), .text("there"))
        let client = NetworkClient(transport: transport, options: .init(timeout: .seconds(5)))
        _ = try await client.makeRequest(request())
        #expect(Set(transport.requests.map(\.limits.deadline)).count == 1)
        #expect(transport.requests[0].limits.deadline != nil)
    }

    @Test(
        "Asks an authenticator about a 401 only if that server received its credential",
        arguments: [
            (["/y"], true), (["/y", "/z"], true), (["https://b.example/"], false),
            (["https://b.example/", "https://a.example/x?secret=1"], false),
        ]
    )
    func refusedElsewhere(_ locations: [String], _ isAsked: Bool) async throws {
        let transport = MockTransport(steps: locations.map { Self.found($0) } + [.status(401)], handler: nil)
        let asked = Mutex(0)
        let authenticator = CountingAuthenticator { _, _ in
            asked.withLock { $0 += 1 }
            return .none
        }
        let log = EventLog()
        let client = NetworkClient(
            transport: transport,
            interceptors: [authenticator, RecordingInterceptor("other", log: log)]
        )
        await expectStatus(401) { try await client.makeRequest(request()) }
        #expect(asked.withLock { $0 } == (isAsked ? 1 : 0))
        #expect(log.all.contains("other failure 0"))
    }
}
