public import Foundation

extension Retry {
    /// A rule that decides whether and when the client retries a failed attempt.
    ///
    /// A policy is an interceptor. Pass it to a client with the other interceptors:
    ///
    /// ```swift
    /// let client = NetworkClient(interceptors: [Retry.Policy.maxRetries(2)])
    /// ```
    public struct Policy: RetryVoter {
        /// A custom rule.
        public typealias Rule = @Sendable (FailedRequest) -> Action

        private let rule: Rule

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
        public static func custom(_ rule: @escaping Rule) -> Self {
            Self(rule: rule)
        }

        /// Returns the policy's action for a failure.
        public func evaluateFailedRequest(_ failure: FailedRequest) -> Action { rule(failure) }
    }
}

extension Retry {
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
