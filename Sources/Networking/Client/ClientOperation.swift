import Foundation
import Synchronization

/// A running operation: its history, its limits, and its calls of the observers.
///
/// Its interceptors and its attempt loop share it.
final class ClientOperation: Sendable {
    private static let count = Atomic<UInt64>(0)
    private static let maximumSends = 100

    let loop: AttemptLoop
    let number: UInt64
    let started: Moment
    let deadline: Moment?
    private let state: Mutex<State>

    private struct State {
        var retry: Retry.State
        var sends = 0

        // Of the current pass.
        var base: HTTPRequest?
        var sent: HTTPRequest?
        var sendsInPass = 0
        var isUnmade = false
        /// No voter is asked for another pass.
        var isEnded = false
        var endReason: Retry.Error?
        var openBody: HTTPResponseBody?
        /// The latest attempt, which observers haven't seen the end of, and its start.
        var attempt: RequestAttempt?
        var attemptStarted: Moment
        /// The latest error, and the number of requests until then.
        var decoded: (count: Int, error: ServerError)?
        var last: RequestAttempt?
    }

    init(_ loop: AttemptLoop) {
        self.loop = loop
        number = Self.count.wrappingAdd(1, ordering: .relaxed).newValue
        let now = loop.options.timeSource.moment
        started = now
        deadline = loop.timeout.map { now + $0 }
        var retry = Retry.State()
        retry.start = now
        state = Mutex(State(retry: retry, attemptStarted: now))
    }

    var retryState: Retry.State { state.withLock(\.retry) }

    var latestContext: InterceptorContext {
        let (retry, sends) = state.withLock { ($0.retry, $0.sends) }
        return context(retry, attempt: max(1, sends))
    }

    var context: InterceptorContext {
        let (retry, sends) = state.withLock { ($0.retry, $0.sends) }
        return context(retry, attempt: sends + 1)
    }

    private func context(_ retry: Retry.State, attempt: Int) -> InterceptorContext {
        InterceptorContext(
            retryState: retry,
            end: deadline,
            operation: number,
            attempt: attempt,
            traits: loop.traits,
            isStreamed: loop.streamsBody
        )
    }

    // MARK: A pass through the chain

    func beginPass() {
        let now = loop.options.timeSource.moment
        state.withLock { state in
            (state.base, state.sent, state.sendsInPass) = (nil, nil, 0)
            (state.isUnmade, state.isEnded, state.endReason, state.openBody) = (false, false, nil, nil)
            state.attemptStarted = now
        }
    }

    func setBase(_ request: HTTPRequest) { state.withLock { $0.base = request } }

    /// The request as it was sent last in this pass, or the base request.
    var latestRequest: HTTPRequest? { state.withLock { $0.sent ?? $0.base } }
    /// The request as it was sent last in this pass, and the number of requests so far.
    var latestSent: (request: HTTPRequest?, count: Int) { state.withLock { ($0.sent, $0.sends) } }
    /// A Boolean value that indicates whether the pass has failed without sending its last request.
    var hasSentNothing: Bool { state.withLock { $0.sendsInPass == 0 || $0.isUnmade } }

    func noteUnmade() { state.withLock { $0.isUnmade = true } }

    /// Ends the operation with the failure that the pass is about to have.
    func end(_ reason: Retry.Error) { state.withLock { ($0.isEnded, $0.endReason) = (true, reason) } }

