import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("RequestAttempt", .limitedConcurrency)
struct RequestAttemptTests {
    private let request = URLRequest(url: URL(string: "http://a.example/things/42")!)

    private func client(
        _ transport: MockTransport,
        _ interceptors: [any RequestInterceptor] = [],
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
            all.map { $0.request?.value(forHTTPHeaderField: "Authorization") } == ["Bearer 1", "Bearer 2", "Bearer 3"]
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

    @Test("Reports an attempt without a request if the request can't be created")
    func notMade() async throws {
        struct Refusal: Error {}
        let observer = AttemptJournal()
        let refusing = RecordingInterceptor("a", makingRequest: { _ in throw Refusal() })
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
        await #expect(throws: NetworkError.self) { try await call.value }
        #expect(observer.all.count == 1)
        #expect(observer.all.first?.request?.url == request.url)
        #expect((observer.all.first?.error as? NetworkError)?.code == .cancelled)
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
