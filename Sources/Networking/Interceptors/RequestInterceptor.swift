import Foundation
public import FoundationNetworking

/// A type that changes, observes or retries the attempts of a request.
///
/// A client calls its interceptors in order. Each method's default changes nothing, so an
/// interceptor implements only the methods it needs:
///
/// 1. ``interceptRequest(_:context:)`` may change, fail or recover the request;
/// 2. ``storedResponse(for:after:context:)`` may answer it instead of the server;
/// 3. ``requestScheduled(_:context:)`` observes the request as it will be sent;
/// 4. ``completeRequest(_:after:context:)`` may change each request on the wire, and
///    ``receiveResponse(_:to:context:)`` its response, including redirects;
/// 5. ``interceptResponse(_:for:context:)`` may replace the response;
/// 6. ``requestSucceeded(_:response:context:)`` observes a response that the client accepts;
/// 7. ``attemptEnded(_:)`` observes the outcome of every attempt;
/// 8. ``evaluateFailedRequest(_:response:error:context:)`` decides whether to retry a failed
///    attempt. The client asks *every* interceptor, and the action with the highest priority wins.
public protocol RequestInterceptor: Sendable {
    /// Changes, fails or recovers a request before it's sent.
    ///
    /// The client builds the base request again for each attempt, without earlier changes.
    ///
    /// - Parameters:
    ///   - request: The base request or the previous interceptor's result. If it's an error, this
    ///     interceptor can recover by returning a request.
    ///   - context: The context of the operation.
    /// - Returns: The request to continue with.
    /// - Throws: Any error. Unless a later interceptor recovers, the operation fails with
    ///   ``NetworkError/Code/requestNotMade`` and this error as its cause. Nothing is sent or
    ///   retried.
    func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest

    /// Returns a stored response that answers the request instead of the server.
    ///
    /// The client asks twice: directly after this interceptor's ``interceptRequest(_:context:)``,
    /// and if the request fails later without a response. A response is passed to the interceptors
    /// after this one, as if this interceptor's ``interceptResponse(_:for:context:)`` had returned
    /// it. The client skips everything in between: with a response to the first call, nothing is
    /// sent, and the later interceptors don't see the request.
    ///
    /// - Parameters:
    ///   - request: The request as this interceptor returned it, or as it was sent.
    ///   - error: `nil` before the request is sent, then the error of the attempt.
    ///   - context: The context of the operation.
    /// - Returns: The response, or `nil` to continue.
    func storedResponse(
        for request: URLRequest,
        after error: (any Error)?,
        context: InterceptorContext
    ) async -> HTTPResponse?

    /// Observes a request just before it's passed to the transport.
    ///
    /// - Parameters:
    ///   - request: The request as it will be sent.
    ///   - context: The context of the operation.
    func requestScheduled(_ request: URLRequest, context: InterceptorContext)

    /// Completes a request just before the transport sends it, for example with a signature.
    ///
    /// The client calls it last, once for every request on the wire: for each attempt, and for each
    /// redirect that it follows. A redirect is derived from the request as it was before this
    /// method, so nothing that this method adds goes to another server.
    ///
    /// - Parameters:
    ///   - request: The request, or the previous interceptor's result. The transport may still add
    ///     fields such as `Host` and `Content-Length`.
    ///   - redirects: The redirects that led to the request, oldest first.
    ///   - context: The context of the operation.
    /// - Returns: The request to send.
    /// - Throws: Any error. The operation fails with ``NetworkError/Code/requestNotMade`` and this
    ///   error as its cause. The request isn't sent or retried.
    func completeRequest(
        _ request: HTTPTransportRequest,
        after redirects: [RedirectHop],
        context: InterceptorContext
    ) async throws -> HTTPTransportRequest

    /// Checks or replaces the response to a request on the wire, before the client follows a
    /// redirect.
    ///
    /// - Parameters:
    ///   - response: The response or the previous interceptor's result.
    ///   - request: The request as it was sent.
    ///   - context: The context of the operation.
    /// - Returns: The response to continue with.
    /// - Throws: Any error, which fails the attempt.
    func receiveResponse(
        _ response: HTTPTransportResponse,
        to request: HTTPTransportRequest,
        context: InterceptorContext
    ) async throws -> HTTPTransportResponse

    /// Replaces or observes a response before its status is checked.
    ///
    /// - Parameters:
    ///   - response: The response or the previous interceptor's result.
    ///   - request: The request as it was sent.
    ///   - context: The context of the operation.
    /// - Returns: The response to continue with.
    /// - Throws: Any error, which fails the attempt.
    func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async throws -> HTTPResponse

