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

    /// A Boolean value that indicates whether the action asks for another attempt.
    var isRetry: Bool {
        switch self {
        case .retry, .retryAfter: true
        case .none, .noRetry: false
        }
    }
}
