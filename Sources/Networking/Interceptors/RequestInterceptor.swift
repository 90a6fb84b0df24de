import Foundation
public import FoundationNetworking

/// What hooks into every attempt of a request.
///
/// A client asks its interceptors in the order in which it was given them. Each method has a default that changes
/// nothing, so an interceptor implements only what it is about:
///
/// 1. ``interceptRequest(_:context:)`` may change, fail or recover the request, before each attempt;
/// 2. ``requestScheduled(_:context:)`` sees the request as it will be sent;
/// 3. ``interceptResponse(_:for:context:)`` may replace the response;
/// 4. ``requestSucceeded(_:response:context:)`` sees a response that the client accepts;
/// 5. ``attemptEnded(_:)`` sees how the attempt ended, whatever came of it;
/// 6. ``evaluateFailedRequest(_:response:error:context:)`` says whether a failed attempt should be repeated.
///    *Every* interceptor is asked, and the answer with the highest priority wins.
public protocol RequestInterceptor: Sendable {
    /// Changes, fails or recovers a request before it is sent.
    ///
    /// The client builds the base request anew for each attempt, so what a previous attempt added is not there.
    ///
    /// - Parameters:
    ///   - request: The base request or what the previous interceptor made of it; or the error it failed with, which
    ///     this interceptor may recover from by returning a request.
    ///   - context: What is known about the operation.
    /// - Returns: The request to go on with.
    /// - Throws: Any error; the operation then fails with ``NetworkError/Code/requestNotMade`` and this error as its
    ///   cause, unless a later interceptor recovers. Nothing is sent and nothing is retried.
    func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest

    /// Sees a request just before it is handed to the transport.
    ///
    /// - Parameters:
    ///   - request: The request as it will be sent.
    ///   - context: What is known about the operation.
    func requestScheduled(_ request: URLRequest, context: InterceptorContext)

    /// Sees, and may replace, a response before its status is checked.
    ///
    /// - Parameters:
    ///   - response: The response, or what the previous interceptor made of it.
    ///   - request: The request as it was sent.
    ///   - context: What is known about the operation.
    /// - Returns: The response to go on with.
    /// - Throws: Any error; the attempt then counts as failed with it.
    func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async throws -> HTTPResponse

    /// Sees a response that the client accepts, before the caller does.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response the caller will get.
    ///   - context: What is known about the operation.
    func requestSucceeded(_ request: URLRequest, response: HTTPResponse, context: InterceptorContext)

    /// Says whether a failed attempt should be repeated.
    ///
    /// It is not asked about a cancelled request, nor about one that could not be made.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response, if there was one.
    ///   - error: Why the attempt failed: a ``ServerError`` for a status that is not accepted, a ``NetworkError``, or
    ///     what an interceptor threw.
    ///   - context: What is known about the operation; the current error is not in its `retryState`.
    /// - Returns: What this interceptor wants to happen.
    func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action

    /// Sees how an attempt ended, once for each attempt and whatever came of it: also one that was cancelled, or whose request could
    /// not be made.
    ///
    /// It comes before the interceptors are asked whether to go on. It is for logs and metrics; it returns at once.
    ///
    /// - Parameter attempt: The attempt.
    func attemptEnded(_ attempt: RequestAttempt)

    /// Whether ``RequestAttempt/exchanges`` should be measured; no by default. It is asked when a client is made or a resource is
    /// fetched, and not for each attempt.
    var needsMetrics: Bool { get }
}

/// What is known about an operation while it runs.
public struct InterceptorContext: Sendable {
    /// The failures and delays so far.
    public let retryState: Retry.State
    /// When the whole operation, all attempts and delays included, must have ended; `nil` for never.
    ///
    /// An interceptor that waits must give up by then.
    public let deadline: ContinuousClock.Instant?
    /// A number that all attempts of the operation have, and no other operation of this process.
    public let operation: UInt64
    /// What is particular about the operation's requests.
    public let traits: RequestTraits

    /// The request's body if it isn't in memory, for which a `URLRequest` has no room; an `httpBody` that an interceptor sets replaces it.
    public internal(set) var body: HTTPBody?
    /// Whether the response's body is received while it is read, so that interceptors do not see it.
    public let isStreamed: Bool

    /// The number of the current attempt, from 1; attempts made for an authenticator count.
    public var attempt: Int { retryState.errors.count + retryState.authenticationErrors.count + 1 }

    /// Makes a context, for tests of interceptors.
    ///
    /// - Parameters:
    ///   - retryState: The failures and delays so far.
    ///   - deadline: When the whole operation must have ended.
    ///   - operation: The operation's number.
    ///   - traits: What is particular about the operation's requests.
    ///   - body: The request's body if it isn't in memory.
    ///   - isStreamed: Whether the response's body is received while it is read.
    public init(
        retryState: Retry.State = .empty,
        deadline: ContinuousClock.Instant? = nil,
        operation: UInt64 = 0,
        traits: RequestTraits = RequestTraits(),
        body: HTTPBody? = nil,
        isStreamed: Bool = false
    ) {
        self.retryState = retryState
        self.deadline = deadline
        self.operation = operation
        self.traits = traits
        self.body = body
        self.isStreamed = isStreamed
    }
}

extension RequestInterceptor {
    /// Passes the request, or its error, on.
    ///
    /// - Parameters:
    ///   - request: The request or the error so far.
    ///   - context: What is known about the operation.
    /// - Returns: The same request.
    /// - Throws: The same error.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        try request.get()
    }

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request as it will be sent.
    ///   - context: What is known about the operation.
    public func requestScheduled(_ request: URLRequest, context: InterceptorContext) {}

    /// Passes the response on.
    ///
    /// - Parameters:
    ///   - response: The response so far.
    ///   - request: The request as it was sent.
    ///   - context: What is known about the operation.
    /// - Returns: The same response.
    public func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async -> HTTPResponse {
        response
    }

    /// Does nothing.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response the caller will get.
    ///   - context: What is known about the operation.
    public func requestSucceeded(_ request: URLRequest, response: HTTPResponse, context: InterceptorContext) {}

    /// Has no opinion.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response.
    ///   - error: Why the attempt failed.
    ///   - context: What is known about the operation.
    /// - Returns: `none`.
    public func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action {
        .none
    }

    /// Does nothing.
    ///
    /// - Parameter attempt: The attempt.
    public func attemptEnded(_ attempt: RequestAttempt) {}

    /// No.
    public var needsMetrics: Bool { false }
}