    /// Observes a response that the client accepts, before the caller gets it.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response the caller will get.
    ///   - context: The context of the operation.
    func requestSucceeded(_ request: URLRequest, response: HTTPResponse, context: InterceptorContext)

    /// Decides whether to retry a failed attempt.
    ///
    /// The client doesn't call this for a cancelled request or one that couldn't be created.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - response: The response, if any.
    ///   - error: The reason why the attempt failed: a ``ServerError`` for a status that isn't
    ///     accepted, a ``NetworkError``, or an interceptor's error.
    ///   - context: The context of the operation. Its `retryState` lacks the current error.
    /// - Returns: The action this interceptor asks for.
    func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action

    /// Observes the outcome of an attempt, once per attempt.
    ///
    /// The attempt may also have been cancelled, or its request may not have been created. The
    /// client calls this before ``evaluateFailedRequest(_:response:error:context:)``. Return
    /// at once. Logs and metrics need a ``ClientObserver`` instead.
    ///
    /// - Parameter attempt: The attempt.
    func attemptEnded(_ attempt: RequestAttempt)
}

/// The context of a running operation.
public struct InterceptorContext: Sendable {
    /// The failures and delays so far.
    public let retryState: Retry.State
    /// The deadline of the whole operation, including all attempts and delays; `nil` for none.
    ///
    /// An interceptor that waits must stop by then.
    public let deadline: ContinuousClock.Instant?
    /// A number shared by all attempts of the operation, and unique in this process.
    public let operation: UInt64
    /// The traits of the operation's requests.
    public let traits: RequestTraits

    /// The request's body if it isn't in memory; an `httpBody` set by an interceptor replaces it.
    public internal(set) var body: HTTPBody?
    /// A Boolean value that indicates whether the body is streamed, unseen by interceptors.
    public let isStreamed: Bool
    /// The lowercase names of the fields that may contain a credential, for a cache.
    var credentialFields: Set<String> = ["authorization", "cookie"]
    /// Sends the request again in the background to renew the stored response with a name.
    var renew: (@Sendable (String) -> Void)?
    /// A Boolean value that indicates whether the operation renews a stored response.
    var isRenewal = false

    /// The number of the current attempt, starting at 1 and including retries for authentication
    /// and without compression.
    public var attempt: Int {
        retryState.errors.count + retryState.authenticationErrors.count + (retryState.wasRepeatedPlain ? 2 : 1)
    }

    /// Creates a context, for testing interceptors.
    ///
    /// - Parameters:
    ///   - retryState: The failures and delays so far.
    ///   - deadline: The deadline of the whole operation.
    ///   - operation: The operation's number.
    ///   - traits: The traits of the operation's requests.
    ///   - body: The request's body if it isn't in memory.
    ///   - isStreamed: Whether the response's body is streamed.
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
    /// Passes the request or its error on.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        try request.get()
    }

    /// Has no response.
    public func storedResponse(
        for request: URLRequest,
        after error: (any Error)?,
        context: InterceptorContext
    ) async -> HTTPResponse? {
        nil
    }

    /// Does nothing.
    public func requestScheduled(_ request: URLRequest, context: InterceptorContext) {}

    /// Passes the request on.
    public func completeRequest(
        _ request: HTTPTransportRequest,
        after redirects: [RedirectHop],
        context: InterceptorContext
    ) async -> HTTPTransportRequest {
        request
    }

    /// Passes the response on.
    public func receiveResponse(
        _ response: HTTPTransportResponse,
        to request: HTTPTransportRequest,
        context: InterceptorContext
    ) async -> HTTPTransportResponse {
        response
    }

    /// Passes the response on.
    public func interceptResponse(
        _ response: HTTPResponse,
        for request: URLRequest,
        context: InterceptorContext
    ) async -> HTTPResponse {
        response
    }

    /// Does nothing.
    public func requestSucceeded(_ request: URLRequest, response: HTTPResponse, context: InterceptorContext) {}

    /// Leaves the decision to the other interceptors.
    public func evaluateFailedRequest(
        _ request: URLRequest,
        response: HTTPResponse?,
        error: any Error,
        context: InterceptorContext
    ) -> Retry.Action {
        .none
    }

    /// Does nothing.
    public func attemptEnded(_ attempt: RequestAttempt) {}
}
