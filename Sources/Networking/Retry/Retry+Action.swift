extension Retry.Action {
    /// The action of higher priority: `noRetry` over `retryAfter` (the longer one) over `retry` over `none`; of two
    /// `noRetry` the first.
    ///
    /// - Parameters:
    ///   - first: One action.
    ///   - second: The other, which came later.
    /// - Returns: The action that wins.
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

extension Retry {
    /// How an operation that failed came to its end: attached to the error that the caller gets.
    public struct Outcome: Sendable {
        /// Why there was no further attempt; `nil` if nobody asked for one.
        public let reason: Retry.Error?
        /// What happened before the last failure.
        public let state: Retry.State

        /// Makes an outcome.
        ///
        /// - Parameters:
        ///   - reason: Why there was no further attempt.
        ///   - state: What happened before the last failure.
        public init(reason: Retry.Error?, state: Retry.State) {
            self.reason = reason
            self.state = state
        }
    }
}
