public import Foundation
public import Networking
public import OAuth2
public import TokenGeneration

extension AccessTokenVerifier {
    /// Creates a verifier of JWTs with the keys that an issuer publishes.
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as in its metadata.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys.
    ///   - selection: The rule that selects the keys for a token.
    ///   - currentDate: A closure that returns the current time.
    public init(
        issuer: String,
        audience: String,
        keys: RemoteKeySet,
        selection: KeySelection = KeySelection(),
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        let policy = ValidationPolicy.accessToken(issuer: issuer, audience: audience)
        self.init(policy, keys: IssuerKeys(keys, selection), currentDate: currentDate)
    }

    /// Creates a verifier of JWTs with local keys.
    ///
    /// - Parameters:
    ///   - issuer: The authorization server's issuer identifier, exactly as in its metadata.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys.
    ///   - selection: The rule that selects the keys for a token.
    ///   - currentDate: A closure that returns the current time.
    public init(
        issuer: String,
        audience: String,
        keys: JWKSet,
        selection: KeySelection = KeySelection(),
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        let policy = ValidationPolicy.accessToken(issuer: issuer, audience: audience)
        self.init(policy, keys: IssuerKeys(keys, selection), currentDate: currentDate)
    }

    /// Creates a verifier of JWTs with the keys of an issuer whose metadata is discovered
    /// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)).
    ///
    /// - Parameters:
    ///   - discovery: The discovery of the issuer's metadata.
    ///   - audience: The issuer's name for this API.
    ///   - client: The client for requests of the keys.
    ///   - options: The lifetime of the keys and the limits of requests.
    ///   - selection: The rule that selects the keys for a token.
    ///   - currentDate: A closure that returns the current time.
    public init(
        discovery: AuthorizationServerDiscovery,
        audience: String,
        client: NetworkClient = NetworkClient(),
        options: RemoteKeySet.Options = RemoteKeySet.Options(),
        selection: KeySelection = KeySelection(),
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(
            issuer: discovery.issuer,
            audience: audience,
            keys: RemoteKeySet(discovery: discovery, client: client, options: options),
            selection: selection,
            currentDate: currentDate
        )
    }

    /// Creates a verifier that introspects every token at the authorization server, whether or not
    /// it's a JWT ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)).
    ///
    /// - Parameters:
    ///   - audience: The issuer's name for this API.
    ///   - introspection: The introspection at the authorization server.
    ///   - issuer: The required issuer of tokens if the server names one. The default is `nil`, for
    ///     the server that is asked.
    ///   - currentDate: A closure that returns the current time.
    public init(
        audience: String,
        introspection: CachedTokenIntrospection,
        issuer: String? = nil,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        let policy = ValidationPolicy.accessToken(issuer: issuer ?? introspection.issuer, audience: audience)
        self.init(policy, introspection: introspection, currentDate: currentDate)
    }

    /// Creates a verifier of the tokens that a well-known issuer makes for this API.
    ///
    /// ```swift
    /// let verifier = AccessTokenVerifier(
    ///     .entra(tenants: ["8eaef023-2b34-4da1-9baa-8bc8c9d6a490"]),
    ///     audience: "6e74172b-be56-4843-9ff4-e66a39bb12e3"
    /// )
    /// ```
    ///
    /// The ``policy`` is the issuer's, instead of that of RFC 9068.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys. The default, `nil`, fetches those that the issuer publishes.
    ///   - currentDate: A closure that returns the current time.
    public init(
        _ issuer: TokenIssuer,
        audience: String,
        keys: RemoteKeySet? = nil,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        let keys = IssuerKeys(keys ?? RemoteKeySet(issuer), issuer.selection)
        self.init(issuer, audience, keys, currentDate)
    }

    /// Creates a verifier of the tokens that a well-known issuer makes for this API, with local
    /// keys.
    ///
    /// - Parameters:
    ///   - issuer: The issuer.
    ///   - audience: The issuer's name for this API.
    ///   - keys: The issuer's keys.
    ///   - currentDate: A closure that returns the current time.
    public init(
        _ issuer: TokenIssuer,
        audience: String,
        keys: JWKSet,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) {
        self.init(issuer, audience, IssuerKeys(keys, issuer.selection), currentDate)
    }

    private init(
        _ issuer: TokenIssuer,
        _ audience: String,
        _ keys: IssuerKeys,
        _ currentDate: @escaping @Sendable () -> Date
    ) {
        self.init(issuer.policy(audience: audience), keys: keys, currentDate: currentDate)
        scopeClaim = issuer.scopeClaim
        clientClaim = issuer.clientClaim
    }
}
