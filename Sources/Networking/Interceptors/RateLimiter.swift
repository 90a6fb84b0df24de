import Synchronization

/// An interceptor that limits the rate of requests by delaying them.
///
/// ```swift
/// let client = NetworkClient(interceptors: [
///     RateLimiter(10, per: .seconds(1)), Retry.Policy.maxRetries(2),
/// ])
/// ```
///
/// The limiter sends up to a burst of requests at once, and then spaces them evenly. It counts what
/// passes it: put it after an authenticator if the repetitions with a new token count, too. A
/// request that would wait past its operation's deadline fails at once with
/// ``NetworkError/Code/rateLimited`` and doesn't count.
public final class RateLimiter: RequestInterceptor {
    private let interval: Duration
    private let tolerance: Duration
    private let timeSource: TimeSource
    /// The time of the next request if all were evenly spaced.
    private let due = Mutex<ContinuousClock.Instant?>(nil)

    /// Creates a limiter; share it between the clients that share the limit.
    ///
    /// - Parameters:
    ///   - count: The number of requests per period; at least 1.
    ///   - duration: The period; more than zero.
    ///   - burst: The number of requests sent at once after a pause. The default is 1.
    ///   - timeSource: The clocks, the same as the client's.
    public init(_ count: Int, per duration: Duration, burst: Int = 1, timeSource: TimeSource = .system) {
        // The product with a billion requests fits in a duration.
        interval = min(max(.zero, duration), .tenYears) / max(1, count)
        tolerance = interval * (min(max(1, burst), 1_000_000_000) - 1)
        self.timeSource = timeSource
    }

    /// Delays the request to keep the rate.
    ///
    /// - Throws: ``NetworkError`` with the code `rateLimited`.
    public func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        let now = timeSource.now()
        let wait = due.withLock { due -> Duration? in
            let time = max(due ?? now, now)
            let wait = (time - tolerance) - now
            if let deadline = next.context.deadline, wait > .zero, now + wait >= deadline { return nil }
            due = time + interval
            return wait
        }
        guard let wait else {
            throw NetworkError(
                .rateLimited,
                "the rate limit would delay the request past its deadline; nothing was sent"
            )
        }
        if wait > .zero { try await timeSource.sleep(wait) }
        return try await next(request)
    }
}
