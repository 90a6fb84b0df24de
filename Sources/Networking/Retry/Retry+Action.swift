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

extension Retry {
    /// The retry history of a failed operation, attached to the error that the caller gets.
    public struct Outcome: Sendable {
        /// The reason for not retrying, or `nil` if no interceptor asked for a retry.
        public let reason: Retry.Error?
        /// The attempts before the last failure.
        public let state: Retry.State
    }
}
