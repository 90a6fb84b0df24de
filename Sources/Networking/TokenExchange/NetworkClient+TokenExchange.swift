public import Foundation
public import FoundationNetworking

extension NetworkClient {
    /// Exchanges the authentication provider's token for one of the given scope, and sends a request with that.
    ///
    /// The exchange is that of [RFC 8693](https://www.rfc-editor.org/rfc/rfc8693): a `POST` to the exchange request's
    /// URL, with its header fields, whose form has `grant_type`, `scope`, `subject_token` and `subject_token_type`, in
    /// this order. The exchanged token is kept for the same endpoint, scope and subject token until it nears its expiry;
    /// callers that need it at the same time share one exchange. If the server refuses a kept token with 401, it is
    /// exchanged anew, once.
    ///
    /// - Parameters:
    ///   - exchangeRequest: Where tokens are exchanged; its method and body are replaced.
    ///   - scope: The scope asked for.
    ///   - request: What to send with the exchanged token. An `Authorization` it has already is replaced.
    /// - Returns: The body of a response with a status of 200…299.
    /// - Throws: ``NetworkError`` with the code `authenticationProviderNotPresent` if the client has no provider, or
    ///   `unableToDecodeServiceTokenResponse` if the exchange's answer is not a token response; ``ServerError`` naming
    ///   the endpoint that answered with another status: the exchange's, in which case the request is not sent, or the
    ///   request's; what the provider threw as the cause of a ``NetworkError`` with the code `requestNotMade`.
    public func makeAuthorizedRequest(
        exchangeRequest: URLRequest,
        scope: String,
        request: URLRequest
    ) async throws -> Data {
        guard let authenticationProvider else {
            throw NetworkError(
                .authenticationProviderNotPresent,
                "the client has no token to exchange; make it with an authenticationProvider"
            )
        }
        let authenticator = ServiceTokenAuthenticator(
            client: self,
            provider: authenticationProvider,
            exchange: TokenExchange(request: exchangeRequest, scope: scope)
        )
        let loop = AttemptLoop(client: self, chain: InterceptorChain([authenticator]) + chain)
        return try await loop.run { (request, nil) }.body
    }
}
