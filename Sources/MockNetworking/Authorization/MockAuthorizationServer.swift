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
    private let badDays = BadDays()
    private let proofs: ProofDesk
    private let dpop: DPoPSupport
    private let time: TimeSource

    private init(_ configuration: Configuration, clients: [Client]) throws {
        var serverConfiguration = LoopbackServer.Configuration()
        serverConfiguration.time = configuration.serverTime
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
        self.clients = ClientRegister(clients, metadata: metadata, time: configuration.serverTime)
        proofs = ProofDesk(configuration)
        dpop = configuration.dpop
        time = configuration.serverTime
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
    /// Others get 401 with a challenge ([RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)). A token that is bound to a key
    /// must come with a proof of it ([RFC 9449 §7](https://www.rfc-editor.org/rfc/rfc9449#section-7)).
    ///
    /// - Parameters:
    ///   - scope: The scope that a token needs; others get 403 with the challenge `insufficient_scope`. `nil` for none.
    ///   - handler: What answers a request with an active token.
    /// - Returns: A handler for a route of any ``LoopbackServer``.
    public func protecting(
        scope: String? = nil,
        _ handler: @escaping LoopbackRoutes.Handler
    ) -> LoopbackRoutes.Handler {
        { [self] request in
            try await protectedResponse(to: request, scope: scope, handler).dated(time)
        }
    }

    private func protectedResponse(
        to request: LoopbackRequest,
        scope: String?,
        _ handler: LoopbackRoutes.Handler
    ) async throws -> LoopbackResponse {
        let field = request.headers["Authorization"] ?? ""
        let isDPoP = field.value(ofScheme: "DPoP") != nil
        let scheme = isDPoP ? "DPoP" : "Bearer"
        guard let token = field.value(ofScheme: scheme) else {
            return .status(401, headers: ["WWW-Authenticate": #"Bearer realm="mock""#])
        }
        func refusal(_ error: String, status: Int = 401, more: String = "") -> LoopbackResponse {
            let challenge = #"\#(scheme) realm="mock", error="\#(error)"\#(more)"#
            return .status(status, headers: ["WWW-Authenticate": challenge])
        }
        guard let authorization = tokens.authorization(for: token), isDPoP == (authorization.keyThumbprint != nil)
        else { return refusal("invalid_token", more: #", error_description="not active""#) }
        if let thumbprint = authorization.keyThumbprint {
            let urls = ["http", "https"].map { "\($0)://\(request.headers["Host"] ?? "")\(request.path)" }
            do throws(ProofDesk.Refusal) {
                let bound = try? DPoPAccessToken(token, thumbprint: thumbprint)
                _ = try await proofs.check(request, urls: urls, place: "resource", accessToken: bound)
            } catch {
                guard case .nonceNeeded(let nonce) = error else { return refusal("invalid_dpop_proof") }
                var response = refusal("use_dpop_nonce")
                response.headers["DPoP-Nonce"] = nonce
                return response
            }
        }
        if let scope, !Set(authorization.scope.split(separator: " ")).isSuperset(of: scope.split(separator: " ")) {
            return refusal("insufficient_scope", status: 403, more: #", scope="\#(scope)""#)
        }
        var response = try await handler(request)
        if isDPoP { response.headers["DPoP-Nonce"] = proofs.nonce(of: "resource") }
        return response
    }

    /// Answers the next token requests with these responses, in sequence, instead of tokens.
    ///
    /// The requests are not looked at. When the responses are used up, the server answers properly again.
    ///
    /// - Parameter responses: The responses: an error, a page of HTML, a cut connection.
    public func answerNextTokenRequests(with responses: LoopbackResponse...) {
        badDays.append(responses.map(BadDay.response))
    }

    /// Lets the next token requests go wrong, in sequence.
    ///
    /// When the days are used up, the server answers properly again.
    ///
    /// - Parameter days: What goes wrong with each.
    public func misbehave(_ days: BadDay...) {
        badDays.append(days)
    }

    /// Makes proofs need another nonce from now on; the one before is accepted once more.
    public func changeNonces() { proofs.changeNonces() }

    /// How often a refresh token was used again after it had been replaced, so that all that came of it was revoked.
    public var reuseDetectionCount: Int { tokens.reuseCount }

    private func addRoutes() {
        let document = metadataDocument
        let keySet = keys.serialized()
        let endpoint = TokenEndpointResponder(
            clients: clients,
            tokens: tokens,
            proofs: proofs,
            dpop: dpop,
            url: metadata.tokenEndpoint.absoluteString
        )
        server.on(.post, "/token") { [badDays, time] request in
            switch badDays.next()?.kind {
            case .instead(let response): response.dated(time)
            case .changed(let change): change(await endpoint.tokenResponse(to: request)).dated(time)
            case nil: await endpoint.tokenResponse(to: request).dated(time)
            }
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
            "dpop_signing_alg_values_supported": ["ES256"],
        ]
        return document.serialized()
    }
}

extension LoopbackResponse {
    /// The response with the server's time, which most servers say
    /// ([RFC 9110 §6.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-6.6.1)).
    fileprivate func dated(_ time: TimeSource) -> Self {
        guard headers["Date"] == nil else { return self }
        var response = self
        response.headers["Date"] = HTTPDate.format(time.date())
        return response
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
