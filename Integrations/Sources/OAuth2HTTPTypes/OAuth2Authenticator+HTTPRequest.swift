public import Foundation
public import HTTPTypes
import Networking
public import OAuth2

extension OAuth2Authenticator {
    /// Answers a request of a client that uses swift-http-types, with the response of the rest of
    /// the client's chain.
    ///
    /// The authenticator adds the token, refreshes it, and calls `next` again as it does in the
    /// chain of a `NetworkClient`. In a middleware of swift-openapi-runtime:
    ///
    /// ```swift
    /// try await authenticator.intercept(request, baseURL: baseURL) { request in
    ///     try await next(request, body, baseURL)
    /// }
    /// ```
    ///
    /// With the trait `OpenAPI` of the package, the library `OAuth2OpenAPI` makes the authenticator
    /// such a middleware.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - baseURL: The URL that the request's path is appended to. The default is `nil`, for
    ///     requests with a scheme and an authority.
    ///   - deadline: The time to stop waiting for a token or a retry. The default is `nil`.
    ///   - isRepeatable: Whether the request can be sent again. For a body that can be read only
    ///     once, pass `false` to get the first response. The default is `true`.
    ///   - next: The rest of the chain. It sends an attempt, and returns the response and its
    ///     content.
    /// - Returns: The response that isn't about the token, and its content.
    /// - Throws: `OAuth2Error` if a token isn't available, or the server rejects the request and
    ///   new credentials can't help; `NetworkError` with the code `invalidRequest` for a request
    ///   without a URL, or whose path doesn't begin with a slash; the errors of `next` and of
    ///   `RequestAuthentication`.
    public func intercept<Content>(
        _ request: HTTPTypes.HTTPRequest,
        baseURL: URL? = nil,
        deadline: ContinuousClock.Instant? = nil,
        isRepeatable: Bool = true,
        next: (HTTPTypes.HTTPRequest) async throws -> (HTTPTypes.HTTPResponse, Content)
    ) async throws -> (HTTPTypes.HTTPResponse, Content) {
        let text = if let baseURL { request.text(below: baseURL.absoluteString) } else { request.absoluteURL }
        guard let url = text.flatMap({ URL(string: $0) }), let method = HTTPMethod(request.method.rawValue) else {
            throw NetworkError(
                .invalidRequest,
                "the request has no absolute URL; set its scheme and authority, and a path that begins with a slash"
            )
        }
        let headers = HTTPHeaders(request.headerFields)
        var authentication = authentication(method: method, url: url, headers: headers, deadline: deadline)
        while true {
            var attempt = request
            attempt.headerFields.set(try await authentication.credentials())
            let (response, content) = try await next(attempt)
            let fields = HTTPHeaders(response.headerFields)
            guard try await authentication.needsRetry(after: response.status.code, headers: fields), isRepeatable
            else { return (response, content) }
        }
    }
}
