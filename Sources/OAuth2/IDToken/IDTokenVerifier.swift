public import Foundation
public import TokenGeneration

/// A verifier for the ID tokens that an OpenID provider issues to a client ([OpenID Connect Core
/// 1.0 §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation)).
///
/// ```swift
/// let verifier = IDTokenVerifier(
///     issuer: "https://id.example",
///     clientID: "shop",
///     keys: RemoteKeySet(url: jwksURL)
/// )
/// let user = try await verifier.verify(
///     idToken,
///     nonce: nonce,
///     accessToken: accessToken
/// )
/// print(user.registered.subject ?? "")
/// ```
///
/// The verifier always checks the signature, even for tokens that come directly from the token
/// endpoint, and rejects unsigned tokens (`none`). An ID token tells the client which user has
/// signed in. It isn't an access token, and APIs must not accept it as one.
public struct IDTokenVerifier: Sendable {
    /// The provider's issuer identifier, as in its metadata.
    public let issuer: String
    /// The client's ID at the provider.
    public let clientID: String
    /// The accepted signature algorithms: the client's `id_token_signed_response_alg`.
    ///
    /// The default is RS256 alone, as in [OpenID Connect
    /// registration](https://openid.net/specs/openid-connect-registration-1_0.html).
    public let algorithms: Set<JWSAlgorithm>
    /// The tolerated difference between the clocks.
    ///
    /// The default is 60 seconds.
    public var leeway: Duration = .seconds(60)
    /// The maximum age of a token.
    ///
    /// The default is one day; `nil` accepts any token that hasn't expired.
    public var maximumAge: Duration? = .seconds(86_400)
    /// The audiences that `aud` may contain in addition to the client.
    ///
    /// By default, a token with any other audience is rejected ([OpenID Connect Core 1.0
    /// §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation), rule 3).
    public var trustedAudiences: [String] = []
    /// The clients that `azp` may name instead of this one, because they request tokens for it.
    ///
    /// By default, `azp` must be this client. At Google, for example, a mobile app can request an
    /// ID token for its server. `azp` is then the app's client ID.
    public var authorizedParties: [String] = []
    /// The required claims in addition to `iss`, `sub`, `aud`, `exp` and `iat`.
    ///
    /// If the access token comes from the authorization endpoint, include `at_hash`.
    public var requiredClaims: [String] = []
    /// Custom checks, which run after all others.
    public var checks: [ClaimsCheck] = []
    /// The decrypter of encrypted ID tokens, with the client's `id_token_encrypted_response_alg`
    /// and `id_token_encrypted_response_enc`.
    ///
    /// The default is `nil`, which rejects encrypted tokens. With a decrypter, the verifier rejects
    /// tokens that aren't encrypted. A token must be signed first and encrypted then ([OpenID
    /// Connect Core 1.0 §2](https://openid.net/specs/openid-connect-core-1_0.html#IDToken)). See
    /// ``ClientMetadata/decrypter(for:keys:clientSecret:)``.
    public var decrypter: JWEDecrypter?
    /// A closure that returns the current time.
    public var currentDate: @Sendable () -> Date = { Date() }

    private let provider: IdentityProvider
    private let keys: IssuerKeys

    /// Creates a verifier with the provider's published keys.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as in its metadata.
    ///   - clientID: The client's ID at the provider.
    ///   - keys: The provider's keys.
    ///   - algorithms: The accepted signature algorithms. The default is RS256 alone.
    public init(issuer: String, clientID: String, keys: RemoteKeySet, algorithms: Set<JWSAlgorithm> = [.rs256]) {
        let provider = IdentityProvider(issuer: issuer, algorithms: algorithms)
        self.init(provider, clientID, algorithms, IssuerKeys(keys, provider.selection))
    }

    /// Creates a verifier with a fixed key set.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as in its metadata.
    ///   - clientID: The client's ID at the provider.
    ///   - keys: The provider's keys.
    ///   - algorithms: The accepted signature algorithms. The default is RS256 alone.
    public init(issuer: String, clientID: String, keys: JWKSet, algorithms: Set<JWSAlgorithm> = [.rs256]) {
        let provider = IdentityProvider(issuer: issuer, algorithms: algorithms)
        self.init(provider, clientID, algorithms, IssuerKeys(keys, provider.selection))
    }

    /// Creates a verifier with one key, such as the client's secret for tokens signed with HS256.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as in its metadata.
    ///   - clientID: The client's ID at the provider.
    ///   - key: The key. Its algorithm is the only accepted one.
    public init(issuer: String, clientID: String, key: VerificationKey) {
        let provider = IdentityProvider(issuer: issuer)
        self.init(provider, clientID, [key.algorithm], .fixed(JWTVerifier(key: key)))
    }

