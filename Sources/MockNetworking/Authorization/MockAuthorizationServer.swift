import Foundation
import Networking
public import OAuth2
import Synchronization
public import TokenGeneration

/// An OAuth 2 authorization server on a loopback port, for tests of code that needs tokens.
///
/// It behaves like a real server: it verifies client assertions and secrets, issues signed access
/// tokens, rotates refresh tokens and detects their reuse, revokes tokens and publishes its keys.
///
/// ```swift
/// let authorization = try MockAuthorizationServer.start(clients: [
///     .init(id: "reports", secret: "s3cret")
/// ])
/// let authenticator = OAuth2Authenticator(
///     client: OAuth2Client(
///         server: authorization.metadata,
///         clientAuthentication: .clientSecretBasic(
///             clientID: "reports",
///             secret: Secret("s3cret")
///         )
///     ),
///     grant: ClientCredentialsGrant(),
///     resources: .everyHTTPSOrigin
/// )
/// let api = try LoopbackServer.start { routes in
///     routes.on(.get, "/reports", authorization.protecting { _ in .json("[]") })
/// }
/// ```
///
/// Its endpoints are the ``Endpoint``s. They are listed in ``metadata`` and in the document at
/// `/.well-known/oauth-authorization-server` and `/.well-known/openid-configuration`
/// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)). The server supports all grants: client
/// credentials, refresh tokens, codes with PKCE, devices
/// ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)), users' own devices (CIBA), token exchange
/// ([RFC 8693](https://www.rfc-editor.org/rfc/rfc8693)), assertions
/// ([RFC 7523](https://www.rfc-editor.org/rfc/rfc7523)) and custom grants. It accepts only the
/// authentication method that a client is registered with.
public final class MockAuthorizationServer: Sendable {
    /// The underlying server, with its recorded requests.
    public let server: LoopbackServer
    /// The server's identifier and endpoints, for configuring clients.
    public let metadata: AuthorizationServer

    let endpoints: TokenEndpointResponder
    private let mutualTLSServer: LoopbackServer?
    private let faults = Dictionary(
        uniqueKeysWithValues: Endpoint.allCases.map { ($0, Script<Fault>([], repeatsLast: false)) }
    )
    private let userBook = Mutex(Users())

    var tokens: TokenLedger { endpoints.tokens }
    var signing: SigningState { endpoints.tokens.signing }
    var clients: ClientRegister { endpoints.clients }
    var time: TimeSource { endpoints.configuration.serverTime }

    private init(_ configuration: Configuration, clients: [Client]) throws {
        var serverConfiguration = LoopbackServer.Configuration()
        serverConfiguration.time = configuration.serverTime
        server = try LoopbackServer.start(configuration: serverConfiguration)
        let issuer = server.baseURL.absoluteString + configuration.dialect.issuerPath
        mutualTLSServer = try configuration.mutualTLS.map { tls in
            serverConfiguration.tls = tls
            return try LoopbackServer.start(configuration: serverConfiguration)
        }
        metadata = try AuthorizationServer(
            metadata: Self.metadataDocument(server, mutualTLSServer, configuration),
            issuer: issuer
        )
        let signing = try SigningState(configuration.signingAlgorithm)
        let tokens = TokenLedger(issuer: issuer, signing: signing, configuration: configuration)
        let clients = ClientRegister(
            try clients + configuration.clientDocuments.map { try Client($0) },
            metadata: metadata,
            configuration: configuration
        )
        endpoints = TokenEndpointResponder(
            clients: clients,
            tokens: tokens,
            proofs: ProofHandler(configuration),
            codes: AuthorizationHandler(clients: clients, tokens: tokens),
            devices: DeviceHandler(
                verificationURI: server.url(for: "/device").absoluteString,
                configuration: configuration
            ),
            assertions: AssertionHandler(clients: clients),
            requests: AuthorizationRequestHandler(clients: clients),
            urls: [metadata, metadata.usingMutualTLSAliases()].map(\.tokenEndpoint.absoluteString)
        )
        addRoutes()
    }

