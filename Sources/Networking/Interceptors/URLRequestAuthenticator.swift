public import FoundationNetworking

/// An interceptor that puts a credential on requests and decides what a refused credential means.
///
/// The client keeps the retries that an authenticator asks for apart from all others: a used-up or zero
/// ``Retry/Policy`` can't suppress them, another policy's delay does not delay them, and they don't use up a policy's
/// attempts. An authenticator's `noRetry` ends the operation.
///
/// A redirect to another scheme, host or port loses the ``credentialFields``, and the authenticator is not asked about the response to a
/// request that lost them.
public protocol URLRequestAuthenticator: RequestInterceptor {
    /// The names of all header fields that the authenticator may put on a request, such as `Authorization`.
    ///
    /// A field that is missing here is sent to wherever a redirect leads.
    var credentialFields: Set<String> { get }

    /// Puts the credential on a request, getting or refreshing it first if need be.
    ///
    /// `URLRequest.setAuthorization(_:)` does that in less time than Foundation's setter.
    ///
    /// - Parameters:
    ///   - request: The request without this authenticator's credential.
    ///   - context: What is known about the operation; waiting for a credential must end by its deadline.
    /// - Returns: The request with the credential, or unchanged if it is none of this authenticator's business.
    /// - Throws: Any error; nothing is sent then.
    func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest
}

extension URLRequestAuthenticator {
    /// Authenticates a request that was made, and passes on the error of one that was not.
    ///
    /// - Parameters:
    ///   - request: The request or the error so far.
    ///   - context: What is known about the operation.
    /// - Returns: The authenticated request.
    /// - Throws: The error so far, or what ``authenticateRequest(_:context:)`` throws.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        try await authenticateRequest(request.get(), context: context)
    }
}