    var isEnded: Bool { state.withLock(\.isEnded) }
    var endReason: Retry.Error? { state.withLock(\.endReason) }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        var request = request
        if let observer = loop.resource.options.observer { request.observer = observer }
        let (isAllowed, openBody) = state.withLock { [request] state in
            let isAllowed = state.sendsInPass < Self.maximumSends && (state.sends == 0 || request.body.isReplayable)
            (state.isUnmade, state.isEnded, state.endReason) = (!isAllowed, false, nil)
            guard isAllowed else { return (false, nil as HTTPResponseBody?) }
            (state.sends, state.sendsInPass) = (state.sends + 1, state.sendsInPass + 1)
            state.sent = request
            return (true, state.openBody.take())
        }
        guard isAllowed else { throw refusal(of: request) }
        openBody?.cancel()
        let metrics = loop.observers.isEmpty ? nil : begin(&request)
        request.headers.setDefault("User-Agent", loop.options.userAgent)
        do {
            let response = try await loop.exchange(request, self, metrics)
            if let body = response.unread { state.withLock { $0.openBody = body } }
            finish(response, nil, metrics)
            return response
        } catch let error as RedirectFollower.Incomplete {
            noteUnmade()
            let cause = AttemptLoop.notMade(error.cause, isUnprocessed: !error.isAfterRedirect)
            finish(nil, cause, metrics)
            throw cause
        } catch {
            let error = Task.isCancelled ? CancellationError() : error
            finish(nil, error, metrics)
            throw error
        }
    }

    private func refusal(of request: HTTPRequest) -> NetworkError {
        guard request.body.isReplayable else {
            return NetworkError(.bodyNotReplayable, "the body can be sent only once, and was sent before")
        }
        return NetworkError(.requestNotMade, "an interceptor sent the request more than \(Self.maximumSends) times")
    }

    /// Gives a streamed response its body back, if interceptors have replaced the response.
    ///
    /// A body in the new response replaces the streamed one.
    func restoreBody(of response: inout HTTPResponse) {
        let body = loop.streamsBody ? state.withLock { $0.openBody.take() } : nil
        if response.body.isEmpty {
            if response.isFromServer { response.unread = response.unread ?? body }
        } else {
            response.unread = nil
            body?.cancel()
        }
    }

    // MARK: Repetitions

    /// Returns `nil` if the request can be repeated.
    func obstacle(to request: HTTPRequest, retries: Int = 0, delay: Duration) -> Retry.Error? {
        let limit = Retry.maximumAuthenticationRetries
        if retries > limit { return .retries(limit) }
        if !request.body.isReplayable { return .bodyNotReplayable }
        if let deadline, loop.options.timeSource.moment + delay >= deadline { return .delay(loop.timeout ?? .zero) }
        return nil
    }

    func add(_ error: any Error) {
        state.withLock { state in
            state.retry.errors.append(error)
            state.retry.latestError = error
        }
    }

    func prepareAuthentication(after error: ServerError, delay: Duration) async throws {
        // Without the time that the new credential takes.
        reportAttempt(response: nil, error: error)
        state.withLock { state in
            state.retry.authenticationErrors.append(error)
            state.retry.latestError = error
            state.isUnmade = true
        }
        try await pause(delay)
    }

    func pause(_ delay: Duration) async throws {
        guard delay > .zero else { return }
        state.withLock { state in
            state.retry.totalDelay += delay
            state.retry.delays.append(delay)
        }
        try await loop.options.timeSource.sleep(delay)
    }

    /// Decodes the body of a response once.
    func error(for response: HTTPResponse, to request: HTTPRequest) -> ServerError? {
        guard !loop.traits.acceptedStatuses.contains(response.status) else { return nil }
        let known = state.withLock { $0.decoded?.count == $0.sends ? $0.decoded?.error : nil }
        if let known, known.errorCode == response.status, known.response == response.body { return known }
        let decoding = loop.resource.errorDecoding ?? loop.options.errorDecoding
        let error = ServerError(response, to: request, traits: loop.traits, decoding: decoding)
        state.withLock { $0.decoded = ($0.sends, error) }
        return error
    }

    // MARK: Renewals

    var isRenewal: Bool { loop.renewals == nil }

    /// Sends the request again, to renew the stored response with a name; the background operation
    /// runs all interceptors and doesn't retain the client.
    func renew(_ name: String) {
        guard let renewals = loop.renewals, let base = state.withLock(\.base), base.body.isReplayable else { return }
        // The task must not keep the client's renewals, whose end cancels it.
        let loop = AttemptLoop(renewing: loop)
        renewals.start(name) { _ = try await loop.run { base } }
    }

    /// The lowercase names of the fields that may contain a credential.
    ///
    /// A DPoP proof differs in each request. It belongs to the access token in `Authorization`.
    var credentialFields: Set<String> {
        let names = loop.chain.credentialFields.union(loop.redirects.sensitiveHeaders).map { $0.lowercased() }
        return Set(names + ["authorization", "cookie"]).subtracting(["dpop"])
    }

    // MARK: Observers

    func reportStart() {
        guard !loop.observers.isEmpty else { return }
        let context = context
        for observer in loop.observers { observer.operationStarted(context) }
    }

    /// Adds the observers' header fields to a request that is about to be sent.
    private func begin(_ request: inout HTTPRequest) -> MetricsBox? {
        reportAttempt(response: nil, error: nil)
        let context = latestContext
        for observer in loop.observers {
            for field in observer.attemptStarted(request, context: context) where request.headers[field.name] == nil {
                request.headers.append(name: field.name, value: field.value)
            }
        }
        let now = loop.options.timeSource.moment
        state.withLock { [request] state in
            (state.sent, state.attemptStarted) = (request, now)
            state.attempt = RequestAttempt(context: context, duration: .zero, request: request)
        }
        let measuring = loop.observers.filter(\.needsMetrics)
        return measuring.isEmpty ? nil : MetricsBox(measuring)
    }

    /// Observers see the end of an attempt when it's known what became of it.
    private func finish(_ response: HTTPResponse?, _ error: (any Error)?, _ metrics: MetricsBox?) {
        guard !loop.observers.isEmpty else { return }
        let now = loop.options.timeSource.moment
        state.withLock { state in
            state.attempt?.duration = now - state.attemptStarted
            state.attempt?.response = response
            state.attempt?.error = error
            state.attempt?.exchanges = metrics?.all ?? []
        }
    }

    @discardableResult
    private func reportAttempt(response: HTTPResponse?, error: (any Error)?) -> RequestAttempt? {
        guard var attempt = state.withLock({ $0.attempt.take() }) else { return nil }
        attempt.response = response ?? attempt.response
        attempt.error = error ?? attempt.error
        if attempt.error == nil, let response = attempt.response, let request = attempt.request {
            attempt.error = self.error(for: response, to: request)
        }
        // An observer that keeps the attempt must not keep the connection busy.
        attempt.response?.unread = nil
        for observer in loop.observers { observer.attemptEnded(attempt) }
        return attempt
    }

    @discardableResult
    func endPass(response: HTTPResponse?, error: (any Error)?) -> RequestAttempt? {
        guard !loop.observers.isEmpty else { return nil }
        let context = context
        let now = loop.options.timeSource.moment
        state.withLock { state in
            if state.attempt == nil {
                // Nothing is sent for a stored response or after an interceptor's error.
                let request = error != nil && response == nil ? nil : state.base
                state.attempt = RequestAttempt(context: context, duration: .zero, request: request)
            }
            state.attempt?.duration = now - state.attemptStarted
        }
        let attempt = reportAttempt(response: response, error: error)
        state.withLock { $0.last = attempt }
        return attempt
    }

    func reportEnd(response: HTTPResponse) {
        guard var last = endPass(response: response, error: nil) else { return }
        last.duration = loop.options.timeSource.moment - started
        for observer in loop.observers { observer.operationEnded(last) }
    }

    func reportEnd(error: any Error) {
        guard var last = state.withLock(\.last) else { return }
        last.duration = loop.options.timeSource.moment - started
        last.error = error
        for observer in loop.observers { observer.operationEnded(last) }
    }
}
