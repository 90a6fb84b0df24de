import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("RequestAttempt", .limitedConcurrency)
struct RequestAttemptTests {
    private let request = URLRequest(url: URL(string: "http://a.example/things/42")!)

    private func client(
        _ transport: MockTransport,
        _ interceptors: [any Interceptor] = [],
        observedBy observer: AttemptJournal
    ) -> NetworkClient {
        let time = ManualTime(advancesWhenSleeping: true)
        return NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeout: nil, timeSource: time.timeSource, observers: [observer])
        )
    }

    @Test("Reports each attempt once, with its number, request, response and error")
    func attempts() async throws {
        let observer = AttemptJournal()
        let transport = MockTransport(.status(401), .failure(NetworkError(.connectionLost, "cut")), .text("ok"))
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retry : .none }
        let client = client(transport, [authenticator, Retry.Policy.maxRetries(2)], observedBy: observer)
        _ = try await client.makeRequest(request)
        let all = observer.all
        #expect(all.map(\.context.attempt) == [1, 2, 3])
        #expect(Set(all.map(\.context.operation)).count == 1)
        #expect(all.map { $0.response?.status } == [401, nil, 200])
        #expect(all.map { ($0.error as? ServerError)?.errorCode } == [401, nil, nil])
        #expect(all.map { ($0.error as? NetworkError)?.code } == [nil, .connectionLost, nil])
        #expect(
            all.map { $0.request?.headers["Authorization"] } == ["Bearer 1", "Bearer 2", "Bearer 3"]
        )
    }

    @Test("Operations have different numbers")
    func operations() async throws {
        let observer = AttemptJournal()
        let client = client(MockTransport(.text("a"), .text("b")), observedBy: observer)
        _ = try await client.makeRequest(request)
        _ = try await client.makeRequest(request)
        #expect(Set(observer.all.map(\.context.operation)).count == 2)
    }

    @Test("Reports an attempt without a request if the request can't be created", .shows("1.15"))
    func notMade() async throws {
        struct Refusal: Error {}
        let observer = AttemptJournal()
        let refusing = Changing.request { _ in throw Refusal() }
        let client = client(MockTransport(), [refusing], observedBy: observer)
        await #expect(throws: NetworkError.self) { try await client.makeRequest(request) }
        #expect(observer.all.count == 1)
        #expect(observer.all.first?.request == nil)
        #expect((observer.all.first?.error as? NetworkError)?.code == .requestNotMade)
    }

    @Test("Reports a cancelled attempt with its request")
    func cancelled() async throws {
        let observer = AttemptJournal()
        let transport = MockTransport(.never)
        let client = NetworkClient(transport: transport, options: .init(timeout: nil, observers: [observer]))
        var patient = request
        patient.timeoutInterval = .infinity
        let call = Task { [patient] in try await client.makeRequest(patient) }
        try await transport.waitForRequests(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        #expect(observer.all.count == 1)
        #expect(observer.all.first?.request?.url == request.url)
        #expect(observer.all.first?.error is CancellationError)
        #expect(observer.all.first?.labels["error.type"] == "cancelled")
        #expect(observer.all.first?.errorDescription == "cancelled")
    }

    @Test("Measures requests on demand, and keeps other observers", arguments: [true, false])
    func metrics(_ isNeeded: Bool) async throws {
        try await withLoopbackServer { server async throws in
            server.on(.get, "/", .text("ok"))
            let observer = AttemptJournal(needsMetrics: isNeeded)
            let heard = EventLog()
            let client = NetworkClient(
                transport: URLSessionTransport(configuration: .ephemeral),
                options: .init(observers: [observer])
            )
            let options = RequestOptions(observer: { if case .finished = $0 { heard.append("finished") } })
            _ = try await client.response(for: URLRequest(url: server.url(for: "/")), options: options)
            #expect(observer.all.map(\.exchanges.count) == [isNeeded ? 1 : 0])
            #expect(heard.all == ["finished"])
            if isNeeded { #expect(try #require(observer.all.first?.exchanges.first).totalTime > .zero) }
        }
    }
}

@Suite("URLRequest.setAuthorization", .limitedConcurrency)
struct URLRequestAuthorizationTests {
    private let url: URL

    init() throws {
        url = try #require(URL(string: "https://api.example.com/v1/status"))
    }

    @Test("Sets the field like Foundation's setter")
    func sameAsSetter() {
        var ours = URLRequest(url: url)
        ours.setValue("application/json", forHTTPHeaderField: "Accept")
        var theirs = ours
        ours.setAuthorization("Bearer abc")
        theirs.setValue("Bearer abc", forHTTPHeaderField: "Authorization")
        #expect(ours.allHTTPHeaderFields == ["Accept": "application/json", "Authorization": "Bearer abc"])
        #expect(ours.allHTTPHeaderFields == theirs.allHTTPHeaderFields)
        #expect(ours.value(forHTTPHeaderField: "authorization") == "Bearer abc")
    }

    @Test("Replaces another value, regardless of the name's case", arguments: ["Authorization", "AUTHORIZATION"])
    func replaces(_ name: String) {
        var request = URLRequest(url: url)
        request.allHTTPHeaderFields = [name: "Basic YTpi", "Accept": "text/plain"]
        request.setAuthorization("Bearer abc")
        #expect(request.allHTTPHeaderFields == ["Accept": "text/plain", "Authorization": "Bearer abc"])
    }

    @Test("Doesn't change a copy of the request")
    func value() {
        let request = URLRequest(url: url)
        var copy = request
        copy.setAuthorization("Bearer abc")
        #expect(request.value(forHTTPHeaderField: "Authorization") == nil)
    }

    @Test("Sending rejects credentials with a line break", .shows("H1"))
    func lineBreak() async throws {
        let client = NetworkClient(transport: try CurlTransport())
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:1/")))
        request.setAuthorization("Bearer a\r\nX-Injected: 1")
        let sent = request
        await expectFailure(.invalidRequest) { try await client.makeRequest(sent) }
    }
}

/// An interceptor and voter that records what it sees.
struct RecordingInterceptor: RequestInterceptor, RetryVoter {
    let name: String
    private let log: EventLog
    private let action: @Sendable (Retry.State) -> Retry.Action

    init(
        _ name: String,
        log: EventLog = EventLog(),
        action: @escaping @Sendable (Retry.State) -> Retry.Action = { _ in .none }
    ) {
        self.name = name
        self.log = log
        self.action = action
    }

    func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        log.append("\(name) request")
        let response = try await next(request)
        log.append("\(name) response \(response.status)")
        return response
    }

    func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
        log.append("\(name) failure \(failure.context.retryState.retryCount)")
        return action(failure.context.retryState)
    }
}

typealias EventLog = Collected<String>

/// An authenticator with numbered credentials and a closure that decides about retries.
final class CountingAuthenticator: URLRequestAuthenticator {
    let credentialFields: Set = ["Authorization"]
    private let count = Mutex(0)
    private let action: @Sendable (Int?, Retry.State) -> Retry.Action

    init(action: @escaping @Sendable (Int?, Retry.State) -> Retry.Action) {
        self.action = action
    }

    func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest {
        var request = request
        let number = count.withLock { count in
            count += 1
            return count
        }
        request.setValue("Bearer \(number)", forHTTPHeaderField: "Authorization")
        return request
    }

    func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
        action(failure.response?.status, failure.context.retryState)
    }
}
