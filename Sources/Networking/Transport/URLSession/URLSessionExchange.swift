import Dispatch
import Foundation
import FoundationNetworking
import Synchronization

/// A request as the engine sees it, which never leaves the engine's queue.
final class URLSessionExchange {
    typealias Receiver = CheckedContinuation<Result<HTTPTransportResponse, any Error>, Never>

    let submission: URLSessionSubmission
    /// `nil` while the request is queued.
    var task: URLSessionDataTask?
    var alarm: DispatchWorkItem?
    private var timing = ExchangeTiming()
    /// `nil` while the request is queued.
    private var started: Moment?
    /// A `Basic` challenge was rejected, so that the cancellation stands for a 401.
    var hasRefusedChallenge = false
    /// The outcome was reported, although URLSession may still be working.
    private(set) var hasEnded = false
    private var receiver: Receiver?
    /// `nil` if the receiver gets the whole response.
    private var giveUp: (@Sendable () -> Void)?
    private var stream: URLSessionBody?
    private var response: HTTPURLResponse?
    private var body = Data()
    private var receivedCount = 0
    private var sentCount = 0

    init(submission: URLSessionSubmission, receiver: Receiver, givingUp giveUp: (@Sendable () -> Void)?) {
        self.submission = submission
        self.receiver = receiver
        self.giveUp = giveUp
    }

    func start(_ task: URLSessionDataTask) {
        self.task = task
        let now = Moment.now
        started = now
        timing.begin(at: now, isWhole: true)
        submission.observer?(.started)
    }

    /// Has no effect after the first call.
    func end(_ error: (any Error)?) {
        guard !hasEnded else { return }
        hasEnded = true
        alarm?.cancel()
        alarm = nil
        submission.observer?(.finished(metrics))
        receiver?.resume(returning: error.map(Result.failure) ?? wholeResponse)
        stream?.finish(error)
        (receiver, giveUp, stream, body) = (nil, nil, nil, Data())
    }

    private func deliverHead() {
        guard let receiver, let giveUp, let response else { return }
        let stream = URLSessionBody(givingUp: giveUp)
        (self.receiver, self.giveUp, self.stream) = (nil, nil, stream)
        let mayHaveBody = submission.request.httpMethod != "HEAD"
        receiver.resume(
            returning: .success(Self.response(response, hasBody: mayHaveBody, stream: HTTPResponseBody(source: stream)))
        )
    }

    /// Ignores interim responses
    /// ([RFC 9110 §15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)).
    func receive(_ response: URLResponse?) {
        guard !hasEnded, self.response == nil, let response = response as? HTTPURLResponse, response.statusCode >= 200
        else { return }
        self.response = response
        timing.receive(at: .now)
        submission.observer?(.headReceived(status: response.statusCode))
        deliverHead()
    }

    /// Returns an error if the body exceeds the limit.
    func receive(_ part: Data) -> NetworkError? {
        guard !hasEnded else { return nil }
        timing.receive(at: .now)
        guard !part.isEmpty else { return nil }
        let limit = submission.limits.maximumBodySize
        guard part.count <= limit - receivedCount else { return .tooLarge(submission.origin, limit) }
        receivedCount += part.count
        if let stream { stream.append(part) } else { body.append(part) }
        submission.observer?(.bodyReceived(receivedCount))
        return nil
    }

    func noteSent(_ count: Int) {
        guard !hasEnded else { return }
        sentCount = count
        timing.begin(at: .now, isWhole: true)
        submission.observer?(.bodySent(count))
    }

    /// Returns the error of an exceeded limit, and the time of the next check.
    func timeout(at now: Moment) -> (failure: NetworkError?, next: Moment?) {
        let limits = submission.limits
        let isBeyondDeadline = timing.hasFirstByte && limits.streamsBody && limits.deadlineEndsWithHeader
        let deadline = isBeyondDeadline ? nil : limits.end
        let (expired, next) = timing.check(at: now, limits: limits, deadline: deadline)
        let failure = expired.map { limit in
            NetworkError.timedOut(
                limit,
                of: limits,
                started == nil ? .queued : timing.hasFirstByte ? .receiving : .firstByte,
                submission.origin
            )
        }
        return (failure, next)
    }

    /// Returns `nil` for success.
    func failure(_ error: (any Error)?) -> (any Error)? {
        if submission.isCancelled { return CancellationError() }
        if let error, !(hasRefusedChallenge && response != nil && (error as? URLError)?.code == .cancelled) {
            return URLSessionFailure(error, origin: submission.origin).networkError
        }
        return response == nil ? notHTTP : nil
    }

