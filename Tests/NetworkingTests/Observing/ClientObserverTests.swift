import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Synchronization
import TestSupport
import Testing

@Suite("ClientObserver", .limitedConcurrency)
struct ClientObserverTests {
    private final class Witness: ClientObserver {
        private let lines = Mutex<[String]>([])
        private let ended = Mutex<[RequestAttempt]>([])
        private let fields: HTTPHeaders

        init(fields: HTTPHeaders = [:]) {
            self.fields = fields
        }

        var all: [String] { lines.withLock { $0 } }
        var operations: [RequestAttempt] { ended.withLock { $0 } }

        private func add(_ line: String) { lines.withLock { $0.append(line) } }

        func operationStarted(_ context: InterceptorContext) { add("start \(context.attempt)") }

        func attemptStarted(_ request: HTTPRequest, context: InterceptorContext) -> HTTPHeaders {
            add("send \(context.attempt) \(request.headers["Authorization"] ?? "plain")")
            return fields
        }

        func attemptEnded(_ attempt: RequestAttempt) {
            add("end \(attempt.context.attempt) \(attempt.errorType ?? "ok")")
        }

        func operationEnded(_ operation: RequestAttempt) {
            ended.withLock { $0.append(operation) }
            add("done \(operation.context.attempt) \(operation.errorType ?? "ok")")
        }
    }

    private let request = URLRequest(url: URL(string: "http://a.example/things/42")!)

    private func client(
        _ transport: MockTransport,
        _ interceptors: [any Interceptor] = [],
        _ observers: any ClientObserver...
    ) -> NetworkClient {
        let time = ManualTime(advancesWhenSleeping: true)
        return NetworkClient(
            transport: transport,
            interceptors: interceptors,
            options: .init(timeout: nil, timeSource: time.timeSource, observers: observers)
        )
    }

