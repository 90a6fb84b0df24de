public import Foundation
public import HTTPTypes
import Networking
public import OAuth2

extension OAuth2Authenticator {
    /// Sends a request with a token through any client that uses swift-http-types.
    ///
    /// The authenticator refreshes the token and sends the request again as it does for a
    /// `NetworkClient`. A middleware of swift-openapi-runtime is one call:
    ///
    /// ```swift
    /// try await authenticator.send(request, to: baseURL) { request in
    ///     try await next(request, body, baseURL)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - baseURL: The URL that the request's path is appended to. The default is `nil`, for
    ///     requests with a scheme and an authority.
    ///   - deadline: The time to stop waiting for a token or a retry. The default is `nil`.
    ///   - isRepeatable: Whether the request can be sent again. For a body that can be read only
    ///     once, pass `false` to get the first response. The default is `true`.
    ///   - send: Sends an attempt, and returns the response and its content.
    /// - Returns: The response that isn't about the token, and its content.
    /// - Throws: `OAuth2Error` if a token isn't available, or the server rejects the request and
    ///   new credentials can't help; `NetworkError` with the code `invalidRequest` for a request
    ///   without a URL; the errors of `send` and of `RequestAuthentication`.
    public func send<Content>(
        _ request: HTTPTypes.HTTPRequest,
        to baseURL: URL? = nil,
        deadline: ContinuousClock.Instant? = nil,
        isRepeatable: Bool = true,
        with send: (HTTPTypes.HTTPRequest) async throws -> (HTTPTypes.HTTPResponse, Content)
    ) async throws -> (HTTPTypes.HTTPResponse, Content) {
        let text = baseURL.map { $0.absoluteString + (request.path ?? "") } ?? request.absoluteURL
        guard let url = text.flatMap({ URL(string: $0) }), let method = HTTPMethod(request.method.rawValue) else {
            throw NetworkError(.invalidRequest, "the request has no absolute URL; set its scheme and authority")
        }
        let headers = HTTPHeaders(request.headerFields)
        var authentication = authentication(method: method, url: url, headers: headers, deadline: deadline)
        while true {
            var attempt = request
            attempt.headerFields.set(try await authentication.credentials())
            let (response, content) = try await send(attempt)
            let fields = HTTPHeaders(response.headerFields)
            guard try await authentication.needsRetry(after: response.status.code, headers: fields), isRepeatable
            else { return (response, content) }
        }
    }
}
