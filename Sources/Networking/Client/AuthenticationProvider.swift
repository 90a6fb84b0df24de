public import Foundation
public import FoundationNetworking

/// A provider of the tokens for
/// ``NetworkClient/makeAuthorizedRequest(exchangeRequest:scope:request:)``, such as
/// `TokenExchangeProvider` of OAuth2.
public protocol AuthenticationProvider: Sendable {
    /// Returns the bearer token for a request, from a cache or with an exchange.
    ///
    /// - Parameters:
    ///   - exchangeRequest: The request to the endpoint that issues the token.
    ///   - scope: The requested scope.
    ///   - rejected: The token that the server has just rejected with 401, or `nil` for the first
    ///     attempt. Return it again if another token can't help.
    ///   - deadline: The deadline of the operation, or `nil`.
    /// - Returns: The token.
    /// - Throws: An error if no token is available. The client then doesn't send the request.
    func bearerToken(
        exchanging exchangeRequest: URLRequest,
        scope: String,
        rejected: String?,
        until deadline: ContinuousClock.Instant?
    ) async throws -> String
}

extension NetworkClient {
    /// Sends a request with the token that the authentication provider has for a scope.
    ///
    /// If the server rejects the token with 401 and the provider has another one, the client sends
    /// the request again, once.
    ///
    /// - Parameters:
    ///   - exchangeRequest: The request to the endpoint that issues the token, for the provider.
    ///   - scope: The requested scope.
    ///   - request: The request to send. The token replaces any `Authorization`.
    /// - Returns: The body of a response with a status of 200…299.
    /// - Throws: ``NetworkError`` with the code `authenticationProviderNotPresent` if the client
    ///   doesn't have a provider, or `requestNotMade` if the provider throws, with its error as the
    ///   cause. ``ServerError`` if the server responds with another status.
    public func makeAuthorizedRequest(
        exchangeRequest: URLRequest,
        scope: String,
        request: URLRequest
    ) async throws -> Data {
        guard let provider = options.authenticationProvider else {
            throw NetworkError(
                .authenticationProviderNotPresent,
                "the client has no source of tokens; create it with an authenticationProvider in its options"
            )
        }
        let session = ProvidedTokenSession(provider: provider, exchangeRequest: exchangeRequest, scope: scope)
        var chain = settings.chain
        chain.prependAuthenticator(AuthenticationInterceptor { session }, credentialFields: ["Authorization"])
        let loop = AttemptLoop(client: self, resource: request.makeResource(), chain: chain)
        return try await loop.run(loop.resource.makeBase).body
    }
}

/// The authentication of one request with a provider's token.
private struct ProvidedTokenSession: AuthenticationSession {
    let provider: any AuthenticationProvider
    let exchangeRequest: URLRequest
    let scope: String
    var token: String?
    /// The provider's result after the server has rejected the token.
    var replacement: Result<String, any Error>?

    mutating func authenticate(_ request: inout HTTPRequest, _ context: InterceptorContext) async throws {
        let token = if let replacement { try replacement.get() } else { try await nextToken(context) }
        self.token = token
        request.headers["Authorization"] = "Bearer \(token)"
    }

    mutating func evaluate(_ answer: AuthenticationAnswer) async -> Retry.Action {
        guard answer.error != nil, answer.response.status == 401, replacement == nil else { return .none }
        do { replacement = .success(try await nextToken(answer.context)) } catch { replacement = .failure(error) }
        // The next attempt throws an error.
        guard let token, let next = try? replacement?.get() else { return .retry }
        return next.utf8.elementsEqual(token.utf8) ? .none : .retry
    }

    private func nextToken(_ context: InterceptorContext) async throws -> String {
        try await provider.bearerToken(
            exchanging: exchangeRequest,
            scope: scope,
            rejected: token,
            until: context.deadline
        )
    }
}
