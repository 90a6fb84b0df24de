public import Foundation
public import FoundationNetworking
public import Networking
internal import OpenSSLCrypto

/// Puts an OAuth 2 access token on requests, and keeps it fresh.
///
/// ```swift
/// let authenticator = OAuth2Authenticator(
///     server: AuthorizationServer(issuer: "https://as.example", tokenEndpoint: tokenEndpoint),
///     clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(secret)),
///     grant: ClientCredentialsGrant(scope: "reports.read")
/// )
/// let client = NetworkClient(interceptors: [authenticator])
/// ```
///
/// - The first request gets a token; so does whoever comes after it has expired. However many need one, the token
///   endpoint is asked once, and a caller that is cancelled neither waits on nor stops the others.
/// - A token that nears its expiry is replaced in the background, while requests go on with it.
/// - A request refused with 401 is sent once more: with the current token, if it carried an older one; after a refresh,
///   if it carried the current one. A token that is refused right after it was issued ends the request with
///   ``OAuth2Error/Code/freshTokenRejected`` as the reason in its error.
/// - A rotated refresh token is in the store before anyone uses the access token that came with it.
///
/// Tokens are sent over `https` only, loopback addresses excepted, and to no other origins than those given, if any are.
/// A request that has an `Authorization` already is left as it is.
public final class OAuth2Authenticator: URLRequestAuthenticator {
    /// What an authenticator does by default.
    public struct Options: Sendable {
        /// How long getting a token may take, whatever the callers' own deadlines; 30 seconds by default.
        public var flightTimeout: Duration
        /// Where time comes from; the clients that the authenticator works with should have the same.
        public var timeSource: TimeSource
        /// Where the random numbers of 0…1 come from that spread the refreshes of many clients.
        public var random: @Sendable () -> Double

        /// Makes options.
        ///
        /// - Parameters:
        ///   - flightTimeout: How long getting a token may take.
        ///   - timeSource: Where time comes from.
        ///   - random: Where random numbers of 0…1 come from.
        public init(
            flightTimeout: Duration = .seconds(30),
            timeSource: TimeSource = .system,
            random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
        ) {
            self.flightTimeout = flightTimeout
            self.timeSource = timeSource
            self.random = random
        }
    }

    private let source: CachedTokenSource
    /// `nil` if every request is meant.
    private let origins: Set<HTTPOrigin>?

    /// Makes an authenticator.
    ///
    /// - Parameters:
    ///   - server: Who issues the tokens.
    ///   - clientAuthentication: How the client proves who it is.
    ///   - grant: What entitles the client to a token.
    ///   - resources: URLs of the origins that the token is meant for; requests to others are left as they are. With an
    ///     empty list every request is meant; a URL without a host is the origin of none.
    ///   - store: Where tokens are kept.
    ///   - client: What asks the token endpoint. It must not have this authenticator among its interceptors.
    ///   - options: What the authenticator does by default.
    public init(
        server: AuthorizationServer,
        clientAuthentication: any ClientAuthentication,
        grant: any Grant,
        resources: [URL] = [],
        store: any TokenStore = InMemoryTokenStore(),
        client: NetworkClient = NetworkClient(),
        options: Options = Options()
    ) {
        source = CachedTokenSource(
            grant: StoredGrant(
                grant,
                endpoint: TokenEndpoint(
                    server: server,
                    clientAuthentication: clientAuthentication,
                    client: client,
                    timeSource: options.timeSource
                ),
                store: store,
                timeout: options.flightTimeout
            ),
            flightTimeout: options.flightTimeout,
            timeSource: options.timeSource,
            random: options.random
        )
        origins = resources.isEmpty ? nil : Set(resources.compactMap { HTTPOrigin($0) })
    }

    /// A token that is good now, for whoever sends it by other means.
    ///
    /// - Parameter deadline: When to stop waiting for one; `nil` to wait for as long as getting one may take.
    /// - Returns: The token.
    /// - Throws: ``OAuth2Error`` if there is none; `NetworkError` with the code `timedOut` at the deadline.
    public func accessToken(until deadline: ContinuousClock.Instant? = nil) async throws -> AccessToken {
        try await source.token(until: deadline)
    }

    /// Puts the token on a request that is meant for it.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - context: What is known about the operation.
    /// - Returns: The request with an `Authorization`, or unchanged if it has one already or goes elsewhere.
    /// - Throws: ``OAuth2Error`` if there is no token, or the request would carry it unencrypted.
    public func authenticateRequest(_ request: URLRequest, context: RequestContext) async throws -> URLRequest {
        guard let url = request.url, request.value(forHTTPHeaderField: "Authorization") == nil else { return request }
        if let origins {
            guard let origin = HTTPOrigin(url), origins.contains(origin) else { return request }
        }
        try url.requireConfidentiality("an access token")
        let token = try await source.token(until: context.deadline)
        var request = request
        request.setValue(token.value.expose { "Bearer \($0)" }, forHTTPHeaderField: "Authorization")
        return request
    }

    /// Decides what a failed request means for its token; see the type's description.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent.
    ///   - data: The response's body.
    ///   - response: The response.
    ///   - error: Why the attempt failed.
    ///   - retryState: What has happened before.
    /// - Returns: `retry` if another attempt with a token is worth while; `noRetry` if the token is refused for good;
    ///   `none` if the failure has nothing to do with the token.
    public func evaluateFailedRequest(
        _ request: URLRequest,
        data: Data?,
        response: HTTPURLResponse?,
        error: any Error,
        retryState: Retry.State
    ) -> Retry.Action {
        guard let response, response.statusCode == 401, let token = request.bearerToken else { return .none }
        let challenges = response.value(forHTTPHeaderField: "WWW-Authenticate").map(AuthenticationChallenge.parse) ?? []
        if !challenges.isEmpty {
            guard let challenge = challenges.first(where: { $0.isOfScheme("Bearer") }) else { return .none }
            // Any other error code is about the request, not about the token (RFC 6750 §3.1).
            if let code = challenge.parameters["error"], code != "invalid_token" { return .none }
        }
        return source.refused(token, retryState: retryState)
    }
}

extension URLRequest {
    /// The token of an `Authorization: Bearer` header field.
    fileprivate var bearerToken: Secret? {
        guard let field = value(forHTTPHeaderField: "Authorization") else { return nil }
        let parts = field.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "bearer" else { return nil }
        return Secret(String(parts[1]))
    }
}
