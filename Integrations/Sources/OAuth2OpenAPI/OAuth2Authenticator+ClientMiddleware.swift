// The trait keeps swift-openapi-runtime out of packages that don't use it.
#if OpenAPI
    public import Foundation
    public import HTTPTypes
    public import OAuth2
    import OAuth2HTTPTypes
    public import OpenAPIRuntime

    /// An authenticator is a middleware of clients that Swift OpenAPI Generator makes.
    ///
    /// ```swift
    /// let client = Client(
    ///     serverURL: api, transport: transport, middlewares: [authenticator]
    /// )
    /// ```
    extension OAuth2Authenticator: @retroactive ClientMiddleware {
        /// Answers a request with the response of the rest of the chain, like an interceptor of a
        /// `NetworkClient`.
        ///
        /// It adds the token, refreshes it, and calls `next` again after a rejected token, a demand
        /// for a nonce or for a wider scope. A body whose `iterationBehavior` is `single` is sent
        /// once: the operation gets the first response, and the next one a new token.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - body: The request's body, or `nil`.
        ///   - baseURL: The server's URL, which the request's path is appended to.
        ///   - operationID: The identifier of the operation, which doesn't matter.
        ///   - next: The rest of the chain.
        /// - Returns: The response that isn't about the token, and its body.
        /// - Throws: `OAuth2Error` if a token isn't available, or the server rejects the request
        ///   and new credentials can't help; the errors of `next` and of `RequestAuthentication`.
        ///   The client of the operation throws a `ClientError` whose `underlyingError` is this
        ///   error.
        public func intercept(
            _ request: HTTPRequest,
            body: HTTPBody?,
            baseURL: URL,
            operationID: String,
            next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
        ) async throws -> (HTTPResponse, HTTPBody?) {
            let isRepeatable = body?.iterationBehavior != .single
            return try await intercept(request, baseURL: baseURL, isRepeatable: isRepeatable) { request in
                try await next(request, body, baseURL)
            }
        }
    }
#endif
