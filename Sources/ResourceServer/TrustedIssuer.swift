public import Foundation
public import Networking
public import OAuth2
internal import OpenSSLCrypto
public import TokenGeneration

/// One of several authorization servers whose access tokens an ``AccessTokenVerifier`` accepts.
///
/// ```swift
/// var partners = TrustedIssuer(
///     discovery: AuthorizationServerDiscovery(issuer: "https://partners.example")
/// )
/// partners.scopeClaim = "scp"
/// let verifier = try AccessTokenVerifier(
///     issuers: [staff, partners],
///     audience: "https://api.example"
/// )
/// ```
///
/// Unless they are set, ``audience``, ``policy`` and ``scopeClaim`` are those of the verifier.
public struct TrustedIssuer: Sendable {
    let issuer: String
    /// The issuer's name for the API.
    public var audience: String?
    /// The policy that the issuer's JWTs must meet.
    ///
    /// The verifier sets the policy's issuer and clock.
    public var policy: ValidationPolicy?
    /// The name of the claim with the scope.
    public var scopeClaim: String?
    /// The introspection of the issuer's tokens that aren't JWTs.
    ///
    /// The default is `nil`, which rejects such tokens.
    public var introspection: CachedTokenIntrospection?
    /// The prefix of the issuer's tokens that aren't JWTs.
    ///
    /// The default is empty, for tokens that match no other issuer's prefix. A token is sent to one
    /// server at most, because any other could misuse it.
    public var opaqueTokenPrefix = ""

    /// The status lists of the issuer, to reject its revoked JWTs.
    ///
    /// The default is `nil`, which accepts a JWT until it expires.
    public var statusLists: CachedStatusLists?

    let keys: IssuerKeys?

    /// Creates a trusted issuer whose metadata is discovered
    /// ([RFC 8414](https://www.rfc-editor.org/rfc/rfc8414)), without fetching anything yet.
    ///
    /// - Parameters:
    ///   - discovery: The discovery of the issuer's metadata.
    ///   - client: The client for requests of the keys.
    ///   - options: The lifetime of the keys and the limits of requests.
    ///   - selection: The rule that selects the keys for a token.
    public init(
        discovery: AuthorizationServerDiscovery,
        client: NetworkClient = NetworkClient(),
        options: RemoteKeySet.Options = RemoteKeySet.Options(),
        selection: KeySelection = KeySelection()
    ) {
        let keys = RemoteKeySet(discovery: discovery, client: client, options: options)
        self.init(issuer: discovery.issuer, keys: keys, selection: selection)
    }

    /// Creates a trusted issuer whose keys are published at a known URL.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier, exactly as the server writes it.
    ///   - keys: The issuer's keys.
    ///   - selection: The rule that selects the keys for a token.
    public init(issuer: String, keys: RemoteKeySet, selection: KeySelection = KeySelection()) {
        self.issuer = issuer
        self.keys = IssuerKeys(keys, selection)
    }

    /// Creates a trusted issuer with local keys.
    ///
    /// - Parameters:
    ///   - issuer: The issuer identifier, exactly as the server writes it.
    ///   - keys: The issuer's keys.
    ///   - selection: The rule that selects the keys for a token.
    public init(issuer: String, keys: JWKSet, selection: KeySelection = KeySelection()) {
        self.issuer = issuer
        self.keys = IssuerKeys(keys, selection)
    }

    /// Creates a trusted issuer whose tokens are all introspected, whether or not they are JWTs
    /// ([RFC 7662](https://www.rfc-editor.org/rfc/rfc7662)).
    ///
    /// - Parameters:
    ///   - introspection: The introspection at the authorization server.
    ///   - issuer: The issuer identifier. The default is `nil`, for the server's.
    public init(introspection: CachedTokenIntrospection, issuer: String? = nil) {
        self.issuer = issuer ?? introspection.issuer
        self.introspection = introspection
        keys = nil
    }
}

