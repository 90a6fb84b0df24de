public import Foundation
public import TokenGeneration

/// A verifier for the ID tokens that an OpenID provider issues to a client ([OpenID Connect Core
/// 1.0 §3.1.3.7](https://openid.net/specs/openid-connect-core-1_0.html#IDTokenValidation)).
///
/// ```swift
/// let verifier = IDTokenVerifier(
///     issuer: "https://id.example",
///     clientID: "shop",
///     keys: .url(jwksURL)
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
    package let issuer: String
    package let clientID: String
    package let algorithms: Set<JWSAlgorithm>
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

    private let provider: TokenIssuer
    fileprivate let verifier: RemoteJWTVerifier

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - issuer: The provider's issuer identifier, exactly as in its metadata.
    ///   - clientID: The client's ID at the provider.
    ///   - keys: The provider's keys. The default is those that its metadata names.
    ///   - algorithms: The accepted signature algorithms: the client's registered
    ///     `id_token_signed_response_alg`. The default, `nil`, is RS256 alone, as in [OpenID
    ///     Connect registration](https://openid.net/specs/openid-connect-registration-1_0.html), or
    ///     the algorithm of ``IssuerKeys/key(_:)``.
    public init(
        issuer: String,
        clientID: String,
        keys: IssuerKeys = .published,
        algorithms: Set<JWSAlgorithm>? = nil
    ) {
        let algorithms = keys.algorithms(algorithms)
        self.init(TokenIssuer(idTokensOf: issuer, algorithms: algorithms), clientID: clientID, keys: keys)
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
    ///   - provider: The provider. If it has no rules for ID tokens, every token is rejected with
    ///     the code `typeMismatch`.
    ///   - clientID: The client's ID at the provider.
    ///   - keys: The provider's keys. The default is those that the provider publishes.
    public init(_ provider: TokenIssuer, clientID: String, keys: IssuerKeys = .published) {
        self.provider = provider
        issuer = provider.issuer ?? ""
        self.clientID = clientID
        algorithms = provider.idTokenPolicy.algorithms ?? []
        verifier = RemoteJWTVerifier(keys: keys.of(provider))
    }

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
    ///   token is unsigned or signed with an algorithm that isn't accepted, or if it isn't
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
        return try await verifier.verify(
            idToken,
            "the ID token",
            decrypter: decrypter,
            algorithms: algorithms,
            against: policy
        )
    }
}

/// A rule for the ID token that an ``OAuth2Client`` gets with a user's tokens.
///
/// ```swift
/// let tokens = try await oauth.tokens(
///     for: grant,
///     idToken: .verified(by: verifier)
/// )
/// print(tokens.idToken?.registered.subject ?? "")
/// ```
public struct IDTokenRule: Sendable {
    enum Wrapped {
        case notRequested
        case verified(IDTokenVerifier)
        case skipped
    }

    let wrapped: Wrapped

    /// The rule for requests without the scope `openid`, which return no ID token.
    ///
    /// If an authorization request has that scope, the client throws an error before it sends the
    /// code. For a device, the client ignores the ID token.
    public static let notRequested = IDTokenRule(wrapped: .notRequested)

    /// Requires a valid ID token.
    ///
    /// The client also checks `nonce`, `max_age` and `at_hash`.
    ///
    /// - Parameter verifier: The verifier for the provider's ID tokens.
    /// - Returns: The rule.
    public static func verified(by verifier: IDTokenVerifier) -> IDTokenRule {
        IDTokenRule(wrapped: .verified(verifier))
    }

    /// Ignores the ID token, so that ``IssuedTokens/idToken`` is `nil`.
    ///
    /// - Warning: The user's identity is then unknown. Use it if you need only the access token.
    public static let skipIDTokenCheck = IDTokenRule(wrapped: .skipped)
}