    /// Starts a server.
    ///
    /// - Parameters:
    ///   - configuration: The server's options.
    ///   - clients: The registered clients. ``register(_:)`` adds more.
    /// - Returns: The server, which accepts requests.
    /// - Throws: ``MockError`` with the code `cannotStart`, or a `TokenError` if generating a key
    ///   fails.
    public static func start(
        configuration: Configuration = Configuration(),
        clients: [Client] = []
    ) throws -> MockAuthorizationServer {
        try MockAuthorizationServer(configuration, clients: clients)
    }

    /// Stops the server and waits until its last request has ended.
    public func stop() async {
        await server.stop()
        await mutualTLSServer?.stop()
    }

    /// Adds a client, or replaces the one with the same identifier.
    ///
    /// - Parameter client: The client.
    public func register(_ client: Client) { clients.register(client) }

    // MARK: Tokens

    /// The public keys that verify access tokens and ID tokens; ``rotateKeys(withdrawingOld:)``
    /// changes them.
    public var keys: JWKSet { signing.keys }

    /// Issues a refresh token, as if a user had granted it.
    ///
    /// - Parameters:
    ///   - clientID: The client's identifier.
    ///   - subject: The user.
    ///   - scope: The granted scope.
    /// - Returns: The token.
    public func issueRefreshToken(clientID: String, subject: String, scope: String = "") -> Secret {
        Secret(tokens.beginFamily(Authorization(clientID: clientID, subject: subject, scope: scope)).refreshToken)
    }

    /// Revokes one access token.
    ///
    /// - Parameter accessToken: The token.
    public func revoke(_ accessToken: String) { tokens.revoke(accessToken) }

    /// Revokes every access token issued so far; refresh tokens stay valid.
    public func revokeAccessTokens() { tokens.revokeAccessTokens() }

    /// Revokes every refresh token issued so far, and the access tokens derived from them.
    public func revokeRefreshTokens() { tokens.revokeRefreshTokens() }

    /// Returns a Boolean value that indicates whether the server issued an access token that is
    /// neither expired nor revoked.
    ///
    /// - Parameter accessToken: The token.
    /// - Returns: `true` if a resource server should accept the token.
    public func isActive(_ accessToken: String) -> Bool { authorization(for: accessToken) != nil }

    /// Returns the parameters of a pushed authorization request
    /// ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)), or those in its signed request object.
    ///
    /// - Parameter requestURI: The request's URI.
    /// - Returns: The parameters, or `nil` if the request is unknown. The request remains usable.
    public func pushedAuthorizationRequest(_ requestURI: String) -> [String: String]? {
        endpoints.requests.pushedParameters(requestURI)
    }

    /// Changes the users of the UserInfo endpoint.
    ///
    /// - Parameter change: The change.
    public func setUsers(_ change: (inout Users) -> Void) { userBook.withLock { change(&$0) } }

    var users: Users { userBook.withLock { $0 } }

    func authorization(for accessToken: String) -> Authorization? { tokens.authorization(for: accessToken) }

    /// The number of token requests so far, regardless of the responses.
    public var tokenRequestCount: Int {
        [server, mutualTLSServer].compactMap(\.self).reduce(0) { $0 + $1.requests(for: "/token").count }
    }

    /// The number of access tokens issued so far.
    public var issuedTokenCount: Int { tokens.issuedCount }

    // MARK: Resources and faults

