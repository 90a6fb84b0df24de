import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

/// The cases of Alicerce's own tests that no other suite covers.
///
/// Docs/Migrating.md explains the outcomes that differ on purpose.
@Suite("Acceptance: Alicerce", .limitedConcurrency)
struct AlicerceAcceptanceTests {
    private struct Odd: Error, Equatable {}

    private let request = URLRequest(url: URL(string: "https://api.example/things/1?q=1")!, timeoutInterval: .infinity)
    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(_ transport: MockTransport, _ interceptors: any RequestInterceptor...) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
    }

    @Test("Appends to the query of an absolute endpoint, in order")
    func absoluteEndpoints() {
        let plain = "https://api.example/a/"
        #expect(SampleEndpoint(plain).url == plain)
        #expect(SampleEndpoint(plain, query: ["b": 2, "a": 1]).url == "\(plain)?b=2&a=1")
        #expect(SampleEndpoint("\(plain)?x=1&y=2").url == "\(plain)?x=1&y=2")
        #expect(SampleEndpoint("\(plain)?x=1&y=2", query: ["b": 2, "a": 1]).url == "\(plain)?x=1&y=2&b=2&a=1")
    }

    @Test("A resource makes the endpoint's request and fails with the endpoint's error")
    func requestMaking() async throws {
        var endpoint = SampleEndpoint("https://api.example/a")
        let transport = MockTransport(.status(204))
        let client = NetworkClient(transport: transport)
        _ = try await client.fetch(Resource(endpoint))
        #expect(transport.requests.map(\.url) == [try endpoint.urlRequest().url])
        endpoint.making = { throw Odd() }
        let failing = Resource(endpoint)
        let error = await #expect(throws: NetworkError.self) { _ = try await client.fetch(failing) as HTTPResponse }
        #expect(error?.code == .requestNotMade)
        #expect(error?.cause is Odd)
    }

    @Test("A mapped decoding maps the model of the same response and fails with the mapping's error")
    func mapping() throws {
        let url = try #require(request.url)
        let response = HTTPResponse(url: url, status: 200, headers: ["X-A": "1"], body: Data("hello".utf8))
        let length = ModelDecoding<String>.string.map { $0.count }
        #expect(try length.decode(response) == 5)
        let failing = ModelDecoding<String>.string.map { _ -> Int in throw Odd() }
        #expect(throws: Odd()) { _ = try failing.decode(response) }
        #expect(try ModelDecoding<HTTPResponse>.response.decode(response).headers == response.headers)
    }

    @Test("Sends the request unchanged")
    func sameRequest() async throws {
        let transport = MockTransport(.status(200))
        var request = request
        request.httpMethod = "PUT"
        request.httpBody = Data("body".utf8)
        request.setValue("1", forHTTPHeaderField: "X-A")
        _ = try await client(transport).response(for: request)
        let sent = try #require(transport.requests.first)
        #expect(sent.url == request.url)
        #expect(sent.method == .put)
        #expect(sent.body == request.httpBody)
        #expect(sent.headers["X-A"] == "1")
    }

    @Test("Cancelling ends a request or a delay with the code cancelled")
    func cancelling() async throws {
        let transport = MockTransport(.never, time: time.timeSource)
        let (client, request) = (client(transport, Retry.Policy.maxRetries(3, when: .always)), request)
        let call = Task { try await client.response(for: request) }
        try await transport.waitForRequests(count: 1)
        call.cancel()
        await #expect(throws: NetworkError(.cancelled, "")) { _ = try await call.value }
        #expect(transport.requests.count == 1)
        let time = ManualTime()
        let delayed = NetworkClient(
            transport: MockTransport(.status(500)),
            interceptors: [Retry.Policy.backoff(.constant(.seconds(9), until: .maxRetries(3)))],
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
        let waiting = Task { try await delayed.response(for: request) }
        try await time.waitForSleepers(count: 1)
        waiting.cancel()
        let error = await #expect(throws: NetworkError.self) { _ = try await waiting.value }
        #expect(error?.code == .cancelled)
        #expect(error?.retry?.state.errors.map { $0 as? ServerError != nil } == [true])
    }

    @Test("Throws the transport's failure", arguments: [NetworkError.Code.connectionLost, .tls, .timedOut])
    func transportFailure(code: NetworkError.Code) async throws {
        let error = await #expect(throws: NetworkError.self) {
            _ = try await client(MockTransport(.failure(NetworkError(code, "scripted")))).response(for: request)
        }
        #expect(error?.code == code)
        #expect(error?.message == "scripted")
        #expect(error?.endpoint == "1")
    }

    @Test("Rejects a response that isn't HTTP")
    func notHTTP() async throws {
        try await withLoopbackServer { server in
            server.fallback { _ in .raw("220 mail.example ESMTP\r\n") }
            await #expect(throws: NetworkError(.invalidResponse, "")) {
                _ = try await NetworkClient().response(for: URLRequest(url: server.url(for: "/")))
            }
        }
    }

    @Test("A rule sees each failure with the history until the request succeeds")
    func rules() async throws {
        let seen = Mutex<[String]>([])
        let rule = Retry.Policy.custom { error, state, metadata in
            let code = (error as? NetworkError)?.code.description ?? "\(error)"
            seen.withLock {
                $0.append("\(code) \(state.errors.count) \(state.totalDelay == .zero) \(metadata.response == nil)")
            }
            return .retry
        }
        let lost = NetworkError(.connectionLost, "scripted")
        let transport = MockTransport(.failure(lost), .failure(lost), .text("ok"))
        #expect(try await client(transport, rule).makeRequest(request) == Data("ok".utf8))
        #expect(seen.withLock { $0 } == ["connectionLost 0 true true", "connectionLost 1 true true"])
    }

    @Test(
        "A throwing authenticator ends the operation before sending; a retrying one is asked again"
    )
    func authenticators() async throws {
        let transport = MockTransport(.status(401), .text("ok"))
        let failing = ClosureInterceptor.changingRequest { _ in throw Odd() }
        let error = await #expect(throws: NetworkError.self) {
            _ = try await client(transport, failing).response(for: request)
        }
        #expect(error?.code == .requestNotMade)
        #expect(error?.cause as? Odd == Odd())
        #expect(transport.requests.isEmpty)
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retry : .none }
        #expect(try await client(transport, authenticator).makeRequest(request) == Data("ok".utf8))
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2"])
    }

    @Test("An interceptor without methods passes everything on and asks for nothing")
    func defaults() async throws {
        struct Idle: RequestInterceptor {}
        let context = InterceptorContext()
        #expect(try await Idle().interceptRequest(.success(request), context: context) == request)
        await #expect(throws: Odd()) { _ = try await Idle().interceptRequest(.failure(Odd()), context: context) }
        let action = Idle().evaluateFailedRequest(request, response: nil, error: Odd(), context: context)
        guard case .none = action else {
            Issue.record("unexpected action: \(action)")
            return
        }
    }

    @Test("An authenticator in the chain is only asked about requests that were made")
    func authenticatorAsInterceptor() async throws {
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retryAfter(.seconds(3)) : .none }
        let made = try await authenticator.interceptRequest(.success(request), context: InterceptorContext())
        #expect(made.value(forHTTPHeaderField: "Authorization") == "Bearer 1")
        await #expect(throws: Odd()) {
            _ = try await authenticator.interceptRequest(.failure(Odd()), context: InterceptorContext())
        }
        // The failed request didn't use up a credential.
        let next = try await authenticator.interceptRequest(.success(request), context: InterceptorContext())
        #expect(next.value(forHTTPHeaderField: "Authorization") == "Bearer 2")
        let transport = MockTransport(.status(401), .text("ok"))
        #expect(try await client(transport, authenticator).makeRequest(request) == Data("ok".utf8))
        #expect(time.sleeps == [.seconds(3)])
    }

    @Test("A policy in the chain gets the failed request and response")
    func policyAsInterceptor() async throws {
        let seen = Mutex<[String]>([])
        let policy = Retry.Policy.custom { _, _, metadata in
            let body = metadata.response.map { String(decoding: $0.body, as: UTF8.self) } ?? ""
            seen.withLock {
                $0.append("\(metadata.request.url?.path ?? "") \(metadata.response?.status ?? 0) \(body)")
            }
            return .none
        }
        await #expect(throws: ServerError.self) {
            _ = try await client(MockTransport(.text("why", status: 500)), policy).response(for: request)
        }
        #expect(seen.withLock { $0 } == ["/things/1 500 why"])
    }

    @Test("An error about a response has that response; other errors have none")
    func responses() async throws {
        let failed = await #expect(throws: ServerError.self) {
            _ = try await client(MockTransport(.text("no", status: 500))).response(for: request)
        }
        #expect(failed?.httpResponse?.body == Data("no".utf8))
        let endpoint = SampleEndpoint("https://api.example")
        for (step, code) in [(MockTransport.Step.status(200), NetworkError.Code.noData), (.text("no JSON"), .decoding)]
        {
            let error = await #expect(throws: NetworkError.self) {
                _ = try await client(MockTransport(step)).request(endpoint, as: Int.self)
            }
            #expect(error?.code == code)
            #expect(error?.response?.status == 200)
        }
        let lost = await #expect(throws: NetworkError.self) {
            _ = try await client(MockTransport(.failure(NetworkError(.connectionLost, "")))).response(for: request)
        }
        #expect(lost?.response == nil)
    }

    @Test("Exhausted retries throw the last error, with its status and the history")
    func lastErrors() async throws {
        let transport = MockTransport(.failure(NetworkError(.connectionLost, "first")), .status(503))
        let error = await #expect(throws: ServerError.self) {
            _ = try await client(transport, Retry.Policy.maxRetries(1)).response(for: request)
        }
        #expect(error?.errorCode == 503)
        #expect(error?.retry?.state.errors.compactMap { ($0 as? NetworkError)?.code } == [.connectionLost])
        let lost = MockTransport(.status(503), .failure(NetworkError(.connectionLost, "last")))
        let last = await #expect(throws: NetworkError.self) {
            _ = try await client(lost, Retry.Policy.maxRetries(1)).response(for: request)
        }
        #expect(last?.code == .connectionLost)
        #expect(last?.retry?.state.errors.compactMap { ($0 as? ServerError)?.errorCode } == [503])
    }

    @Test("Every policy is asked; a delay wins over none and the longest delay wins")
    func severalPolicies() async throws {
        let asked = EventLog()
        func policy(_ name: String, _ action: Retry.Action) -> Retry.Policy {
            .custom { _, state, _ in
                asked.append(name)
                return state.retryCount == 0 ? action : .none
            }
        }
        let transport = MockTransport(.status(500), .text("ok"))
        _ = try await client(
            transport,
            policy("a", .retryAfter(.seconds(1))),
            policy("b", .retry),
            policy("c", .retryAfter(.seconds(3))),
            policy("d", .retryAfter(.seconds(2)))
        ).response(for: request)
        #expect(time.sleeps == [.seconds(3)])
        let ended = MockTransport(.status(500))
        let error = await #expect(throws: ServerError.self) {
            _ = try await client(ended, policy("e", .noRetry(.retries(0))), policy("f", .retry)).response(for: request)
        }
        // Alicerce's second generation doesn't ask the policies after one that says no.
        #expect(asked.all == ["a", "b", "c", "d", "e", "f"])
        guard case .retries(0)? = error?.retry?.reason else {
            Issue.record("unexpected reason: \(String(describing: error?.retry?.reason))")
            return
        }
    }

    @Test("Tasks replace cancelables: cancelling twice, all at once, late and too early")
    func cancelables() async throws {
        let transport = MockTransport(.text("done"), .never, .never, .never)
        let (client, request) = (client(transport), request)
        let done = Task { try await client.makeRequest(request) }
        #expect(try await done.value == Data("done".utf8))
        done.cancel()
        #expect(try await done.value == Data("done".utf8))
        let codes = await withTaskGroup(of: NetworkError.Code?.self) { group in
            for _ in 0..<3 {
                group.addTask { await failure { _ = try await client.makeRequest(request) }?.code }
            }
            try? await transport.waitForRequests(count: 4)
            group.cancelAll()
            group.cancelAll()
            // A task added to a cancelled group is cancelled from the start.
            group.addTask { await failure { _ = try await client.makeRequest(request) }?.code }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(codes == Array(repeating: .cancelled, count: 4))
        #expect(transport.requests.count == 4)
    }
}
