/// The options of a server-sent event stream.
public struct EventStreamOptions: Sendable {
    /// The ID of the last event that an earlier stream received, to continue after it; empty, the
    /// default, for none.
    ///
    /// The client sends it as `Last-Event-ID`, and replaces it by the IDs that it receives.
    public var lastEventID: String
    /// The time to wait before reconnecting, until the server sends another; 3 seconds by default,
    /// at most an hour.
    public var reconnectionTime: Duration
    /// The policy that decides whether to reconnect; `nil` to read a single response.
    ///
    /// The client asks it after each failed request, and whenever a stream ends, which counts as
    /// the error `connectionLost`. Its delay is added to the reconnection time. Its state counts
    /// the failures in a row: a stream that delivered an event or lasted a minute resets it. The
    /// default is ``Retry/Policy/reconnecting(_:)``.
    public var reconnection: Retry.Policy?
    /// The maximum size of a line, and of the data of an event, in bytes; 1 MiB by default.
    public var maximumEventSize: Int
    /// The options that override the client's.
    ///
    /// The `timeout` and the request's `timeoutInterval` limit the time until the response's
    /// header arrives, and not the stream. The idle timeout is 5 minutes unless these options
    /// specify it: a server that has no events should send a comment more often. A
    /// `maximumBodySize` in these options limits each response; by default, there's no limit.
    public var request: RequestOptions

    /// The idle timeout of streams whose options have none.
    static let idleTimeout = Duration.seconds(300)

    /// Creates options.
    ///
    /// - Parameters:
    ///   - lastEventID: The ID of the last event that an earlier stream received. The default is
    ///     empty, for none.
    ///   - reconnectionTime: The time to wait before reconnecting. The default is 3 seconds.
    ///   - reconnection: The policy that decides whether to reconnect. With `nil`, the client
    ///     doesn't.
    ///   - maximumEventSize: The maximum size of a line and of an event's data, in bytes. The
    ///     default is 1 MiB.
    ///   - request: The options that override the client's.
    public init(
        lastEventID: String = "",
        reconnectionTime: Duration = .seconds(3),
        reconnection: Retry.Policy? = .reconnecting(),
        maximumEventSize: Int = 1 << 20,
        request: RequestOptions = RequestOptions()
    ) {
        self.lastEventID = lastEventID
        self.reconnectionTime = reconnectionTime
        self.reconnection = reconnection
        self.maximumEventSize = maximumEventSize
        self.request = request
    }
}

extension Retry.Policy {
    /// Returns the policy of event streams, which reconnects after a transient failure of a request
    /// that is safe to send again.
    ///
    /// These are the failures of ``Retry/Condition/safeToRepeat``, a request that a
    /// ``CircuitBreaker`` or ``RateLimiter`` held back, and an access token that couldn't be
    /// obtained for the moment. The longest `Retry-After` that it waits for is 15 minutes.
    ///
    /// - Parameter backoff: The delays, and the limit on failures in a row. By default, the delays
    ///   are random up to 1 second, doubled after each failure up to 60 seconds. It gives up when
    ///   they add up to 15 minutes.
    /// - Returns: The policy.
    public static func reconnecting(
        _ backoff: Retry.Backoff = .exponential(
            .seconds(1),
            maximum: .seconds(60),
            until: .maxDelay(.seconds(900))
        )
    ) -> Self {
        .backoff(backoff, when: .temporary, maximumServerDelay: .seconds(900))
    }
}

extension Retry.Condition {
    /// A failure after which the same request may succeed later, even if that takes minutes.
    fileprivate static var temporary: Self {
        Self { failure in
            if safeToRepeat.predicate(failure) { return true }
            let error = failure.error
            if case .custom(let reason as any RetryableError) = error.retryReason { return reason.isRetryable }
            guard let error = error as? NetworkError else { return false }
            if let cause = error.cause as? any RetryableError { return cause.isRetryable }
            return [.circuitOpen, .rateLimited].contains(error.code)
        }
    }
}

extension Error {
    /// The reason why the client didn't repeat the request.
    fileprivate var retryReason: Retry.Error? {
        switch self {
        case let error as ServerError: error.retry?.reason
        case let error as NetworkError: error.retry?.reason
        default: nil
        }
    }
}