    @Test(
        "Reports the operation and each attempt in order, after the interceptors changed the request",
        .shows("P44", "1.12", "1.13")
    )
    func order() async throws {
        let witness = Witness()
        let transport = MockTransport(.status(401), .status(503), .text("ok"))
        let authenticator = CountingAuthenticator { status, _ in status == 401 ? .retry : .none }
        _ = try await client(transport, [authenticator, Retry.Policy.maxRetries(2)], witness).makeRequest(request)
        #expect(
            witness.all == [
                "start 1", "send 1 Bearer 1", "end 1 401", "send 2 Bearer 2", "end 2 503", "send 3 Bearer 3",
                "end 3 ok", "done 3 ok",
            ]
        )
    }

    @Test("The end of a failed operation has the caller's error, with the reason for not retrying")
    func failed() async throws {
        let witness = Witness()
        let transport = MockTransport(.status(503), .status(503))
        let error = await #expect(throws: ServerError.self) {
            try await client(transport, [Retry.Policy.maxRetries(1)], witness).makeRequest(request)
        }
        let operation = try #require(witness.operations.first)
        #expect(witness.operations.count == 1)
        #expect((operation.error as? ServerError)?.retry?.state.retryCount == error?.retry?.state.retryCount)
        #expect(operation.errorDescription?.contains("gave up after 1 retries") == true)
    }

    @Test("An operation's duration includes the delays between attempts, an attempt's doesn't")
    func durations() async throws {
        let witness = Witness()
        let attempts = AttemptJournal()
        let time = ManualTime(advancesWhenSleeping: true)
        let client = NetworkClient(
            transport: MockTransport(.status(503, headers: ["Retry-After": "7"]), .text("ok")),
            interceptors: [Retry.Policy.maxRetries(1)],
            options: .init(timeout: nil, timeSource: time.timeSource, observers: [witness, attempts])
        )
        _ = try await client.makeRequest(request)
        #expect(attempts.all.map(\.duration) == [.zero, .zero])
        #expect(witness.operations.map(\.duration) == [.seconds(7)])
    }

    @Test("Reports no sending if the request can't be made, and an end nevertheless")
    func notMade() async throws {
        struct Refusal: Error {}
        let witness = Witness()
        let refusing = Changing.request { _ in throw Refusal() }
        await #expect(throws: NetworkError.self) {
            try await client(MockTransport(), [refusing], witness).makeRequest(request)
        }
        #expect(witness.all == ["start 1", "end 1 requestNotMade", "done 1 requestNotMade"])
        #expect(witness.operations.first?.labels["server.address"] == "none")
    }

    @Test("Sends the trace of the observer in each attempt, and keeps the request's own fields", .shows("P44"))
    func fields() async throws {
        let first = Witness(fields: ["traceparent": "00-one", "tracestate": "a=1", "X-Own": "other"])
        let second = Witness(fields: ["traceparent": "00-two", "baggage": "b"])
        let transport = MockTransport(.status(503), .text("ok"))
        var request = request
        request.setValue("kept", forHTTPHeaderField: "x-own")
        _ = try await client(transport, [Retry.Policy.maxRetries(1)], first, second).makeRequest(request)
        #expect(transport.requests.map { $0.headers["traceparent"] } == ["00-one", "00-one"])
        #expect(transport.requests.map { $0.headers["tracestate"] } == ["a=1", "a=1"])
        #expect(transport.requests.map { $0.headers["baggage"] } == ["b", "b"])
        #expect(transport.requests.map { $0.headers.values(for: "X-Own") } == [["kept"], ["kept"]])
    }

    @Test("A logger logs the fields of the observers before it")
    func interceptors() async throws {
        let log = EventLog()
        let transport = MockTransport(.text("ok"))
        let logger = RequestLogger(level: .headers) { log.append($0) }
        let tracer = Witness(fields: ["traceparent": "00-one"])
        _ = try await client(transport, [], tracer, logger).makeRequest(request)
        #expect(log.all.first?.lowercased().contains("traceparent: 00-one") == true)
    }

    @Test("A response from the cache is an attempt that sends nothing")
    func cached() async throws {
        let witness = Witness()
        let transport = MockTransport(.text("ok", headers: ["Cache-Control": "max-age=60"]))
        let client = client(transport, [CacheInterceptor()], witness)
        for _ in 1...2 { _ = try await client.makeRequest(request) }
        #expect(transport.requests.count == 1)
        let stored = ["start 1", "end 1 ok", "done 1 ok"]
        #expect(witness.all == ["start 1", "send 1 plain", "end 1 ok", "done 1 ok"] + stored)
        #expect(witness.operations.last?.details["cache"] != nil)
    }

    @Test("Labels have the same names for every outcome, and values from fixed lists")
    func labels() async throws {
        let journal = AttemptJournal()
        var request = request
        request.httpMethod = "SECRET-TOKEN"
        let steps: [MockTransport.Step] = [.text("ok"), .status(999), .failure(NetworkError(.connectionLost, "cut"))]
        for step in steps { _ = try? await client(MockTransport(step), [], journal).makeRequest(request) }
        #expect(Set(journal.all.map { $0.labels.keys.sorted() }).count == 1)
        #expect(journal.all.map { $0.labels["http.request.method"] } == ["_OTHER", "_OTHER", "_OTHER"])
        #expect(journal.all.map { $0.labels["http.response.status_code"] } == ["200", "_OTHER", "none"])
        #expect(journal.all.map { $0.labels["error.type"] } == ["none", "_OTHER", "connectionLost"])
        #expect(journal.all.map { $0.labels["network.protocol.version"] } == ["1.1", "1.1", "none"])
        #expect(Set(journal.all.map { $0.labels["server.port"] }) == ["80"])
    }

    @Test("Neither labels nor details contain a secret of the URL, the body or another package's error")
    func secrets() async throws {
        struct Leak: Error, CustomStringConvertible { let description = "s3cret" }
        let journal = AttemptJournal()
        let leaking = Changing.response { if $0.status == 200 { throw Leak() } }
        let client = client(MockTransport(.text("s3cret"), .text("s3cret", status: 400)), [leaking], journal)
        for user in ["", "", "ada:s3cret@"] {
            var request = URLRequest(url: URL(string: "http://\(user)a.example/?access_token=s3cret")!)
            request.setValue("Bearer s3cret", forHTTPHeaderField: "Authorization")
            _ = try? await client.makeRequest(request)
        }
        #expect(journal.all.map(\.errorType) == ["Leak", "400", "invalidRequest"])
        for attempt in journal.all {
            for text in Array(attempt.labels.values) + Array(attempt.details.values) {
                #expect(!text.contains("s3cret"))
            }
        }
    }

    @Test("Reports each opened connection with the origin that it leads to, also after a redirect")
    func connections() async throws {
        final class Connections: ClientObserver {
            let opened = Mutex<[ConnectionEvent]>([])
            let needsMetrics: Bool

            init(needsMetrics: Bool = true) { self.needsMetrics = needsMetrics }

            func observe(_ event: any ObservedEvent) {
                if let event = event as? ConnectionEvent { opened.withLock { $0.append(event) } }
            }
        }
        try await withLoopbackServer { target async throws in
            target.on(.get, "/", .text("ok"))
            try await withLoopbackServer { server async throws in
                server.on(.get, "/", .text("ok"))
                let location = target.url(for: "/").absoluteString
                server.on(.get, "/away", .status(302, headers: ["Location": location]))
                let (connections, other) = (Connections(), Connections(needsMetrics: false))
                let client = NetworkClient(
                    transport: try CurlTransport(),
                    options: .init(observers: [connections, other])
                )
                for path in ["/", "/", "/away"] {
                    _ = try await client.makeRequest(URLRequest(url: server.url(for: path)))
                }
                let ports = connections.opened.withLock { $0 }.map { $0.labels["server.port"] }
                let expected = [server.baseURL, target.baseURL].map { $0.port.map(String.init) }
                #expect(ports == expected)
                #expect(other.opened.withLock { $0 }.isEmpty)
            }
        }
    }
}

final class AttemptJournal: ClientObserver {
    private let attempts = Mutex<[RequestAttempt]>([])
    let needsMetrics: Bool

    init(needsMetrics: Bool = false) {
        self.needsMetrics = needsMetrics
    }

    var all: [RequestAttempt] { attempts.withLock { $0 } }

    func attemptEnded(_ attempt: RequestAttempt) {
        attempts.withLock { $0.append(attempt) }
    }
}
