public import Foundation
public import Networking
import Synchronization

/// A transport that answers from a script and records what it was asked, for tests without a network.
///
/// ```swift
/// let transport = MockTransport(.status(503), .json(#"{"name":"Ada"}"#))
/// let client = NetworkClient(transport: transport)
/// let user = try await client.makeRequest(request)   // retried once
/// #expect(transport.requests.count == 2)
/// ```
///
/// Requests take the steps of the script in the order in which they come; after the last step the handler answers, and
/// without one the request fails with an error that names it. What should not depend on the order is said by ``on(_:_:)``, and what must
/// come by ``expect(_:_:count:)``:
///
/// ```swift
/// transport.expect(RequestExpectation(.post, "https://api.example/users").json(#"{"name":"Ada"}"#), .status(201))
/// try await register("Ada")
/// #expect(transport.discrepancies() == [])
/// ```
///
/// Like every transport it refuses a malformed request, ends with `cancelled` when the task is cancelled, and keeps to the
/// limits.
public final class MockTransport: HTTPTransport {
    /// What answers a request.
    ///
    /// An error that isn't a `NetworkError` becomes the cause of one.
    public typealias Handler = @Sendable (HTTPTransportRequest) async throws -> HTTPTransportResponse

    /// A request as it was sent.
    public struct RecordedRequest: Sendable {
        /// The method.
        public let method: HTTPMethod
        /// The URL.
        public let url: URL
        /// The header fields, in order.
        public let headers: HTTPHeaders
        /// The body; empty if there is none.
        public let body: Data
        /// The limits that the caller gave.
        public let limits: HTTPTransportLimits
        /// When it was sent.
        public let arrival: ContinuousClock.Instant
    }

    private let time: TimeSource
    private let script: Script<Step>
    private let handler: Handler?
    private let recorded = Watched<[RecordedRequest]>([])
    let ledger = Mutex(ExpectationLedger())

    /// Makes a transport that answers from a script, and then fails.
    ///
    /// - Parameters:
    ///   - steps: The answers, in order.
    ///   - time: How delays are waited for and deadlines are checked.
    public convenience init(_ steps: Step..., time: TimeSource = .system) {
        self.init(steps: steps, time: time, handler: nil)
    }

    /// Makes a transport that answers from a script, and then by a closure.
    ///
    /// - Parameters:
    ///   - steps: The answers, in order.
    ///   - time: How delays are waited for and deadlines are checked.
    ///   - handler: Answers when the script is used up; `nil` to fail then.
    public init(steps: [Step] = [], time: TimeSource = .system, handler: Handler?) {
        self.time = time
        self.handler = handler
        script = Script(steps, repeatsLast: false)
    }

    /// Makes a transport that answers by a closure.
    ///
    /// - Parameters:
    ///   - time: How deadlines are checked.
    ///   - handler: Answers every request.
    public convenience init(time: TimeSource = .system, handler: @escaping Handler) {
        self.init(steps: [], time: time, handler: handler)
    }

    /// The requests so far, in the order in which they came.
    public var requests: [RecordedRequest] { recorded.value }

    /// How many steps of the script are left; a test that expects all of them to be used checks that it is zero.
    package var remainingStepCount: Int { script.count }

    /// Adds answers to the end of the script.
    ///
    /// - Parameter steps: The answers, in order.
    public func append(_ steps: Step...) {
        script.append(steps)
    }

    /// Waits until at least so many requests have come.
    ///
    /// - Parameter count: The number of requests.
    /// - Throws: `CancellationError` at once when the task is cancelled.
    public func waitForRequests(count: Int) async throws {
        try await recorded.wait { $0.count >= count }
    }

