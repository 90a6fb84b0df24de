import Foundation
import Networking
public import OAuth2
public import TokenGeneration

/// An OAuth 2 authorization server on a loopback port, for tests of programs that need tokens.
///
/// It does what a real one does: it verifies the client's assertion or secret, issues signed access tokens, rotates
/// refresh tokens and notices when an old one is used again, revokes tokens and publishes its keys.
///
/// ```swift
/// let authorization = try MockAuthorizationServer.start(clients: [.init(id: "reports", secret: "s3cret")])
/// let authenticator = OAuth2Authenticator(
///     server: authorization.metadata,
///     clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
///     grant: ClientCredentialsGrant()
/// )
/// let api = try LoopbackServer.start { routes in
///     routes.on(.get, "/reports", authorization.protecting { _ in .json("[]") })
/// }
/// ```
///
/// Its endpoints are `/token`, `/revoke` ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)), `/jwks` and
/// `/.well-known/oauth-authorization-server` ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)). Grants:
/// `client_credentials`, `refresh_token` and token exchange ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)).
public final class MockAuthorizationServer: Sendable {
    /// The server under it, with its record of requests.
    public let server: LoopbackServer
    /// The server's identifier and endpoints, as a client is told them.
    public let metadata: AuthorizationServer
    /// The keys by which the access tokens verify.
    public let keys: JWKSet

    private let tokens: TokenLedger
    private let clients: ClientRegister
    private let troubles: TroubleQueue

    private init(_ configuration: Configuration, clients: [Client]) throws {
        var serverConfiguration = LoopbackServer.Configuration()
        serverConfiguration.time = configuration.time
        server = try LoopbackServer.start(configuration: serverConfiguration)
        let issuer = server.baseURL.absoluteString
        metadata = AuthorizationServer(issuer: issuer, tokenEndpoint: server.url(for: "/token"))
        let key = try SigningKey.generate(.es256)
        keys = JWKSet(keys: [key.verificationKey.publicJWK])
        tokens = TokenLedger(
            issuer: issuer,
            signingService: try ES256SigningService(key: key, keyID: key.verificationKey.thumbprint),
            configuration: configuration
        )
        self.clients = ClientRegister(clients, metadata: metadata, time: configuration.time)
        troubles = TroubleQueue()
        addRoutes()
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - configuration: How it issues tokens.
    ///   - clients: Whom it issues tokens to; ``register(_:)`` adds more.
    /// - Returns: The server, which accepts requests.
    /// - Throws: ``MockError`` with the code `cannotStart`, or a `TokenError` if no key can be made.
    public static func start(
        configuration: Configuration = Configuration(),
        clients: [Client] = []
    ) throws -> MockAuthorizationServer {
        try MockAuthorizationServer(configuration, clients: clients)
    }

    /// Stops the server and waits until its last request has ended.
    public func stop() async {
        await server.stop()
    }

    /// Adds a client, or replaces the one with the same identifier.
    ///
    /// - Parameter client: The client.
    public func register(_ client: Client) {
        clients.register(client)
    }

    // MARK: Tokens

    /// Issues a refresh token, as if a user had granted it.
    ///
    /// - Parameters:
    ///   - clientID: The client it is for.
    ///   - subject: The user.
    ///   - scope: What was granted.
    /// - Returns: The token.
    public func issueRefreshToken(clientID: String, subject: String, scope: String = "") -> Secret {
        Secret(tokens.issueRefreshToken(Authorization(clientID: clientID, subject: subject, scope: scope)))
    }

    /// Revokes one access token.
    ///
    /// - Parameter accessToken: The token.
    public func revoke(_ accessToken: String) {
        tokens.revoke(accessToken)
    }

    /// Revokes every access token issued so far; refresh tokens stay valid.
    public func revokeAccessTokens() {
        tokens.revokeAccessTokens()
    }

    /// Revokes every refresh token issued so far, and the access tokens that came of them.
    public func revokeRefreshTokens() {
        tokens.revokeRefreshTokens()
    }

    /// Whether an access token was issued here, has not expired and is not revoked.
    ///
    /// - Parameter accessToken: The token.
    /// - Returns: Whether a resource should accept it.
    public func isActive(_ accessToken: String) -> Bool {
        tokens.isActive(accessToken)
    }

    /// How many token requests have come, whatever the answer.
    public var tokenRequestCount: Int { server.requests(for: "/token").count }

    /// How many access tokens were issued.
    public var issuedTokenCount: Int { tokens.issuedCount }

    // MARK: Resources and troubles

    /// Wraps a route so that it answers only requests with an active access token.
    ///
    /// Others get 401 with a challenge ([RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)).
    ///
    /// - Parameter handler: What answers a request with an active token.
    /// - Returns: A handler for a route of any ``LoopbackServer``.
    public func protecting(_ handler: @escaping LoopbackRoutes.Handler) -> LoopbackRoutes.Handler {
        { [tokens] request in
            let field = request.headers["Authorization"] ?? ""
            guard let token = field.value(ofScheme: "Bearer") else {
                return .status(401, headers: ["WWW-Authenticate": #"Bearer realm="mock""#])
            }
            guard tokens.isActive(token) else {
                let challenge = #"Bearer realm="mock", error="invalid_token", error_description="not active""#
                return .status(401, headers: ["WWW-Authenticate": challenge])
            }
            return try await handler(request)
        }
    }

    /// Answers the next token requests with these responses, in sequence, instead of tokens.
    ///
    /// The requests are not looked at. When the responses are used up, the server answers properly again.
    ///
    /// - Parameter responses: The responses: an error, a page of HTML, a cut connection.
    public func answerNextTokenRequests(with responses: LoopbackResponse...) {
        troubles.append(responses)
    }

    private func addRoutes() {
        let document = metadataDocument
        let keySet = keys.serialized()
        let endpoint = TokenEndpointResponder(clients: clients, tokens: tokens)
        server.on(.post, "/token") { [troubles] request in
            troubles.next() ?? endpoint.tokenResponse(to: request)
        }
        server.on(.post, "/revoke") { endpoint.revocationResponse(to: $0) }
        server.on(.get, "/jwks") { _ in .json(keySet) }
        server.on(.get, "/.well-known/oauth-authorization-server") { _ in .json(document) }
    }

    private var metadataDocument: String {
        let document: JSONObject = [
            "issuer": .string(metadata.issuer),
            "token_endpoint": .string(metadata.tokenEndpoint.absoluteString),
            "revocation_endpoint": .string(server.url(for: "/revoke").absoluteString),
            "jwks_uri": .string(server.url(for: "/jwks").absoluteString),
            "grant_types_supported": .array(GrantType.allCases.map { .string($0.rawValue) }),
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "private_key_jwt"],
            "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
        ]
        return document.serialized()
    }
}

extension VerificationKey {
    /// The key as a JWK that names itself by its thumbprint.
    fileprivate var publicJWK: JWK {
        var jwk = jwk
        jwk.members["kid"] = .string(thumbprint)
        jwk.members["use"] = "sig"
        return jwk
    }
}
