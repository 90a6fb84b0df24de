public import FoundationNetworking

/// An interceptor that adds a credential to requests and decides how to handle a rejected one.
///
/// The client counts an authenticator's retries separately. An exhausted or zero ``Retry/Policy``
/// can't suppress them, another policy's delay doesn't apply to them, and they don't use up a
/// policy's attempts. An authenticator's `noRetry` ends the operation.
///
/// The client removes the ``credentialFields`` on a redirect to another scheme, host or port, and
/// doesn't ask the authenticator about the response to that request.
public protocol URLRequestAuthenticator: RequestInterceptor {
    /// The names of all header fields that the authenticator may set, such as `Authorization`.
    ///
    /// - Important: A field missing from this set is sent to the target of every redirect.
    var credentialFields: Set<String> { get }

    /// Adds the credential to a request, obtaining or refreshing it if necessary.
    ///
    /// `URLRequest.setAuthorization(_:)` is faster than Foundation's setter.
    ///
    /// - Parameters:
    ///   - request: The request without this authenticator's credential.
    ///   - context: The context of the operation, whose deadline limits the wait for a credential.
    /// - Returns: The request with the credential, or unchanged if it isn't for this authenticator.
    /// - Throws: Any error. Nothing is sent.
    func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest
}

extension URLRequestAuthenticator {
    /// Authenticates a request, or throws the error so far.
    public func interceptRequest(
        _ request: Result<URLRequest, any Error>,
        context: InterceptorContext
    ) async throws -> URLRequest {
        try await authenticateRequest(request.get(), context: context)
    }
}