    private var notHTTP: NetworkError {
        NetworkError(.invalidResponse, "\(submission.origin) didn't send an HTTP response")
    }

    private var wholeResponse: Result<HTTPTransportResponse, any Error> {
        guard let response else { return .failure(notHTTP) }
        return .success(Self.response(response, hasBody: !body.isEmpty, body: body))
    }

    private var metrics: HTTPTransportMetrics {
        var metrics = HTTPTransportMetrics(totalTime: .now - submission.submitted)
        metrics.queueTime = started.map { $0 - submission.submitted }
        metrics.firstByteTime = timing.firstByte.map { $0 - submission.submitted }
        metrics.bodyBytesSent = sentCount
        metrics.bodyBytesReceived = receivedCount
        return metrics
    }

    private static func response(
        _ response: HTTPURLResponse,
        hasBody: Bool,
        body: Data = Data(),
        stream: HTTPResponseBody? = nil
    ) -> HTTPTransportResponse {
        var fields: [HTTPHeaders.Field] = []
        for (name, value) in response.allHeaderFields {
            guard let name = name as? String, let value = value as? String else { continue }
            // URLSession doesn't trim the whitespace around a value (RFC 9110 §5.5).
            fields.append(HTTPHeaders.Field(name: name, value: String(value[...].trimmingHTTPWhitespace)))
        }
        let headers = HTTPHeaders(fields.sorted { $0.name < $1.name })
        let isDecoded = hasBody && !(headers["Content-Encoding"] ?? "identity").equalsIgnoringASCIICase("identity")
        var result = HTTPTransportResponse(
            status: response.statusCode,
            version: "",
            headers: isDecoded ? headers.withoutCoding : headers,
            body: body,
            stream: stream
        )
        result.isDecoded = isDecoded
        result.hasCombinedFields = true
        return result
    }
}

/// The body of a response that URLSession is receiving, buffered until it's read.
///
/// URLSession has no back pressure, so unread data is buffered here, up to the request's limit.
final class URLSessionBody: HTTPResponseBodySource {
    private struct State {
        var held = Data()
        /// The result after the last byte, which is `nil` or the error.
        var end: Result<Data?, any Error>?
        var reader: CheckedContinuation<Data?, any Error>?
        /// Cancels the request, and keeps the transport alive while it's running.
        var giveUp: (@Sendable () -> Void)?

        /// Returns `nil` if the reader must wait.
        mutating func take() -> Result<Data?, any Error>? {
            guard !held.isEmpty else { return end }
            defer { held = Data() }
            return .success(held)
        }

        mutating func serve() -> (CheckedContinuation<Data?, any Error>, Result<Data?, any Error>)? {
            guard let reader, let result = take() else { return nil }
            self.reader = nil
            return (reader, result)
        }
    }

    private let state: Mutex<State>

    init(givingUp giveUp: @escaping @Sendable () -> Void) {
        state = Mutex(State(giveUp: giveUp))
    }

    /// FoundationNetworking doesn't report them.
    var trailers: HTTPHeaders { [:] }

    func next() async throws -> Data? {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state in
                    let result = state.take()
                    if result == nil { state.reader = continuation }
                    return result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            cancel()
        }
    }

    func cancel() {
        let giveUp = state.withLock { $0.giveUp.take() }
        end(.failure(CancellationError()), dropsHeld: true)
        giveUp?()
    }

    func append(_ part: Data) {
        let served = state.withLock { state in
            // After the end, no reader waits.
            if state.end == nil { state.held.append(part) }
            return state.serve()
        }
        if let (reader, result) = served { reader.resume(with: result) }
    }

    /// The buffered data can still be read before an error is thrown.
    func finish(_ error: (any Error)?) {
        end(error.map { .failure($0) } ?? .success(nil), dropsHeld: false)
    }

    private func end(_ end: Result<Data?, any Error>, dropsHeld: Bool) {
        // The reference that keeps the transport alive is released without the lock, because the
        // transport's deinitializer calls back into the engine.
        let (served, kept) = state.withLock { state in
            let isUnread = state.end == nil || !state.held.isEmpty
            if state.end == nil || (dropsHeld && isUnread) { state.end = end }
            if dropsHeld { state.held = Data() }
            return (state.serve(), state.giveUp.take())
        }
        if let (reader, result) = served { reader.resume(with: result) }
        _ = kept
    }
}