    /// Answers a request as it was expected, or by the next step of the script.
    ///
    /// A delay, a gate and ``Step/never`` end at the deadline; a closure is expected to end by itself, and a
    /// response that it returns after the deadline counts as late.
    ///
    /// - Parameters:
    ///   - request: The request, which is recorded.
    ///   - limits: The deadline, by the transport's source of time, and the largest body.
    /// - Returns: The scripted response.
    /// - Throws: `NetworkError`: `invalidRequest`, `cancelled`, `timedOut`, `bodyTooLarge`, the scripted failure, or
    ///   `unknown` with a ``MockError`` of the code `scriptExhausted` or `unexpectedRequest` as its cause.
    public func send(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportResponse {
        try request.validate()
        if Task.isCancelled { throw NetworkError(.cancelled, "the task was cancelled before the request was sent") }
        try checkDeadline(request, limits)
        let request = try await request.withBodyInMemory()
        let record = RecordedRequest(request, limits: limits, arrival: time.now())
        let expected = ledger.withLock { $0.expectations }
        let matching = expected.indices.filter { expected[$0].matches(request) }
        let choice = recorded.update { requests in
            requests.append(record)
            // Taken under the same lock, so that the n-th request gets the n-th step.
            return choose(for: request, matching)
        }
        var response: HTTPTransportResponse
        do {
            response = try await answer(request, limits, try choice.get())
        } catch let error as NetworkError {
            throw error
        } catch is CancellationError where Task.isCancelled {
            throw NetworkError(.cancelled, "the task was cancelled while the request was answered")
        } catch {
            throw NetworkError(
                .unknown,
                "the mock's answer to \(request.summary) is an error; see the cause",
                cause: error
            )
        }
        try checkDeadline(request, limits)
        guard response.body.count <= limits.maximumBodySize else {
            throw NetworkError(
                .bodyTooLarge,
                "the response to \(request.summary) is larger than \(limits.maximumBodySize) octets; raise the limit"
            )
        }
        if limits.streamsBody, response.stream == nil {
            response.stream = HTTPResponseBody(response.body, trailers: response.trailers)
            (response.body, response.trailers) = (Data(), [:])
        }
        return response
    }

    func addExpectation(_ expectation: RequestExpectation, count: Int?, answers: [Step]) {
        ledger.withLock { $0.add(expectation, count: count, answers: answers) }
    }

    /// Finds the answer to a request that satisfies these of the expectations.
    private func choose(for request: HTTPTransportRequest, _ matching: [Int]) -> Result<Step, NetworkError> {
        ledger.withLock { ledger in
            switch ledger.answer(matching) {
            case .step(let step): return .success(step)
            case .tooOften(let message): return .failure(.unanswered(message, .unexpectedRequest))
            case .none: break
            }
            if let step = script.next() ?? handler.map(Step.handler) { return .success(step) }
            guard ledger.isEmpty else { return .failure(.unanswered(ledger.noteStray(request), .unexpectedRequest)) }
            let message = "no answer is left in the script for \(request.summary); add a step or a handler"
            return .failure(.unanswered(message, .scriptExhausted))
        }
    }

    private func answer(
        _ request: HTTPTransportRequest,
        _ limits: HTTPTransportLimits,
        _ step: Step
    ) async throws -> HTTPTransportResponse {
        for pause in step.pauses {
            switch pause {
            case .delay(let duration): try await wait(duration, request, limits)
            case .gate(let gate): try await wait(gate, request, limits)
            }
        }
        switch step.answer {
        case .response(let response): return response
        case .failure(let error): throw error
        case .handler(let handler): return try await handler(request)
        case .never:
            try await wait(ResponseGate(), request, limits)
            throw NetworkError.late(request, limits)
        }
    }

    private func checkDeadline(_ request: HTTPTransportRequest, _ limits: HTTPTransportLimits) throws(NetworkError) {
        guard let deadline = limits.deadline, time.now() >= deadline else { return }
        throw NetworkError.late(request, limits)
    }

    private func wait(
        _ duration: Duration,
        _ request: HTTPTransportRequest,
        _ limits: HTTPTransportLimits
    ) async throws {
        guard let deadline = limits.deadline else { return try await time.sleep(duration) }
        let left = deadline - time.now()
        try await time.sleep(min(duration, left))
        if left <= duration { throw NetworkError.late(request, limits) }
    }

    private func wait(
        _ gate: ResponseGate,
        _ request: HTTPTransportRequest,
        _ limits: HTTPTransportLimits
    ) async throws {
        guard let deadline = limits.deadline else { return try await gate.wait() }
        let left = deadline - time.now()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await gate.wait() }
            group.addTask { [time] in
                try await time.sleep(left)
                throw NetworkError.late(request, limits)
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}

extension MockTransport.RecordedRequest {
    fileprivate init(_ request: HTTPTransportRequest, limits: HTTPTransportLimits, arrival: ContinuousClock.Instant) {
        method = request.method
        url = request.url
        headers = request.headers
        body = request.bodyData() ?? Data()
        self.limits = limits
        self.arrival = arrival
    }
}

extension HTTPTransportRequest {
    /// The body's octets, for closures that answer by them; `nil` if there is no body.
    ///
    /// - Returns: The octets.
    public func bodyData() -> Data? {
        switch body.source {
        case .none: nil
        case .data(let data): data
        case .file(let url, _): try? Data(contentsOf: url)
        case .stream: nil
        }
    }

    /// The same request with the parts of its body made, as a transport makes them while it sends them.
    fileprivate func withBodyInMemory() async throws -> Self {
        guard case .stream = body.source else { return self }
        var request = self
        do {
            request.body = .data(try await body.collect(upTo: .max))
        } catch is CancellationError where Task.isCancelled {
            throw NetworkError(.cancelled, "the task was cancelled before the request was sent")
        }
        return request
    }

    /// Method and path, without the query, which may have secrets in it.
    fileprivate var summary: String {
        "\(method) \(url.path.isEmpty ? "/" : url.path)"
    }
}

extension NetworkError {
    fileprivate static func unanswered(_ message: String, _ code: MockError.Code) -> Self {
        Self(.unknown, message, cause: MockError(code, message))
    }

    fileprivate static func late(_ request: HTTPTransportRequest, _ limits: HTTPTransportLimits) -> Self {
        .timedOut(.deadline, of: limits, .firstByte, "the mock of \(request.summary)")
    }
}
