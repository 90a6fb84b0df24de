public import Networking
import Synchronization

/// A source that is asked only so often.
public final class LimitedTokenSource: TokenSource {
    private let source: any TokenSource
    private let limit: Int
    private let window: Duration
    private let timeSource: TimeSource
    private let requests = Mutex<[ContinuousClock.Instant]>([])

    /// Makes a source.
    ///
    /// - Parameters:
    ///   - source: The source that is asked.
    ///   - limit: How often it may be asked in a window.
    ///   - window: How long the window is that slides with the time.
    ///   - timeSource: Where time comes from.
    public init(
        _ source: any TokenSource,
        limit: Int = 5,
        per window: Duration = .seconds(30),
        timeSource: TimeSource = .system
    ) {
        self.source = source
        self.limit = limit
        self.window = window
        self.timeSource = timeSource
    }

    /// Whether the wrapped source can.
    public var canReplaceTokens: Bool { source.canReplaceTokens }

    /// The wrapped source's token.
    ///
    /// - Parameter requirements: What the token is for.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` with the code `excessiveRefresh` if it has been asked too often, with the time to wait in
    ///   ``OAuth2Error/retryAfter``; what the wrapped source throws.
    public func token(for requirements: TokenRequirements) async throws -> AccessToken {
        let now = timeSource.now()
        let wait = requests.withLock { requests -> Duration? in
            requests.removeAll { now - $0 >= window }
            guard requests.count >= limit else {
                requests.append(now)
                return nil
            }
            return requests.first.map { $0 + window - now } ?? window
        }
        if let wait {
            var error = OAuth2Error(
                .excessiveRefresh,
                "\(limit) tokens within \(window) are as many as may be asked for"
            )
            error.retryAfter = wait
            throw error
        }
        return try await source.token(for: requirements)
    }
}
