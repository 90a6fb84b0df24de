public import Foundation
public import Networking
import Synchronization

/// A transport that returns scripted responses and records the requests, for tests without a
/// network.
///
/// ```swift
/// let transport = MockTransport(.status(503), .json(#"{"name":"Ada"}"#))
/// let client = NetworkClient(transport: transport)
/// let user = try await client.makeRequest(request)   // retried once
/// #expect(transport.requests.count == 2)
/// ```
///
/// Each request takes the next step of the script. When the script is used up, the handler
/// responds. Without a handler, the request fails with an error that names it. If responses
/// shouldn't depend on the order of requests, use ``on(_:_:)``. If a request must arrive, use
/// ``expect(_:_:count:)``:
///
/// ```swift
/// transport.expect(
///     RequestExpectation(.post, "https://api.example/users").json(
///         #"{"name":"Ada"}"#
///     ),
///     .status(201)
/// )
/// try await register("Ada")
/// #expect(transport.discrepancies() == [])
/// ```
///
/// Like every transport, it rejects malformed requests, fails with `cancelled` if the task is
/// canceled, and enforces the limits.
public final class MockTransport: HTTPTransport {
    /// A closure that responds to requests.
    ///
    /// If it throws an error that isn't a `NetworkError`, the error becomes the cause of one.
    public typealias Handler = @Sendable (HTTPRequest) async throws -> HTTPTransportResponse

    /// A request that the transport received.
    public struct RecordedRequest: Sendable {
        /// The method.
        public let method: HTTPMethod
        /// The URL.
        public let url: URL
        /// The header fields, in order.
        public let headers: HTTPHeaders
        /// The body, empty if there was none.
        public let body: Data
        /// The limits from the caller.
        public let limits: HTTPTransportLimits
        /// The time at which it was sent.
        public let arrival: ContinuousClock.Instant
    }

    private let time: TimeSource
    private let script: Script<Step>
    private let handler: Handler?
    private let recorded = Watched<[RecordedRequest]>([])
    let ledger = Mutex(ExpectationLedger())

    /// Creates a transport that responds from a script, and then fails.
    ///
    /// - Parameters:
    ///   - steps: The responses, in order.
    ///   - time: The time source for delays and deadlines.
    public convenience init(_ steps: Step..., time: TimeSource = .system) {
        self.init(steps: steps, time: time, handler: nil)
    }

    /// Creates a transport that responds from a script, and then with a closure.
    ///
    /// - Parameters:
    ///   - steps: The responses, in order.
    ///   - time: The time source for delays and deadlines.
    ///   - handler: Responds when the script is used up. With `nil`, requests then fail.
    public init(steps: [Step] = [], time: TimeSource = .system, handler: Handler?) {
        self.time = time
        self.handler = handler
        script = Script(steps, repeatsLast: false)
    }

    /// The requests so far, in order.
    public var requests: [RecordedRequest] { recorded.value }

    package var remainingStepCount: Int { script.count }

    /// Appends responses to the script.
    ///
    /// - Parameter steps: The responses, in order.
    public func append(_ steps: Step...) { script.append(steps) }

    /// Waits until at least the given number of requests have arrived.
    ///
    /// - Parameter count: The number of requests.
    /// - Throws: `CancellationError` at once when the task is canceled.
    public func waitForRequests(count: Int) async throws { try await recorded.wait { $0.count >= count } }

    /// Responds to a request according to its expectation or the next step of the script.
    ///
    /// A delay, a gate and ``Step/never`` end at the deadline, measured by the transport's time
    /// source. A closure should end by itself; a response that it returns after the deadline is
    /// late.
    ///
    /// - Throws: The scripted failure, or `NetworkError`; with the code `unknown`, its cause can be
    ///   a ``MockError`` with the code `scriptExhausted` or `unexpectedRequest`. It throws
    ///   `CancellationError` if the task is canceled.
    public func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        try request.validate()
        try Task.checkCancellation()
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
        } catch  where Task.isCancelled {
            throw CancellationError()
        } catch let error as NetworkError {
            throw error
        } catch {
            throw NetworkError(
                .unknown,
                "the mock's response to \(request.summary) is an error; see the cause",
                cause: error
            )
        }
        try checkDeadline(request, limits)
        guard response.body.count <= limits.maximumBodySize else {
            throw NetworkError(
                .bodyTooLarge,
                "the response to \(request.summary) is larger than \(limits.maximumBodySize) bytes; raise the limit"
            )
        }
        if limits.streamsBody, response.stream == nil {
            response.stream = HTTPResponseBody(response.body, trailers: response.trailers)
            (response.body, response.trailers) = (Data(), [:])
        }
        return response
    }

    private func choose(for request: HTTPRequest, _ matching: [Int]) -> Result<Step, NetworkError> {
        ledger.withLock { ledger in
            switch ledger.answer(matching) {
            case .step(let step): return .success(step)
            case .tooOften(let message): return .failure(.unanswered(message, .unexpectedRequest))
            case .none: break
            }
            if let step = script.next() ?? handler.map(Step.handler) { return .success(step) }
            guard ledger.isEmpty else { return .failure(.unanswered(ledger.noteStray(request), .unexpectedRequest)) }
            let message = "the script has no response left for \(request.summary); add a step or a handler"
            return .failure(.unanswered(message, .scriptExhausted))
        }
    }

    private func answer(
        _ request: HTTPRequest,
        _ limits: HTTPTransportLimits,
        _ step: Step
    ) async throws -> HTTPTransportResponse {
        for pause in step.pauses {
            switch pause {
            case .delay(let duration): try await wait(duration, request, limits)
            case .gate(let gate): try await wait(gate, request, limits)
            }
        }
        return try await step.handler(request)
    }

    private func checkDeadline(_ request: HTTPRequest, _ limits: HTTPTransportLimits) throws(NetworkError) {
        guard let deadline = limits.deadline, time.now() >= deadline else { return }
        throw NetworkError.late(request, limits)
    }

    private func wait(_ duration: Duration, _ request: HTTPRequest, _ limits: HTTPTransportLimits) async throws {
        guard let deadline = limits.deadline else { return try await time.sleep(duration) }
        let left = deadline - time.now()
        try await time.sleep(min(duration, left))
        if left <= duration { throw NetworkError.late(request, limits) }
    }

    private func wait(_ gate: ResponseGate, _ request: HTTPRequest, _ limits: HTTPTransportLimits) async throws {
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
    fileprivate init(_ request: HTTPRequest, limits: HTTPTransportLimits, arrival: ContinuousClock.Instant) {
        method = request.method
        url = request.url
        headers = request.headers
        body = request.bodyData() ?? Data()
        self.limits = limits
        self.arrival = arrival
    }
}

