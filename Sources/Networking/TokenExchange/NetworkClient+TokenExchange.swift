public import Foundation
public import FoundationNetworking

extension NetworkClient {
    /// Exchanges the authentication provider's token for one with the given scope, and sends a
    /// request with it.
    ///
    /// The token exchange follows [RFC 8693](https://www.rfc-editor.org/rfc/rfc8693): a `POST` to
    /// the exchange request's URL, with its header fields and a form of `grant_type`, `scope`,
    /// `subject_token` and `subject_token_type`, in this order.
    ///
    /// The client caches the exchanged token for the same endpoint, scope and subject token until
    /// shortly before it expires. Concurrent callers share one exchange. If the server rejects a
    /// cached token with 401, the client exchanges the token again, once.
    ///
    /// - Parameters:
    ///   - exchangeRequest: The request to the token endpoint. The client replaces its method and
    ///     body.
    ///   - scope: The requested scope.
    ///   - request: The request to send with the exchanged token. The token replaces any
    ///     `Authorization`.
    /// - Returns: The body of a response with a status of 200…299.
    /// - Throws: ``NetworkError`` with the code `authenticationProviderNotPresent` if the client
    ///   doesn't have a provider, `unableToDecodeServiceTokenResponse` if the token endpoint's
    ///   response isn't a token response, or `requestNotMade` if the provider throws, with its
    ///   error as the cause. ``ServerError`` if the token endpoint or the server responds with
    ///   another status; it names the endpoint. If the token exchange fails, the request isn't
    ///   sent.
    public func makeAuthorizedRequest(
        exchangeRequest: URLRequest,
        scope: String,
        request: URLRequest
    ) async throws -> Data {
        guard let provider = options.authenticationProvider else {
            throw NetworkError(
                .authenticationProviderNotPresent,
                "the client has no token to exchange; create it with an authenticationProvider in its options"
            )
        }
        let exchange = TokenExchange(request: exchangeRequest, scope: scope)
        var chain = settings.chain
        chain.prependAuthenticator(
            AuthenticationInterceptor { [self] in
                ServiceTokenSession(client: self, provider: provider, exchange: exchange)
            },
            credentialFields: ["Authorization"]
        )
        let loop = AttemptLoop(client: self, resource: request.makeResource(), chain: chain)
        return try await loop.run(loop.resource.makeBase).body
    }
}
