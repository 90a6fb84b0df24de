import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("The attempt loop", .limitedConcurrency, .tags(.concurrency))
struct AttemptLoopTests {
    // The client's clock stands still while the transport's runs: only deadline tests set timeouts.
    private let request = URLRequest(url: URL(string: "http://a.example/things/42?q=1")!, timeoutInterval: .infinity)
    private let time = ManualTime(advancesWhenSleeping: true)

    private func client(
        _ transport: MockTransport,
        _ interceptors: [any Interceptor],
        timeout: Duration? = nil
    ) -> NetworkClient {
        NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeout: timeout, timeSource: time.timeSource)
        )
    }

    @Test("The first interceptor sees the request first and the response last", .shows("P1", "4.9"))
    func order() async throws {
        let log = EventLog()
        let client = client(
            MockTransport(.text("ok")),
            [RecordingInterceptor("a", log: log), RecordingInterceptor("b", log: log)]
        )
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(log.all == ["a request", "b request", "b response 200", "a response 200"])
    }

    @Test("Asks every voter after a failure, regardless of the others", .shows("1.14"))
    func failure() async throws {
        let log = EventLog()
        let client = client(
            MockTransport(.status(500)),
            [
                RecordingInterceptor("a", log: log, action: { _ in .noRetry(.custom(CancellationError())) }),
                RecordingInterceptor("b", log: log, action: { _ in .retry }),
            ]
        )
        await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(log.all.suffix(2) == ["a failure 0", "b failure 0"])
    }

    @Test("Builds the base request again for each attempt, so that changes don't add up", .shows("0.5", "2.9", "4.14b"))
    func changing() async throws {
        let transport = MockTransport(.status(503), .text("ok"))
        let adding = Changing.request { $0.headers.append(name: "X-Added", value: "1") }
        _ = try await client(transport, [adding, Retry.Policy.maxRetries(1)]).makeRequest(request)
        #expect(transport.requests.map { $0.headers.values(for: "X-Added") } == [["1"], ["1"]])
    }

    @Test("Keeps the headers of all interceptors and of an authenticator", .shows("3.15"))
    func severalInterceptors() async throws {
        let transport = MockTransport(.text("ok"))
        let headers = ["OAuth-Client-Attestation": "a", "OAuth-Client-Attestation-PoP": "b", "DPoP": "c"]
        let interceptors: [any Interceptor] = headers.map { name, value in Changing.request { $0.headers[name] = value }
        }
        let authenticator = CountingAuthenticator { _, _ in .none }
        _ = try await client(transport, interceptors + [authenticator]).makeRequest(request)
        let sent = try #require(transport.requests.first?.headers)
        for (name, value) in headers { #expect(sent.values(for: name) == [value]) }
        #expect(sent["Authorization"] == "Bearer 1")
    }

    @Test(
        "A request that can't be created isn't sent or evaluated, and the error has the cause",
        .shows("1.15", "2.19")
    )
    func notMade() async throws {
        struct Refusal: Error {}
        let (transport, log) = (MockTransport(.text("ok")), EventLog())
        let client = client(
            transport,
            [
                RecordingInterceptor("a", log: log, action: { _ in .retry }), Changing.request { _ in throw Refusal() },
                RecordingInterceptor("b", log: log, action: { _ in .retry }),
            ]
        )
        let error = await expectFailure(.requestNotMade) { try await client.makeRequest(request) }
        #expect(error?.cause is Refusal)
        #expect(transport.requests.isEmpty)
        #expect(log.all == ["a request"])
    }

    @Test("An earlier interceptor recovers a request that a later one couldn't make", .shows("1.11"))
    func recovering() async throws {
        struct Refusal: Error {}
        struct Fallback: RequestInterceptor {
            func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
                do { return try await next(request) } catch is Refusal {
                    return HTTPResponse(url: request.url, status: 200, body: Data("saved".utf8))
                }
            }
        }
        let transport = MockTransport(.text("ok"))
        let client = client(transport, [Fallback(), Changing.request { _ in throw Refusal() }])
        #expect(try await client.makeRequest(request) == Data("saved".utf8))
        #expect(transport.requests.isEmpty)
    }

    @Test("An interceptor that repeats the request without end is stopped")
    func endless() async throws {
        struct Stubborn: RequestInterceptor {
            func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
                while true {
                    let response = try await next(request)
                    guard response.status == 500 else { return response }
                }
            }
        }
        let transport = MockTransport { _ in HTTPTransportResponse(status: 500) }
        await expectFailure(.requestNotMade) { try await client(transport, [Stubborn()]).makeRequest(request) }
        #expect(transport.requests.count == 100)
    }

    @Test("A body that can be sent once isn't sent twice, whoever asks")
    func once() async throws {
        struct Twice: RequestInterceptor {
            func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
                _ = try await next(request)
                return try await next(request)
            }
        }
        let transport = MockTransport(.text("ok"), .text("ok"))
        var post = request
        post.httpMethod = "POST"
        let options = RequestOptions(body: .once(AsyncStream.of(Data("a".utf8))))
        let client = client(transport, [Twice()])
        await expectFailure(.bodyNotReplayable) { [post] in try await client.makeRequest(post, options: options) }
        #expect(transport.requests.count == 1)
    }

    @Test("An interceptor replaces a response before its status is checked", .shows("0.5", "2.9"))
    func replacingResponse() async throws {
        let mending = Changing.response { $0 = HTTPResponse(url: $0.url, status: 200, body: Data("mended".utf8)) }
        let client = client(MockTransport(.status(500)), [mending])
        #expect(try await client.makeRequest(request) == Data("mended".utf8))
    }

    @Test("An error of a response interceptor fails the attempt and can be retried", .shows("4.14b"))
    func failingResponse() async throws {
        struct Distrust: Error {}
        let transport = MockTransport(.text("bad"), .text("bad"))
        let policy = Retry.Policy.custom { $0.context.retryState.retryCount < 1 ? .retry : .none }
        let distrusting = Changing.response { _ in throw Distrust() }
        await #expect(throws: Distrust.self) {
            try await client(transport, [policy, distrusting]).makeRequest(request)
        }
        #expect(transport.requests.count == 2)
    }

    @Test("Succeeds with the third request after two 500 responses")
    func retrying() async throws {
        let transport = MockTransport(.status(500), .status(500), .text("ok"))
        let client = client(transport, [Retry.Policy.maxRetries(3)])
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(transport.requests.count == 3)
    }

    @Test("Fails after two retries, with the last error and the history", .shows("0.22", "1.26"))
    func exhausted() async throws {
        let transport = MockTransport(.status(500), .status(502), .status(503))
        let client = client(transport, [Retry.Policy.maxRetries(2)])
        let error = await expectStatus(503) { try await client.makeRequest(request) }
        #expect(error?.retry?.state.errors.map { ($0 as? ServerError)?.errorCode } == [500, 502])
        expectReason(.retries(2), error?.retry)
        #expect(error?.description.hasSuffix("gave up after 2 retries") == true)
    }

    @Test("Waits for all delays and adds them up", .shows("0.4", "1.3", "4.12"))
    func delays() async throws {
        let transport = MockTransport(.status(500), .status(500), .status(500), .text("ok"))
        let seen = EventLog()
        let policy = Retry.Policy.custom { failure in
            seen.append("\(failure.context.retryState.totalDelay)")
            return .retryAfter(.milliseconds(10))
        }
        _ = try await client(transport, [policy]).makeRequest(request)
        #expect(seen.all == [Duration.zero, .milliseconds(10), .milliseconds(20)].map { "\($0)" })
        #expect(time.sleeps == Array(repeating: .milliseconds(10), count: 3))
    }

    @Test("Ignores a delay of zero or less", .shows("0.24"), arguments: [Duration.zero, .milliseconds(-1_337)])
    func noDelay(_ delay: Duration) async throws {
        let transport = MockTransport(.status(500), .text("ok"))
        let policy = Retry.Policy.custom { failure in
            #expect(failure.context.retryState.totalDelay == .zero)
            return .retryAfter(delay)
        }
        _ = try await client(transport, [policy]).makeRequest(request)
        #expect(time.sleeps.isEmpty)
    }

    @Test("A rule ends the retries with a custom reason", .shows("0.22"))
    func customReason() async throws {
        struct Enough: Error {}
        let transport = MockTransport(.status(500), .status(500), .status(500))
        let policy = Retry.Policy.custom { failure in
            failure.context.retryState.retryCount < 2 ? .retryAfter(.milliseconds(10)) : .noRetry(.custom(Enough()))
        }
        let error = await #expect(throws: ServerError.self) {
            try await client(transport, [policy]).makeRequest(request)
        }
        expectReason(.custom(Enough()), error?.retry)
        #expect(error?.retry?.state.totalDelay == .milliseconds(20))
    }

    @Test("Asks policies about transport failures, too", .shows("0.21"))
    func transportFailure() async throws {
        let transport = MockTransport(.failure(NetworkError(.connectionLost, "cut")), .text("ok"))
        let client = client(transport, [Retry.Policy.maxRetries(1)])
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
    }

    @Test("Doesn't start a delay that would end after the deadline", .shows("P4"))
    func deadlineBeforeDelay() async throws {
        let transport = MockTransport(.status(500), .text("ok"))
        let policy = Retry.Policy.backoff(.constant(.seconds(5), until: .maxRetries(9)))
        let error = await #expect(throws: ServerError.self) {
            try await client(transport, [policy], timeout: .seconds(5)).makeRequest(request)
        }
        guard case .delay? = error?.retry?.reason else {
            Issue.record("unexpected reason: \(String(describing: error?.retry?.reason))")
            return
        }
        #expect(time.sleeps.isEmpty)
    }

    @Test("Uses a custom priority of actions", .shows("1.6"))
    func priority() async throws {
        let transport = MockTransport(.status(500), .text("ok"))
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(0), Retry.Policy.maxRetries(5)],
            options: .init(timeout: nil, retryActionPriority: { $1 }, timeSource: time.timeSource)
        )
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
    }

    @Test("Policies and authenticators don't affect each other's retries", .shows("0.18", "4.24"))
    func authenticationApart() async throws {
        let transport = MockTransport(.status(401), .status(503), .text("ok"))
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retry : .none }
        let none = Retry.Policy.custom { failure in
            (failure.error as? ServerError)?.errorCode == 401 ? .noRetry(.retries(0)) : .none
        }
        let client = client(transport, [none, authenticator, Retry.Policy.maxRetries(1)])
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer 1", "Bearer 2", "Bearer 3"])
    }

    @Test("A policy's delay doesn't delay an authenticator's retry")
    func authenticationAtOnce() async throws {
        let transport = MockTransport(.status(401), .text("ok"))
        let slow = Retry.Policy.custom { _ in .retryAfter(.seconds(20)) }
        let client = client(transport, [slow, CountingAuthenticator { _, _ in .retry }])
        _ = try await client.makeRequest(request)
        #expect(time.sleeps.isEmpty)
    }

    @Test("An authenticator's noRetry ends the operation")
    func authenticationStop() async throws {
        struct Locked: Error {}
        let transport = MockTransport(.status(401), .text("ok"))
        let client = client(
            transport,
            [Retry.Policy.maxRetries(5, when: .always), CountingAuthenticator { _, _ in .noRetry(.custom(Locked())) }]
        )
        await expectStatus(401) { try await client.makeRequest(request) }
        #expect(transport.requests.count == 1)
    }

    @Test("Stops an authenticator that never gives up", .shows("2.7"))
    func authenticationForEver() async throws {
        let transport = MockTransport { _ in HTTPTransportResponse(status: 401) }
        let client = client(transport, [CountingAuthenticator { _, _ in .retry }])
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(transport.requests.count == 11)
        #expect(error?.retry?.state.authenticationErrors.count == 10)
    }

    @Test("Cancelling a delay ends the operation at once", .shows("0.25"))
    func cancellingDelay() async throws {
        let time = ManualTime()
        let client = NetworkClient(
            transport: MockTransport(.status(500), .text("ok")),
            interceptors: [Retry.Policy.backoff(.constant(.seconds(30), until: .maxRetries(1)))],
            options: .init(timeout: nil, timeSource: time.timeSource)
        )
        let request = request
        let call = Task { try await client.makeRequest(request) }
        try await time.waitForSleepers(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test("Cancelling a request asks no policy", .shows("1.29"))
    func cancellingExchange() async throws {
        let (log, transport) = (EventLog(), MockTransport(.never))
        let client = client(transport, [RecordingInterceptor("a", log: log, action: { _ in .retry })])
        let request = request
        let call = Task { try await client.makeRequest(request) }
        try await transport.waitForRequests(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(!log.all.contains { $0.contains("failure") })
    }

    @Test("A transport's error is a cancellation if the task is cancelled")
    func errorOfCancelled() async throws {
        let gate = ResponseGate()
        let transport = OwnTransport { _ in
            try? await gate.wait()
            throw NetworkError(.connectionLost, "")
        }
        let (client, request) = (NetworkClient(transport: transport), request)
        let call = Task { try await client.makeRequest(request) }
        try await gate.waitForWaiters(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test("A CancellationError of an interceptor is the cause of requestNotMade, unless the task is cancelled")
    func strayOfInterceptor() async throws {
        let stray = { @Sendable (_: inout HTTPRequest) in throw CancellationError() }
        for interceptor in [Changing.request(stray), Changing.wire(stray)] as [any Interceptor] {
            let transport = MockTransport()
            let client = client(transport, [interceptor])
            let error = await expectFailure(.requestNotMade) { try await client.makeRequest(request) }
            #expect(error?.cause is CancellationError && transport.requests.isEmpty)
        }
    }

    @Test("A CancellationError of a transport is an ordinary failure, unless the task is cancelled")
    func strayOfTransport() async throws {
        let isFirst = Atomic(true)
        let transport = OwnTransport { _ in
            guard isFirst.exchange(false, ordering: .relaxed) else {
                return HTTPTransportResponse(status: 200, body: Data("ok".utf8))
            }
            throw CancellationError()
        }
        let retry = Retry.Policy.maxRetries(1, when: .always)
        let client = NetworkClient(transport: transport, interceptors: [retry])
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
    }

    @Test("A task that is already cancelled sends nothing", .shows("1.29"))
    func cancelledBefore() async throws {
        let transport = MockTransport(.text("ok"))
        let (client, request) = (client(transport, []), request)
        let call = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await client.makeRequest(request)
        }
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(transport.requests.isEmpty)
    }
}

private struct OwnTransport: HTTPTransport {
    let respond: @Sendable (HTTPRequest) async throws -> HTTPTransportResponse

    func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        try await respond(request)
    }
}
