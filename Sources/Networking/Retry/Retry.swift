/// A namespace for retry policies, backoff and budgets.
public enum Retry {
    /// The limit on retries for authentication, so that an authenticator can't loop forever.
    package static let maximumAuthenticationRetries = 10

    /// A decision after a failed attempt, by a ``RetryVoter`` or a ``URLRequestAuthenticator``.
    ///
    /// If voters disagree, the action with the highest priority applies: `noRetry`, then
    /// `retryAfter` (the longer delay), then `retry`, then `none`. Of several `noRetry` actions,
    /// the first applies.
    public enum Action: Sendable {
        /// The voter leaves the decision to the others.
        case none
        /// The client doesn't retry, for the given reason.
        case noRetry(Retry.Error)
        /// The client retries at once.
        case retry
        /// The client retries after a delay; a delay of zero or less is the same as ``retry``.
        case retryAfter(Duration)
    }

    /// The reason for not retrying.
    @nonexhaustive
    public enum Error: Swift.Error, Sendable {
        /// All retries are used up; the number is the policy's limit.
        case retries(Int)
        /// The delays would exceed the policy's total; the duration is the policy's limit.
        case delay(Duration)
        /// The request's body can be sent only once.
        case bodyNotReplayable
        /// The server asks for a longer delay, the given duration, than the policy accepts.
        case serverDelay(Duration)
        /// The retry budget that the client's operations share is used up; see ``Retry/Budget``.
        case budget
        /// The response comes from a ``CacheInterceptor``, and a retry would get it again.
        case storedResponse
        /// A voter or authenticator rejected the retry with its own error.
        case custom(any Swift.Error)
    }

    /// The history of an operation's attempts.
    public struct State: Sendable {
        /// The failures for which voters asked for a retry, oldest first, without the current one.
        public internal(set) var errors: [any Swift.Error] = []
        /// The failures that an authenticator asked to retry, oldest first.
        ///
        /// They count separately: an exhausted policy can't prevent the retry that a fresh token
        /// needs, and a 401 doesn't use up a policy.
        public internal(set) var authenticationErrors: [any Swift.Error] = []
        /// The delays so far, oldest first; immediate retries add none.
        public internal(set) var delays: [Duration] = []
        /// The sum of the delays so far.
        public internal(set) var totalDelay: Duration = .zero
        /// The time at which the operation began.
        public var started: ContinuousClock.Instant? { start?.instant }
        var start: Moment?
        /// The latest failure, of either kind.
        package var latestError: (any Swift.Error)?

        /// A state without any attempts.
        public static let empty = State()

        /// The number of retries so far, without those for an authenticator.
        public var retryCount: Int { errors.count }

        /// Creates a state, for testing policies and authenticators.
        ///
        /// - Parameters:
        ///   - errors: The failures that counted as ordinary attempts.
        ///   - authenticationErrors: The failures that an authenticator asked to retry.
        ///   - delays: The delays so far.
        ///   - totalDelay: The sum of the delays. By default, the sum of `delays`.
        ///   - started: The time at which the operation began.
        public init(
            errors: [any Swift.Error] = [],
            authenticationErrors: [any Swift.Error] = [],
            delays: [Duration] = [],
            totalDelay: Duration? = nil,
            started: ContinuousClock.Instant? = nil
        ) {
            self.errors = errors
            self.authenticationErrors = authenticationErrors
            self.delays = delays
            self.totalDelay = totalDelay ?? delays.reduce(.zero, +)
            start = started.map(Moment.init)
        }
    }

    /// The retry history of a failed operation, attached to the error that the caller gets.
    public struct Outcome: Sendable {
        /// The reason for not retrying, or `nil` if no interceptor asked for a retry.
        public let reason: Retry.Error?
        /// The attempts before the last failure.
        public let state: Retry.State
    }
}