extension AccessTokenVerifier {
    /// Creates a verifier of the tokens of several authorization servers.
    ///
    /// The issuer of a token is determined before any request:
    ///
    /// - A JWT belongs to the issuer named by its `iss` and is verified with that issuer's keys
    ///   only. If the issuer isn't trusted, the token is rejected without any request.
    /// - A token that isn't a JWT belongs to the issuer with an ``TrustedIssuer/introspection`` and
    ///   the longest matching ``TrustedIssuer/opaqueTokenPrefix``. Only that issuer's server
    ///   introspects it. If no prefix matches, the token is rejected.
    ///
    /// - Parameters:
    ///   - issuers: The issuers.
    ///   - audience: The issuers' name for this API, unless an issuer has its own.
    ///   - currentDate: A closure that returns the current time.
    /// - Throws: `OAuth2Error` with the code `invalidIssuer` if the list is empty or contains an
    ///   issuer twice, or if two issuers with introspection have the same prefix.
    public init(
        issuers: [TrustedIssuer],
        audience: String,
        currentDate: @escaping @Sendable () -> Date = { Date() }
    ) throws(OAuth2Error) {
        let trusted = try TrustedIssuers(issuers)
        var policy = ValidationPolicy.accessToken(issuer: trusted.names[0], audience: audience)
        policy.issuer = .oneOf(trusted.names)
        self.init(policy, currentDate: currentDate)
        self.trusted = trusted
    }

    func confined(to issuer: TrustedIssuer) -> Self {
        var verifier = self
        verifier.trusted = nil
        if let own = issuer.policy {
            verifier.policy = own
            verifier.policy.currentDate = policy.currentDate
        }
        if let audience = issuer.audience, issuer.policy == nil { verifier.policy.audience = .contains(audience) }
        verifier.policy.issuer = .exactly(issuer.issuer)
        verifier.scopeClaim = issuer.scopeClaim ?? scopeClaim
        verifier.keys = issuer.keys
        verifier.introspection = issuer.introspection
        verifier.statusLists = issuer.statusLists
        return verifier
    }

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

final class TrustedIssuers: Sendable {
    /// The identifiers in the given order, at least one.
    let names: [String]
    private let byName: [ByteComparedString: TrustedIssuer]
    /// The issuers with introspection, the longest prefix first.
    private let byPrefix: [TrustedIssuer]

    init(_ issuers: [TrustedIssuer]) throws(OAuth2Error) {
        names = issuers.map(\.issuer)
        byName = Dictionary(issuers.map { (ByteComparedString($0.issuer), $0) }) { first, _ in first }
        guard !names.isEmpty, byName.count == names.count else {
            throw OAuth2Error(
                .invalidIssuer,
                names.isEmpty ? "the list of issuers is empty" : "the list of issuers contains one twice"
            )
        }
        byPrefix = issuers.filter { $0.introspection != nil }
            .sorted { $0.opaqueTokenPrefix.utf8.count > $1.opaqueTokenPrefix.utf8.count }
        guard Set(byPrefix.map { Array($0.opaqueTokenPrefix.utf8) }).count == byPrefix.count else {
            throw OAuth2Error(
                .invalidIssuer,
                "two issuers have the same opaqueTokenPrefix; give each a different one to tell their opaque tokens apart"
            )
        }
    }

    /// Returns the issuer of a token, and whether the token is a JWT.
    func issuer(of text: String) throws(TokenError) -> (issuer: TrustedIssuer, isJWT: Bool) {
        let token: UnverifiedToken
        do { token = try UnverifiedToken(text) } catch {
            let octets = text.utf8
            guard let issuer = byPrefix.first(where: { octets.starts(with: $0.opaqueTokenPrefix.utf8) }) else {
                throw error
            }
            return (issuer, false)
        }
        switch token.unverifiedClaims["iss"] {
        case .string(let name)?:
            guard let issuer = byName[ByteComparedString(name)] else {
                throw TokenError(.issuerMismatch, "the token's issuer isn't trusted")
            }
            return (issuer, true)
        case nil, .null?:
            throw TokenError(.missingClaim, "the claim “iss” is missing, so the token's issuer is unknown")
        default: throw TokenError(.malformedClaim, "the claim “iss” must be a string")
        }
    }
}
