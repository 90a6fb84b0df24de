/// Verifies tokens: the signature with a key or a key set, then the claims against a policy.
///
/// ```swift
/// let verifier = JWTVerifier(key: key, policy: ValidationPolicy(issuer: "https://id.example", audience: "orders"))
/// let claims = try verifier.verify(token, as: OrderClaims.self)
/// ```
///
/// The key decides, never the token: `alg` in the header must be the key's algorithm, keys and addresses that stand in the
/// header (`jwk`, `jku`, `x5c`, `x5u`) are not looked at, and a header that demands an extension (`crit`) is refused, for none
/// is understood. Members that occur twice, base64url that is not canonical, and sizes beyond the limits are refused.
public struct JWTVerifier: Sendable {
    private let core: TokenCheck

    /// Makes a verifier for one key.
    ///
    /// A `kid` in the header does not matter: the signature tells.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - policy: What a token must say to be accepted.
    public init(key: VerificationKey, policy: ValidationPolicy = ValidationPolicy()) {
        core = TokenCheck(.list([key]), policy)
    }

    /// Makes a verifier for a set of keys.
    ///
    /// A token's `kid` selects the key, which must be for signatures and have the token's algorithm; an unknown `kid` is an
    /// error. A token without `kid` is accepted if exactly one key has its algorithm. Keys that this version can't use are
    /// passed over, and so are symmetric keys.
    ///
    /// - Parameters:
    ///   - keys: The keys. The private part of one is not needed and not kept.
    ///   - selection: Exceptions from these rules.
    ///   - policy: What a token must say to be accepted.
    public init(
        keys: JWKSet,
        selection: KeySelection = KeySelection(),
        policy: ValidationPolicy = ValidationPolicy()
    ) {
        core = TokenCheck(.set(KeySelector(keys, selection)), policy)
    }

    /// Verifies a token.
    ///
    /// - Parameter token: A compact JWS.
    /// - Returns: What the token says.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken` or `tooLarge`;
    ///   `criticalHeaderUnsupported`, `algorithmMismatch`, `unknownKey`, `ambiguousKey`, or what is wrong with the key that
    ///   the token means; `signatureInvalid`; then the policy's `typeMismatch`, `malformedClaim`, `missingClaim`, `expired`,
    ///   `notYetValid`, `issuedInFuture`, `tooOld`, `lifetimeTooLong`, `prohibitedClaim`, `issuerMismatch`, `subjectMismatch`,
    ///   `audienceMismatch`, `checkFailed` or one of a check's own.
    public func verify(_ token: String) throws(TokenError) -> VerifiedToken {
        try core.check(token, keepsHeader: true)
    }

    /// Verifies a token against a policy of its own, with the same keys.
    ///
    /// What the token must say depends on the request that it came with, the keys don't, and are prepared once.
    package func verify(_ token: String, against policy: ValidationPolicy) throws(TokenError) -> VerifiedToken {
        try core.check(token, keepsHeader: true, against: policy)
    }

    /// Verifies a token and reads its claims into a type of yours.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - type: The type to read. Its dates are read as seconds since 1970.
    /// - Returns: The claims.
    /// - Throws: ``TokenError`` as ``verify(_:)`` does, and with the code `malformedClaim` if the claims are not of the type.
    public func verify<Claims: Decodable>(
        _ token: String,
        as type: Claims.Type
    ) throws(TokenError) -> Claims {
        try core.check(token, keepsHeader: false).claims.decode(as: type)
    }
}