    /// Wraps a route's handler so that it requires an active access token.
    ///
    /// Other requests get 401 with a challenge
    /// ([RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)). A token that's bound to a
    /// key requires a proof ([RFC 9449 §7](https://www.rfc-editor.org/rfc/rfc9449#section-7)).
    ///
    /// - Parameters:
    ///   - scope: The scope that the token needs. Without it, the response is 403 with the
    ///     challenge `insufficient_scope`. The default is `nil`, for any scope.
    ///   - handler: The handler for requests with an active token.
    /// - Returns: A handler for a route of any ``LoopbackServer``.
    public func protecting(
        scope: String? = nil,
        _ handler: @escaping LoopbackServer.Handler
    ) -> LoopbackServer.Handler {
        { [self] request in
            try await protectedResponse(to: request, scope: scope, handler).dated(time)
        }
    }

    private func protectedResponse(
        to request: LoopbackRequest,
        scope: String?,
        _ handler: LoopbackServer.Handler
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
        // RFC 8705 §3
        guard [nil, request.certificateThumbprint].contains(authorization.certificateThumbprint) else {
            return refusal("invalid_token", more: #", error_description="bound to another certificate""#)
        }
        if let thumbprint = authorization.keyThumbprint {
            let urls = ["http", "https"].map { "\($0)://\(request.headers["Host"] ?? "")\(request.path)" }
            do throws(ProofHandler.Refusal) {
                guard let bound = try? DPoPAccessToken(token, thumbprint: thumbprint) else {
                    throw .rejected("the access token can't be hashed")
                }
                let expectation = DPoPVerifier.Expectation.resource(accessToken: bound)
                _ = try await endpoints.proofs.check(request, urls: urls, place: "resource", for: expectation)
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
        if isDPoP { response.headers["DPoP-Nonce"] = endpoints.proofs.nonce(of: "resource") }
        return response
    }

    /// Adds faults for the next requests to an endpoint, in order.
    ///
    /// When the faults are used up, the server works normally again.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint. The default is the token endpoint.
    ///   - faults: The faults, one for each request.
    public func misbehave(at endpoint: Endpoint = .token, _ faults: Fault...) {
        self.faults[endpoint]?.append(faults)
    }

    /// Requires a new nonce in proofs from now on; the previous one is still accepted.
    package func changeNonces() { endpoints.proofs.changeNonces() }

    /// The number of times that a client used a replaced refresh token, which revoked all tokens
    /// derived from it.
    public var reuseDetectionCount: Int { tokens.reuseCount }

    private func addRoutes() {
        let document = metadata.metadata.serialized()
        let endpoints = endpoints
        on(.post, .token) { request in
            endpoints.configuration.dialect.formatted(await endpoints.tokenResponse(to: request), for: request)
        }
        on(.post, .revocation) { endpoints.revocationResponse(to: $0) }
        on(.post, .introspection) { endpoints.introspectionResponse(to: $0) }
        on(.post, .pushedAuthorizationRequests) { endpoints.pushResponse(to: $0) }
        let registration = RegistrationHandler(
            clients: clients,
            url: server.url(for: Endpoint.registration.rawValue).absoluteString
        )
        on(.post, .registration) { registration.response(to: $0) }
        for method in [HTTPMethod.get, .put, .delete] {
            on(method, .registration, path: Endpoint.registration.rawValue + "/*") { registration.response(to: $0) }
        }
        // Weak, because the server owns the route.
        on(.get, .userInfo) { [weak self] request in
            guard let self else { return .status(503) }
            return try await protecting { try self.userInfoResponse(to: $0) }(request)
        }
        on(.post, .backchannelAuthentication) { endpoints.backchannelResponse(to: $0) }
        on(.post, .deviceAuthorization) { endpoints.deviceAuthorizationResponse(to: $0) }
        for method in [HTTPMethod.get, .post] {
            on(method, .authorization) { request in
                let items = method == .get ? request.queryItems : request.formItems
                let parameters = items.map { ($0.name, $0.value ?? "") }
                return endpoints.codes.response(to: parameters, resolvedBy: endpoints.requests)
            }
            // Weak, because the server owns the route.
            on(method, .endSession) { [weak self] request in
                guard let self else { return .status(503) }
                return logoutResponse(to: method == .get ? request.queryItems : request.formItems)
            }
        }
        let encryptionKeys = endpoints.configuration.decryptionKeys.map(\.encryptionKey.jwk)
        on(.get, .keys) { [signing] _ in .json(JWKSet(keys: signing.keys.keys + encryptionKeys).serialized()) }
        // Both specifications for issuers with a path, and the paths without it.
        let path = endpoints.configuration.dialect.issuerPath
        let issuerPath = path == "/" ? "" : path
        for path in ["/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"] {
            for path in Set([path, path + issuerPath, issuerPath + path]) {
                on(.get, .metadata, path: path) { _ in .json(document) }
            }
        }
    }

    private func on(
        _ method: HTTPMethod,
        _ endpoint: Endpoint,
        path: String? = nil,
        _ handler: @escaping LoopbackServer.Handler
    ) {
        let security = ResponseSecurity(clients: clients, signing: signing)
        let answer: LoopbackServer.Handler = { [script = faults[endpoint], time] request in
            switch script?.next()?.kind {
            case .instead(let response): response.dated(time)
            case .changed(let change): change(try security.secured(try await handler(request))).dated(time)
            case .signed(let fault): try security.secured(try await handler(request), signature: fault).dated(time)
            case .encrypted(let fault): try security.secured(try await handler(request), encryption: fault).dated(time)
            case nil: try security.secured(try await handler(request)).dated(time)
            }
        }
        server.on(method, path ?? endpoint.rawValue, answer)
        mutualTLSServer?.on(method, path ?? endpoint.rawValue, answer)
    }
}

extension LoopbackResponse {
    fileprivate func dated(_ time: TimeSource) -> Self {
        guard headers["Date"] == nil else { return self }
        var response = self
        response.headers["Date"] = HTTPDate.format(time.date())
        return response
    }
}

extension MockAuthorizationServer {
    /// An endpoint of a server, by its path.
    @nonexhaustive
    public enum Endpoint: String, Sendable, CaseIterable {
        /// The token endpoint: `/token`.
        case token = "/token"
        /// The authorization endpoint
        /// ([RFC 6749 §3.1](https://www.rfc-editor.org/rfc/rfc6749#section-3.1)): `/authorize`.
        case authorization = "/authorize"
        /// The device authorization endpoint ([RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)):
        /// `/device_authorization`.
        case deviceAuthorization = "/device_authorization"
        /// The backchannel authentication endpoint ([OpenID Connect CIBA Core
        /// 1.0](https://openid.net/specs/openid-client-initiated-backchannel-authentication-core-1_0.html)):
        /// `/backchannel_authentication`.
        case backchannelAuthentication = "/backchannel_authentication"
        /// The revocation endpoint ([RFC 7009](https://www.rfc-editor.org/rfc/rfc7009)): `/revoke`.
        case revocation = "/revoke"
        /// The introspection endpoint ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)):
        /// `/introspect`.
        case introspection = "/introspect"
        /// The pushed authorization request endpoint
        /// ([RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)): `/par`.
        case pushedAuthorizationRequests = "/par"
        /// The registration endpoint ([RFC 7591](https://www.rfc-editor.org/rfc/rfc7591),
        /// [RFC 7592](https://www.rfc-editor.org/rfc/rfc7592)): `/register`, with the registered
        /// clients below it.
        case registration = "/register"
        /// The UserInfo endpoint ([OpenID Connect Core 1.0
        /// §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)): `/userinfo`.
        case userInfo = "/userinfo"
        /// The end session endpoint ([OpenID Connect RP-Initiated Logout
        /// 1.0](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)): `/logout`.
        case endSession = "/logout"
        /// The endpoint of the public keys that verify tokens: `/jwks`.
        case keys = "/jwks"
        /// The server's metadata, at both well-known paths
        /// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
        case metadata = "/.well-known/oauth-authorization-server"
    }
}