/// The ID token that an authorization request asks for, if any.
package struct ExpectedIDToken: Sendable {
    struct Request {
        /// A secret so that it's never printed.
        let nonce: Secret?
        let maximumAuthenticationAge: Duration?
    }

    let request: Request?

    package static let none = ExpectedIDToken(request: nil)

    package static func requested(nonce: String?, maximumAuthenticationAge: Duration? = nil) -> ExpectedIDToken {
        ExpectedIDToken(
            request: Request(nonce: nonce.map(Secret.init), maximumAuthenticationAge: maximumAuthenticationAge)
        )
    }
}

extension OAuth2Client {
    /// Requests tokens with a grant.
    ///
    /// If an ``AuthorizationRequest`` asks for an ID token, with the scope `openid`, the rule must
    /// specify how the client treats it. The client returns no tokens if the ID token isn't valid.
    ///
    /// - Parameters:
    ///   - grant: The grant.
    ///   - idToken: The rule for the ID token. The default is ``IDTokenRule/notRequested``.
    /// - Returns: The tokens, with the verified ID token.
    /// - Throws: ``OAuth2Error``: `malformedRequest`, before anything is sent, if the rule doesn't
    ///   fit the grant; `protocolViolation` if the ID token is missing or invalid, with the
    ///   `TokenError` as its cause; the errors of ``RemoteKeySet/keys()`` if the keys to verify it
    ///   can't be loaded. `CancellationError` if the task is cancelled.
    public func tokens(for grant: some Grant, idToken: IDTokenRule = .notRequested) async throws -> IssuedTokens {
        try await verifying(try IDTokenCheck(idToken, for: grant)) { try await issuedTokens(for: grant) }
    }

    /// Requests tokens, and verifies the ID token that comes with them if there's a check.
    func verifying(_ check: IDTokenCheck?, _ request: () async throws -> IssuedTokens) async throws -> IssuedTokens {
        // The response with the tokens uses up the code, so load the keys before it.
        try await check?.verifier.verifier.prepare()
        var tokens = try await request()
        tokens.idToken = try await check?.verifiedToken(of: tokens)
        return tokens
    }
}

struct IDTokenCheck {
    let verifier: IDTokenVerifier
    let request: ExpectedIDToken.Request

    /// - Returns: `nil` if there is nothing to check.
    init?(_ rule: IDTokenRule, for grant: some Grant) throws(OAuth2Error) {
        let request = (grant as? AuthorizationCodeGrant)?.expectedIDToken.request
        switch (rule.wrapped, request) {
        case (.skipped, _), (.notRequested, nil): return nil
        case (.verified(let verifier), let request?):
            self.verifier = verifier
            self.request = request
        case (.notRequested, _?):
            throw OAuth2Error(
                .malformedRequest,
                "the authorization request asked for an ID token. Pass .verified(by:) with an IDTokenVerifier, "
                    + "or .skipIDTokenCheck"
            )
        case (.verified, nil):
            throw OAuth2Error(
                .malformedRequest,
                "there will be no ID token to verify. Add the scope “openid” to the authorization request"
            )
        }
    }

    /// Device requests have no nonce.
    init?(ofDevice rule: IDTokenRule) {
        guard case .verified(let verifier) = rule.wrapped else { return nil }
        self.verifier = verifier
        request = ExpectedIDToken.Request(nonce: nil, maximumAuthenticationAge: nil)
    }

    func verifiedToken(of tokens: IssuedTokens) async throws -> VerifiedToken {
        guard let idToken = tokens.unverifiedIDToken else {
            throw OAuth2Error(
                .protocolViolation,
                "the token response has no ID token, although the request asked for one"
            )
        }
        do {
            return try await verifier.verify(
                idToken.expose { $0 },
                nonce: request.nonce?.expose { $0 },
                accessToken: tokens.accessToken.value.expose { $0 },
                maximumAuthenticationAge: request.maximumAuthenticationAge
            )
        } catch let error as TokenError {
            throw OAuth2Error(
                .protocolViolation,
                "the ID token isn't valid; don't use the tokens that came with it",
                response: error
            )
        }
    }
}
