public import FoundationNetworking

/// An interceptor that calls a closure.
///
/// ```swift
/// let client = NetworkClient(interceptors: [
///     ClosureInterceptor.changingRequest {
///         $0.setValue("de", forHTTPHeaderField: "Accept-Language")
///     },
/// ])
/// ```
public struct ClosureInterceptor: RequestInterceptor {
    private enum Hook: Sendable {
        case request(@Sendable (inout URLRequest) async throws -> Void)
        case response(@Sendable (inout HTTPResponse) async throws -> Void)
    }

    private let hook: Hook

    /// Returns an interceptor that changes each request before it's sent.
    ///
    /// - Parameter change: Changes the request. An error fails the operation with
    ///   ``NetworkError/Code/requestNotMade``.
    /// - Returns: The interceptor.
    public static func changingRequest(_ change: @escaping @Sendable (inout URLRequest) async throws -> Void) -> Self {
        Self(hook: .request(change))
    }

    /// Returns an interceptor that changes or rejects each response before the status check.
    ///
    /// - Parameter change: Changes the response. An error fails the attempt.
    /// - Returns: The interceptor.
    public static func changingResponse(_ change: @escaping @Sendable (inout HTTPResponse) async throws -> Void) -> Self
    {
        Self(hook: .response(change))
    }

    /// Calls the closure if it changes requests.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        var request = try request.get()
        if case .request(let change) = hook { try await change(&request) }
        return request
    }

    /// Calls the closure if it changes responses.
    public func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async throws -> HTTPResponse {
        var response = response
        if case .response(let change) = hook { try await change(&response) }
        return response
    }
}
