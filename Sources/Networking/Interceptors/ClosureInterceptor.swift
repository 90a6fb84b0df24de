public import FoundationNetworking

/// An interceptor that is one closure.
///
/// ```swift
/// let client = NetworkClient(interceptors: [
///     ClosureInterceptor.changingRequest { $0.setValue("de", forHTTPHeaderField: "Accept-Language") },
///     ClosureInterceptor.observing { metrics.count($0.response?.status) },
/// ])
/// ```
public struct ClosureInterceptor: RequestInterceptor {
    private enum Hook: Sendable {
        case request(@Sendable (inout URLRequest) async throws -> Void)
        case response(@Sendable (inout HTTPResponse) async throws -> Void)
        case attempt(@Sendable (RequestAttempt) -> Void)
    }

    private let hook: Hook
    /// Whether the closure wants to know what the exchanges took.
    public let needsMetrics: Bool

    private init(_ hook: Hook, needsMetrics: Bool = false) {
        self.hook = hook
        self.needsMetrics = needsMetrics
    }

    /// Changes each request before it is sent.
    ///
    /// - Parameter change: Changes the request; what it throws fails the operation with ``NetworkError/Code/requestNotMade``.
    /// - Returns: The interceptor.
    public static func changingRequest(_ change: @escaping @Sendable (inout URLRequest) async throws -> Void) -> Self {
        Self(.request(change))
    }

    /// Changes, or refuses, each response before its status is checked.
    ///
    /// - Parameter change: Changes the response; what it throws fails the attempt.
    /// - Returns: The interceptor.
    public static func changingResponse(_ change: @escaping @Sendable (inout HTTPResponse) async throws -> Void) -> Self
    {
        Self(.response(change))
    }

    /// Sees how each attempt ended.
    ///
    /// - Parameters:
    ///   - needsMetrics: Whether ``RequestAttempt/exchanges`` should be measured; no by default.
    ///   - observe: Sees the attempt, and returns at once.
    /// - Returns: The interceptor.
    public static func observing(
        needsMetrics: Bool = false,
        _ observe: @escaping @Sendable (RequestAttempt) -> Void
    ) -> Self {
        Self(.attempt(observe), needsMetrics: needsMetrics)
    }

    /// Calls the closure, if it is about requests.
    ///
    /// - Parameters:
    ///   - request: The request or the error so far.
    ///   - context: What is known about the operation.
    /// - Returns: The request, changed.
    /// - Throws: The error so far, or what the closure throws.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        var request = try request.get()
        if case .request(let change) = hook { try await change(&request) }
        return request
    }

    /// Calls the closure, if it is about responses.
    ///
    /// - Parameters:
    ///   - response: The response so far.
    ///   - request: The request as it was sent.
    ///   - context: What is known about the operation.
    /// - Returns: The response, changed.
    /// - Throws: What the closure throws.
    public func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async throws -> HTTPResponse {
        var response = response
        if case .response(let change) = hook { try await change(&response) }
        return response
    }

    /// Calls the closure, if it is about attempts.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {
        if case .attempt(let observe) = hook { observe(attempt) }
    }
}
