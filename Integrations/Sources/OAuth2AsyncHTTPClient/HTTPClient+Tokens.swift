public import AsyncHTTPClient
import Foundation
public import Logging
public import NIOCore
import NIOHTTP1
import Networking
public import OAuth2

extension HTTPClient {
    /// Sends a request with a token of an authenticator.
    ///
    /// ```swift
    /// let response = try await HTTPClient.shared.execute(authenticatedBy: authenticator) {
    ///     HTTPClientRequest(url: "https://api.example/reports")
    /// }
    /// ```
    ///
    /// The authenticator refreshes the token and sends the request again as it does for a
    /// `NetworkClient`: after a rejected token, a demand for a nonce or for a wider scope. It gives
    /// tokens only to the origins of its `ResourceRule`. This client removes `Authorization` from a
    /// redirect to another origin.
    ///
    /// A DPoP proof is valid for one URL. With tokens that are bound to a key, disallow redirects
    /// in the client's configuration.
    ///
    /// - Parameters:
    ///   - authenticator: The authenticator, which other clients can share.
    ///   - timeout: The time for all attempts together. The default is a minute.
    ///   - logger: The client's logger. The default is `nil`.
    ///   - isRepeatable: Whether the request can be sent again. For a body that can be read only
    ///     once, pass `false` to get the first response. The default is `true`.
    ///   - makeRequest: Makes the request, once for each attempt, always with the same URL and
    ///     method. Create a streamed body inside it, because such a body can be read only once.
    /// - Returns: The response that isn't about the token.
    /// - Throws: `OAuth2Error` if a token isn't available, or the server rejects the request and
    ///   new credentials can't help; `NetworkError` with the code `invalidRequest` for a malformed
    ///   URL or method, or if a later attempt has another one; the errors of the client and of
    ///   `RequestAuthentication`.
    public func execute(
        authenticatedBy authenticator: OAuth2Authenticator,
        timeout: TimeAmount = .minutes(1),
        logger: Logger? = nil,
        isRepeatable: Bool = true,
        _ makeRequest: () throws -> HTTPClientRequest
    ) async throws -> HTTPClientResponse {
        let deadline = NIODeadline.now() + timeout
        var request = try makeRequest()
        guard let url = URL(string: request.url), let method = Networking.HTTPMethod(request.method.rawValue) else {
            throw NetworkError(.invalidRequest, "the request's URL or method is malformed")
        }
        var authentication = authenticator.authentication(
            method: method,
            url: url,
            headers: Networking.HTTPHeaders(request.headers),
            deadline: .now + .nanoseconds(timeout.nanoseconds)
        )
        while true {
            for field in try await authentication.credentials() {
                request.headers.replaceOrAdd(name: field.name, value: field.value)
            }
            let response = try await execute(request, deadline: deadline, logger: logger)
            let headers = Networking.HTTPHeaders(response.headers)
            guard
                try await authentication.needsRetry(
                    after: Int(response.status.code),
                    headers: headers,
                    from: response.url
                ), isRepeatable
            else { return response }
            // Reading the rest of a small body keeps the connection for the next attempt.
            _ = try? await response.body.collect(upTo: 1 << 16)
            let next = try makeRequest()
            // The token and the proof are for the first attempt's URL.
            guard next.url == request.url, next.method == request.method else {
                throw NetworkError(.invalidRequest, "each attempt must have the same URL and method")
            }
            request = next
        }
    }
}

extension Networking.HTTPHeaders {
    fileprivate init(_ headers: NIOHTTP1.HTTPHeaders) {
        self.init(headers.map { Field(name: $0.name, value: $0.value) })
    }
}
