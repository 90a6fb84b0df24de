public import Networking
import Synchronization

/// A token source that limits the rate of requests to another source.
public final class LimitedTokenSource: WrappingTokenSource {
    let source: any TokenSource
    private let limit: Int
    private let window: Duration
    private let timeSource: TimeSource
    private let requests = Mutex<[ContinuousClock.Instant]>([])

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - source: The source of tokens.
    ///   - limit: The maximum number of requests in a window. The default is 5.
    ///   - window: The length of the sliding window. The default is 30 seconds.
    ///   - timeSource: The source of time.
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

    /// Returns the wrapped source's token.
    ///
    /// - Throws: ``OAuth2Error`` with the code `excessiveRefresh` if the limit is exceeded, with
    ///   the time to wait in ``OAuth2Error/retryAfter``; any error of the wrapped source.
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
                "the limit of \(limit) token requests in \(window) is exceeded"
            )
            error.retryAfter = wait
            throw error
        }
        return try await source.token(for: requirements)
    }
}
