public import Foundation

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
        package var latestError: (any Swift.Error)?

        /// The number of retries so far, without those for an authenticator.
        public var retryCount: Int { errors.count }

        /// Creates a state, for testing policies and authenticators; the total delay is the sum of
        /// the delays by default.
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

    /// A rule that decides whether and when the client retries a failed attempt.
    ///
    /// A policy is an interceptor. Pass it to a client with the other interceptors:
    ///
    /// ```swift
    /// let client = NetworkClient(interceptors: [Retry.Policy.maxRetries(2)])
    /// ```
    public struct Policy: RetryVoter {
        private let rule: @Sendable (FailedRequest) -> Action

        /// Returns a policy that retries a number of times: at once, or after the delay that the
        /// server asks for.
        ///
        /// - Parameters:
        ///   - retries: The maximum number of attempts after the first. With 0, the first failure
        ///     is final.
        ///   - condition: The failures to retry. The default is ``Condition/safeToRepeat``.
        ///   - maximumServerDelay: The longest `Retry-After` to wait for. A longer one ends the
        ///     retries. The default is 60 seconds.
        ///   - date: Returns the current date, for a `Retry-After` that contains a date.
        /// - Returns: A policy that returns `retry`, or `retryAfter` if the server asks for a
        ///   delay, and `noRetry` when the retries are used up.
        public static func maxRetries(
            _ retries: Int,
            when condition: Condition = .safeToRepeat,
            maximumServerDelay: Duration = .seconds(60),
            date: @escaping @Sendable () -> Date = { Date() }
        ) -> Self {
            let backoff = Backoff.constant(.zero, until: .maxRetries(retries))
            return .backoff(backoff, when: condition, maximumServerDelay: maximumServerDelay, date: date)
        }

        /// Returns a policy that retries after a delay.
        ///
        /// - Parameters:
        ///   - backoff: The delays, and the limit at which retries stop.
        ///   - condition: The failures to retry. The default is ``Condition/safeToRepeat``.
        ///   - maximumServerDelay: The longest `Retry-After` to wait for. A longer one ends the
        ///     retries. A shorter one is the minimum delay, even if the backoff's is shorter. The
        ///     default is 60 seconds.
        ///   - date: Returns the current date, for a `Retry-After` that contains a date.
        /// - Returns: A policy that returns `retryAfter`, or `retry` for a delay of zero, until the
        ///   backoff's truncation, then `noRetry`.
        public static func backoff(
            _ backoff: Backoff,
            when condition: Condition = .safeToRepeat,
            maximumServerDelay: Duration = .seconds(60),
            date: @escaping @Sendable () -> Date = { Date() }
        ) -> Self {
            Self { failure in
                guard condition.predicate(failure) else { return .none }
                let headers = failure.response?.headers
                let asked =
                    RetryAfter.delay(headers?["Retry-After"], responseDate: headers?["Date"], now: date()) ?? .zero
                let action = backoff.action(failure.context.retryState, atLeast: asked)
                guard case .retryAfter(let delay) = action else { return action }
                if asked > maximumServerDelay { return .noRetry(.serverDelay(asked)) }
                return delay > .zero ? action : .retry
            }
        }

        /// Returns a policy that applies a custom rule to every failure.
        ///
        /// - Parameter rule: Returns the action to take after a failure.
        /// - Returns: A policy that returns the rule's action.
        public static func custom(_ rule: @escaping @Sendable (FailedRequest) -> Action) -> Self {
            Self(rule: rule)
        }

        /// Returns the policy's action for a failure.
        public func evaluateFailedRequest(_ failure: FailedRequest) -> Action { rule(failure) }
    }

    /// The failures that a policy retries.
    public struct Condition: Sendable {
        let predicate: @Sendable (FailedRequest) -> Bool

        /// Creates a condition.
        ///
        /// - Parameter predicate: Returns whether the policy applies to a failure.
        public init(_ predicate: @escaping @Sendable (FailedRequest) -> Bool) {
            self.predicate = predicate
        }

        /// A condition that matches every failure of every request, even of a `POST`.
        public static let always = Condition { _ in true }

        /// A condition that matches a transient failure of a request that is safe to send again.
        ///
        /// Transient failures are timeouts, failed name resolution, failed or lost connections, and
        /// the status codes 408, 429, 500, 502, 503 and 504. A request is safe to send again if
        /// it's idempotent
        /// ([RFC 9110 §9.2.2](https://www.rfc-editor.org/rfc/rfc9110#section-9.2.2)) or if the
        /// error says that no server processed it (``NetworkError/isUnprocessed``). The latter
        /// includes a `POST` that couldn't connect.
        public static let safeToRepeat = Condition { failure in
            if let server = failure.error as? ServerError {
                return failure.isIdempotent && [408, 429, 500, 502, 503, 504].contains(server.errorCode)
            }
            guard let error = failure.error as? NetworkError, failure.isIdempotent || error.isUnprocessed else {
                return false
            }
            return [.timedOut, .cannotResolveHost, .cannotConnect, .connectionLost].contains(error.code)
        }
    }
}

extension Retry.Action {
    /// Returns the action with the higher priority.
    ///
    /// From highest to lowest: `noRetry` (the first), `retryAfter` (the longer delay), `retry`,
    /// `none`.
    ///
    /// - Parameters:
    ///   - first: The earlier action.
    ///   - second: The later action.
    /// - Returns: The action that applies.
    public static func highestPriority(_ first: Self, _ second: Self) -> Self {
        switch (first, second) {
        case (.noRetry, _): first
        case (_, .noRetry): second
        case (.retryAfter(let one), .retryAfter(let other)): one > other ? first : second
        case (.retryAfter, _): first
        case (_, .retryAfter): second
        case (.retry, _): first
        case (_, .retry): second
        case (.none, .none): .none
        }
    }
}

extension Retry.Error: CustomStringConvertible {
    /// The reason why the client didn't retry, in readable form.
    public var description: String {
        switch self {
        case .retries(let limit): "gave up after \(limit) retries"
        case .delay(let limit): "not retried again: the delays would exceed \(limit)"
        case .bodyNotReplayable: "not retried: the request's body can be sent only once"
        case .serverDelay(let delay): "not retried: the server asked for a delay of \(delay)"
        case .budget: "not retried again: the retry budget for this server is exhausted"
        case .storedResponse: "not retried: the response comes from the cache"
        case .custom(let error): "not retried: \(error)"
        }
    }
}