extension HTTPRequest {
    /// Returns the body, for closures whose response depends on it, or `nil` without a body.
    ///
    /// - Returns: The body.
    public func bodyData() -> Data? {
        switch body.source {
        case .none: nil
        case .data(let data): data
        case .file(let url, _): try? Data(contentsOf: url)
        case .stream: nil
        }
    }

    fileprivate func withBodyInMemory() async throws -> Self {
        guard case .stream = body.source else { return self }
        var request = self
        request.body = .data(try await body.collect(upTo: .max))
        return request
    }

    fileprivate var summary: String { "\(method) \(url.path.isEmpty ? "/" : url.path)" }
}

extension NetworkError {
    fileprivate static func unanswered(_ message: String, _ code: MockError.Code) -> Self {
        Self(.unknown, message, cause: MockError(code, message))
    }

    fileprivate static func late(_ request: HTTPRequest, _ limits: HTTPTransportLimits) -> Self {
        .timedOut(.deadline, of: limits, .firstByte, "the mock of \(request.summary)")
    }
}

extension MockTransport {
    /// A scripted response.
    public struct Step: Sendable {
        let handler: Handler
        var pauses: [ResponsePause] = []

        /// Creates a step with a response.
        ///
        /// - Parameter response: The response.
        /// - Returns: The step.
        public static func response(_ response: HTTPTransportResponse) -> Self { .handler { _ in response } }

        /// Creates a step with a response of the given status, header fields and body.
        ///
        /// - Parameters:
        ///   - status: The status code.
        ///   - headers: The header fields, in order.
        ///   - body: The body.
        /// - Returns: The step.
        public static func status(_ status: Int, headers: HTTPHeaders = [:], body: Data = Data()) -> Self {
            .response(HTTPTransportResponse(status: status, headers: headers, body: body))
        }

        /// Creates a step with a JSON response.
        ///
        /// - Parameters:
        ///   - text: The JSON text, sent unchanged.
        ///   - status: The status code. The default is 200.
        ///   - headers: Additional header fields, after `Content-Type`.
        /// - Returns: The step.
        public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
            .status(status, headers: headers.withContentType("application/json"), body: Data(text.utf8))
        }

        /// Creates a step with a response of UTF-8 text.
        ///
        /// - Parameters:
        ///   - text: The text.
        ///   - status: The status code. The default is 200.
        ///   - headers: Additional header fields, after `Content-Type`.
        /// - Returns: The step.
        public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
            .status(status, headers: headers.withContentType("text/plain; charset=utf-8"), body: Data(text.utf8))
        }

        /// Creates a step that fails with an error.
        ///
        /// - Parameter error: The error. If it isn't a `NetworkError`, it becomes the cause of one.
        /// - Returns: The step.
        public static func failure(_ error: any Error) -> Self { .handler { _ in throw error } }

        /// Creates a step that responds with a closure.
        ///
        /// - Parameter handler: The closure.
        /// - Returns: The step.
        public static func handler(_ handler: @escaping Handler) -> Self { Self(handler: handler) }

        /// A missing response; the request fails at its deadline, if it has one.
        public static var never: Self { .status(200).gated(by: ResponseGate()) }

        /// Returns the step with a delay before the response, measured by the transport's time
        /// source.
        ///
        /// - Parameter duration: The delay.
        /// - Returns: The delayed step.
        public func delayed(by duration: Duration) -> Self { pausing(.delay(duration)) }

        /// Returns the step with a gate that holds the response back.
        ///
        /// - Parameter gate: The gate, which a test opens.
        /// - Returns: The gated step.
        public func gated(by gate: ResponseGate) -> Self { pausing(.gate(gate)) }

        private func pausing(_ pause: ResponsePause) -> Self {
            var copy = self
            copy.pauses.append(pause)
            return copy
        }
    }
}
