public import FoundationNetworking
import Synchronization

/// Sends no more than so many requests in a time, and makes the others wait for their turn.
///
/// ```swift
/// let client = NetworkClient(interceptors: [RateLimiter(10, per: .seconds(1)), Retry.Policy.maxRetries(2)])
/// ```
///
/// Requests that come at once are let through as far as the burst goes, and then one after the other at equal distances. Each attempt
/// counts. A request that would have to wait past its operation's deadline fails at once with ``NetworkError/Code/rateLimited``, and
/// takes no place.
public final class RateLimiter: RequestInterceptor {
    private let interval: Duration
    private let tolerance: Duration
    private let timeSource: TimeSource
    /// When the next request would be sent if all came at equal distances.
    private let next = Mutex<ContinuousClock.Instant?>(nil)

    /// Makes a limiter; share it between the clients that share the limit.
    ///
    /// - Parameters:
    ///   - count: How many requests; at least 1.
    ///   - duration: In which time; more than zero.
    ///   - burst: How many requests may be sent at once after a pause; 1 by default.
    ///   - timeSource: Where time comes from; the same as the client's.
    public init(_ count: Int, per duration: Duration, burst: Int = 1, timeSource: TimeSource = .system) {
        interval = max(.zero, duration) / max(1, count)
        tolerance = interval * (max(1, burst) - 1)
        self.timeSource = timeSource
    }

    /// Waits for the request's turn.
    ///
    /// - Parameters:
    ///   - request: The request or the error so far.
    ///   - context: What is known about the operation.
    /// - Returns: The request.
    /// - Throws: The error so far; ``NetworkError`` with the code `rateLimited`; `CancellationError` if the task was cancelled.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        let request = try request.get()
        let now = timeSource.now()
        let wait = next.withLock { next -> Duration? in
            let due = max(next ?? now, now)
            let wait = (due - tolerance) - now
            if let deadline = context.deadline, wait > .zero, now + wait >= deadline { return nil }
            next = due + interval
            return wait
        }
        guard let wait else {
            throw NetworkError(
                .rateLimited,
                "the request's turn would come after the operation's deadline; nothing was sent"
            )
        }
        if wait > .zero { try await timeSource.sleep(wait) }
        return request
    }
}
