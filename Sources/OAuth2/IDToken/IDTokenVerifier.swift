public import Foundation
public import TokenGeneration

/// Verifies the ID tokens that an OpenID provider issues to a client
/// ([OpenID Connect Core 1.0 §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation)).
///
/// ```swift
/// let verifier = IDTokenVerifier(issuer: "https://id.example", clientID: "shop", keys: RemoteKeySet(url: jwksURL))
/// let user = try await verifier.verify(idToken, nonce: nonce, accessToken: accessToken)
/// print(user.registered.subject ?? "")
/// ```
///
/// The signature is always verified, also of a token that came straight from the token endpoint, and a token without one
/// (`none`) is refused. An ID token says who logged in to this client: it is no access token, and no API should take it for one.
public struct IDTokenVerifier: Sendable {
    /// The provider's issuer identifier.
    public let issuer: String
    /// The client's ID at the provider.
    public let clientID: String
    /// The algorithms that ID tokens may be signed with: what the client is registered for (`id_token_signed_response_alg`).
    ///
    /// It is RS256 alone by default, as [registration](https://openid.net/specs/openid-connect-registration-1_0.html) has it.
    public let algorithms: Set<JWSAlgorithm>
    /// How far clocks may differ: 60 seconds by default.
    public var leeway: Duration = .seconds(60)
    /// The longest time since a token was issued: a day by default; `nil` to accept any that has not expired.
    public var maximumAge: Duration? = .seconds(86_400)
    /// The audiences that `aud` may name besides the client; none by default.
    ///
    /// A token for other audiences as well is refused unless all of them are here
    /// ([OpenID Connect Core 1.0 §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation), rule 3).
    public var trustedAudiences: [String] = []
    /// Names of claims that a token must have besides `iss`, `sub`, `aud`, `exp` and `iat`.
    ///
    /// Where the access token comes from the authorization endpoint, `at_hash` is one of them.
    public var requiredClaims: [String] = []
    /// Checks of your own, made after all others.
    public var checks: [ClaimsCheck] = []
    /// Tells the time.
    public var currentDate: @Sendable () -> Date = { Date() }

    private let keys: IssuerKeys

    /// Makes a verifier with the keys that the provider publishes.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as its metadata have it.
    ///   - clientID: The client's ID at the provider.
    ///   - keys: The provider's keys.
    ///   - algorithms: The algorithms that ID tokens may be signed with.
    public init(issuer: String, clientID: String, keys: RemoteKeySet, algorithms: Set<JWSAlgorithm> = [.rs256]) {
        self.init(issuer, clientID, algorithms, IssuerKeys(keys, KeySelection(expecting: algorithms)))
    }

    /// Makes a verifier with keys at hand.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as its metadata have it.
    ///   - clientID: The client's ID at the provider.
    ///   - keys: The provider's keys.
    ///   - algorithms: The algorithms that ID tokens may be signed with.
    public init(issuer: String, clientID: String, keys: JWKSet, algorithms: Set<JWSAlgorithm> = [.rs256]) {
        self.init(issuer, clientID, algorithms, IssuerKeys(keys, KeySelection(expecting: algorithms)))
    }

    /// Makes a verifier with one key, such as the client's secret for tokens that are signed with HS256.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as its metadata have it.
    ///   - clientID: The client's ID at the provider.
    ///   - key: The key; its algorithm is the only one that ID tokens may be signed with.
    public init(issuer: String, clientID: String, key: VerificationKey) {
        self.init(issuer, clientID, [key.algorithm], .fixed(JWTVerifier(key: key)))
    }

    private init(_ issuer: String, _ clientID: String, _ algorithms: Set<JWSAlgorithm>, _ keys: IssuerKeys) {
        self.issuer = issuer
        self.clientID = clientID
        self.algorithms = algorithms
        self.keys = keys
    }

    /// Gets the provider's keys ready, so that a verification soon after needs no network in most cases.
    ///
    /// - Throws: ``OAuth2Error`` as ``RemoteKeySet/keys()`` does; `CancellationError`.
    func prepare() async throws { try await keys.prepare() }

    /// Verifies an ID token.
    ///
    /// - Parameters:
    ///   - idToken: The token.
    ///   - nonce: The nonce of the authentication request; `nil` if it had none, and then the token must have none.
    ///   - accessToken: The access token that came with the ID token, to be compared with `at_hash` if that is there.
    ///   - code: The authorization code that came with the ID token from the authorization endpoint, to be compared with
    ///     `c_hash`.
    ///   - state: The state that came with the ID token from the authorization endpoint, to be compared with `s_hash`; for
    ///     providers that send one, as FAPI 1.0 demands.
    ///   - maximumAuthenticationAge: The `max_age` of the authentication request.
    ///   - acrValues: The authentication context classes that will do; empty if any will, and none.
    /// - Returns: What the token says.
    /// - Throws: `TokenError`, before keys are looked for, with the code `algorithmMismatch` if the token is signed with another
    ///   algorithm than the client is registered for, or not at all; as `JWTVerifier.verify(_:)` does, and with the codes
    ///   `nonceMismatch`, `authorizedPartyMismatch`, `hashMismatch` and `authenticationContextMismatch`. ``OAuth2Error`` as
    ///   ``RemoteKeySet/keys()`` does if there are no keys; `CancellationError`.
    public func verify(
        _ idToken: String,
        nonce: String?,
        accessToken: String? = nil,
        code: String? = nil,
        state: String? = nil,
        maximumAuthenticationAge: Duration? = nil,
        acrValues: [String] = []
    ) async throws -> VerifiedToken {
        try UnverifiedToken(idToken).checkAlgorithm(algorithms, of: "the ID token")
        var policy = ValidationPolicy.idToken(
            issuer: issuer,
            clientID: clientID,
            nonce: nonce,
            accessToken: accessToken,
            code: code,
            maximumAuthenticationAge: maximumAuthenticationAge,
            state: state,
            acrValues: acrValues,
            trustedAudiences: trustedAudiences
        )
        policy.leeway = leeway
        policy.maximumAge = maximumAge
        policy.requiredClaims += requiredClaims
        policy.checks += checks
        policy.currentDate = currentDate
        return try await keys.verify(idToken, against: policy)
    }
}