    /// Creates a verifier of the ID tokens of a well-known provider.
    ///
    /// ```swift
    /// let verifier = IDTokenVerifier(
    ///     .google(hostedDomain: "example.com"),
    ///     clientID: "1234.apps.googleusercontent.com"
    /// )
    /// let user = try await verifier.verify(idToken, nonce: nonce)
    /// ```
    ///
    /// - Parameters:
    ///   - provider: The provider.
    ///   - clientID: The client's ID at the provider.
    ///   - keys: The provider's keys. The default, `nil`, fetches those that the provider
    ///     publishes. To share keys between verifiers, or to use another client, pass a
    ///     ``RemoteKeySet``.
    public init(_ provider: IdentityProvider, clientID: String, keys: RemoteKeySet? = nil) {
        let keys = IssuerKeys(keys ?? RemoteKeySet(provider), provider.selection)
        self.init(provider, clientID, provider.policy.algorithms ?? [], keys)
    }

    /// Creates a verifier of the ID tokens of a well-known provider, with a fixed key set.
    ///
    /// - Parameters:
    ///   - provider: The provider.
    ///   - clientID: The client's ID at the provider.
    ///   - keys: The provider's keys.
    public init(_ provider: IdentityProvider, clientID: String, keys: JWKSet) {
        self.init(provider, clientID, provider.policy.algorithms ?? [], IssuerKeys(keys, provider.selection))
    }

    private init(
        _ provider: IdentityProvider,
        _ clientID: String,
        _ algorithms: Set<JWSAlgorithm>,
        _ keys: IssuerKeys
    ) {
        self.provider = provider
        issuer = provider.issuer
        self.clientID = clientID
        self.algorithms = algorithms
        self.keys = keys
    }

    /// Loads the provider's keys, so that a verification soon afterwards rarely needs the network.
    ///
    /// - Throws: ``OAuth2Error`` as ``RemoteKeySet/keys()`` does; `CancellationError`.
    func prepare() async throws { try await keys.prepare() }

    /// Verifies an ID token.
    ///
    /// - Parameters:
    ///   - idToken: The token.
    ///   - nonce: The nonce of the authentication request. If `nil`, the token must have none. An
    ///     empty nonce rejects every token.
    ///   - accessToken: The access token that came with it, to compare with `at_hash` if present.
    ///   - code: The authorization code that came with the ID token from the authorization
    ///     endpoint, to compare with `c_hash`.
    ///   - state: The state that came with the ID token from the authorization endpoint, to compare
    ///     with `s_hash`. Pass it for providers that send that claim, as FAPI 1.0 demands.
    ///   - maximumAuthenticationAge: The `max_age` of the authentication request.
    ///   - acrValues: The acceptable authentication context classes. If empty, `acr` is optional.
    /// - Returns: The verified token.
    /// - Throws: `TokenError` with the code `algorithmMismatch`, before any keys are loaded, if the
    ///   token is unsigned or signed with an algorithm that isn't in ``algorithms``, or if it isn't
    ///   encrypted although there's a ``decrypter``; the errors of
    ///   `JWTVerifier.verify(encrypted:with:)` and `JWTVerifier.verify(_:)`; and the codes
    ///   `nonceMismatch`, `authorizedPartyMismatch`, `hashMismatch` and
    ///   `authenticationContextMismatch`. The ``OAuth2Error`` of ``RemoteKeySet/keys()`` if the
    ///   keys can't be loaded; `CancellationError`.
    public func verify(
        _ idToken: String,
        nonce: String?,
        accessToken: String? = nil,
        code: String? = nil,
        state: String? = nil,
        maximumAuthenticationAge: Duration? = nil,
        acrValues: [String] = []
    ) async throws -> VerifiedToken {
        var policy = ValidationPolicy.idToken(
            provider: provider,
            clientID: clientID,
            nonce: nonce,
            accessToken: accessToken,
            code: code,
            maximumAuthenticationAge: maximumAuthenticationAge,
            state: state,
            acrValues: acrValues,
            trustedAudiences: trustedAudiences,
            authorizedParties: authorizedParties
        )
        policy.leeway = leeway
        policy.maximumAge = maximumAge
        policy.requiredClaims += requiredClaims
        policy.checks += checks
        policy.currentDate = currentDate
        return try await keys.verify(
            idToken,
            "the ID token",
            decrypter: decrypter,
            algorithms: algorithms,
            against: policy
        )
    }
}
