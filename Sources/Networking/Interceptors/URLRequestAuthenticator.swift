public import Foundation
public import FoundationNetworking
import OpenSSLCrypto

/// An interceptor that adds a credential to requests and decides how to handle a rejected one.
///
/// ```swift
/// struct KeyAuthenticator: URLRequestAuthenticator {
///     let keys: KeyStore
///     let credentialFields: Set = ["X-Api-Key"]
///
///     func authenticateRequest(
///         _ request: URLRequest,
///         context: InterceptorContext
///     ) async throws -> URLRequest {
///         var request = request
///         request.setValue(try await keys.current(), forHTTPHeaderField: "X-Api-Key")
///         return request
///     }
///
///     func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action {
///         guard failure.response?.status == 401 else { return .none }
///         guard failure.context.retryState.authenticationErrors.isEmpty else { return .none }
///         await keys.renew()
///         return .retry
///     }
/// }
/// ```
///
/// The client repeats a rejected request at its place in the chain, with a new credential. Such
/// repetitions count separately: no ``Retry/Policy`` can suppress them, they don't use up its
/// attempts, and there are at most ten. An authenticator's `noRetry` ends the operation. The
/// authenticator isn't asked about a redirect to another origin, whose server never had the
/// credential.
public protocol URLRequestAuthenticator: Interceptor {
    /// The names of all header fields that the authenticator sets, such as `Authorization`.
    ///
    /// The client removes them on a redirect to another scheme, host or port.
    var credentialFields: Set<String> { get }

    /// Adds the credential to a request, obtaining or refreshing it if necessary.
    ///
    /// `URLRequest.setAuthorization(_:)` is faster than Foundation's setter.
    ///
    /// - Parameters:
    ///   - request: The request without this authenticator's credential.
    ///   - context: The context of the operation, whose deadline limits the wait for a credential.
    /// - Returns: The request, changed in its ``credentialFields`` only. With another URL, method,
    ///   timeout, body or header field, nothing is sent.
    /// - Throws: Any error. Nothing is sent.
    func authenticateRequest(_ request: URLRequest, context: InterceptorContext) async throws -> URLRequest

    /// Decides whether a new credential can help a request that the server rejected.
    ///
    /// - Parameter failure: The failed attempt, which has a response. The failures of earlier
    ///   credentials are the `authenticationErrors` of its context.
    /// - Returns: The action: `retry` or `retryAfter` authenticates the request again and sends it,
    ///   `noRetry` ends the operation, and `none` leaves the failure to the client's policies.
    func evaluateFailedRequest(_ failure: FailedRequest) async -> Retry.Action
}

extension URLRequestAuthenticator {
    /// Adds the authenticator.
    public func add(to chain: inout InterceptorChain) {
        let interceptor = AuthenticationInterceptor { URLRequestSession(authenticator: self) }
        chain.addAuthenticator(interceptor, credentialFields: credentialFields)
    }
}

/// The authentication of one request, with what it remembers between its attempts.
package protocol AuthenticationSession: Sendable {
    /// Adds the credential to a request that has none of an earlier attempt.
    mutating func authenticate(_ request: inout HTTPRequest, _ context: InterceptorContext) async throws

    /// Returns the action after a response from the server that the credential is for.
    mutating func evaluate(_ answer: AuthenticationAnswer) async -> Retry.Action
}

package struct AuthenticationAnswer: Sendable {
    package let request: HTTPRequest
    package let response: HTTPResponse
    /// The error for a status that isn't accepted.
    package let error: ServerError?
    package let context: InterceptorContext
}

package struct AuthenticationInterceptor: RequestInterceptor {
    private let makeSession: @Sendable () -> any AuthenticationSession

    package init(_ makeSession: @escaping @Sendable () -> any AuthenticationSession) {
        self.makeSession = makeSession
    }

    package func intercept(_ request: HTTPRequest, next: Next) async throws -> HTTPResponse {
        let operation = next.operation
        var session = makeSession()
        var retries = 0
        while true {
            var attempt = request
            do { try await session.authenticate(&attempt, next.context) } catch {
                operation.noteUnmade()
                throw error
            }
            let response = try await next(attempt)
            guard response.isFromServer, response.isFromFirstOrigin else { return response }
            let error = operation.error(for: response, to: attempt)
            let answer = AuthenticationAnswer(
                request: attempt,
                response: response,
                error: error,
                context: operation.latestContext
            )
            let delay: Duration
            switch await session.evaluate(answer) {
            case .none: return response
            case .noRetry(let reason):
                operation.end(reason)
                return response
            case .retry: delay = .zero
            case .retryAfter(let duration): delay = duration
            }
            guard let error else { return response }
            retries += 1
            if let reason = operation.obstacle(to: attempt, retries: retries, delay: delay) {
                operation.end(reason)
                return response
            }
            try await operation.prepareAuthentication(after: error, delay: delay)
        }
    }
}

private struct URLRequestSession: AuthenticationSession {
    let authenticator: any URLRequestAuthenticator

    func authenticate(_ request: inout HTTPRequest, _ context: InterceptorContext) async throws {
        let plain = URLRequest(request)
        let authenticated = try await authenticator.authenticateRequest(plain, context: context)
        try check(authenticated, plain)
        for name in authenticator.credentialFields {
            let value = authenticated.value(forHTTPHeaderField: name)
            if value != plain.value(forHTTPHeaderField: name) { request.headers[name] = value }
        }
    }

    func evaluate(_ answer: AuthenticationAnswer) async -> Retry.Action {
        guard let error = answer.error else { return .none }
        return await authenticator.evaluateFailedRequest(
            FailedRequest(answer.request, response: answer.response, error: error, context: answer.context)
        )
    }

    /// Throws an error for changes that would be lost, or sent to the target of a redirect.
    private func check(_ authenticated: URLRequest, _ plain: URLRequest) throws {
        guard authenticated.url == plain.url, authenticated.httpMethod == plain.httpMethod,
            authenticated.httpBody == plain.httpBody, authenticated.httpBodyStream == nil,
            authenticated.timeoutInterval == plain.timeoutInterval
        else {
            throw NetworkError(
                .requestNotMade,
                "an authenticator may set header fields only, and \(type(of: authenticator)) changed the URL, the "
                    + "method, the timeout or the body; use a RequestInterceptor"
            )
        }
        let (before, after) = (plain.allHTTPHeaderFields ?? [:], authenticated.allHTTPHeaderFields ?? [:])
        for name in Set(before.keys).union(after.keys) {
            guard before[name].map(ByteComparedString.init) != after[name].map(ByteComparedString.init),
                !authenticator.credentialFields.contains(where: { $0.equalsIgnoringASCIICase(name) })
            else { continue }
            throw NetworkError(
                .requestNotMade,
                "\(type(of: authenticator)) set the header field “\(name)”, which its credentialFields don't name; add "
                    + "the name, so that the field isn't sent to the target of a redirect"
            )
        }
    }
}

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
