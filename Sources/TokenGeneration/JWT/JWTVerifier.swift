/// A verifier of tokens: it verifies the signature with a key or a key set, then validates the
/// claims against a policy.
///
/// ```swift
/// let verifier = JWTVerifier(
///     key: key,
///     policy: ValidationPolicy(issuer: "https://id.example", audience: "orders")
/// )
/// let claims = try verifier.verify(token, as: OrderClaims.self)
/// ```
///
/// The keys fix the algorithm; nothing in the token can change it. `alg` in the header must be the
/// key's algorithm. Keys and URLs in the header (`jwk`, `jku`, `x5c`, `x5u`) are ignored. A header
/// that requires an extension (`crit`) is rejected, because none is supported. Duplicate members,
/// noncanonical base64url, and sizes beyond the limits are also rejected.
public struct JWTVerifier: Sendable {
    let core: TokenCheck

    /// Creates a verifier for one key.
    ///
    /// A `kid` in the header is ignored; the signature is conclusive.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - policy: The policy for accepted tokens.
    public init(key: VerificationKey, policy: ValidationPolicy = ValidationPolicy()) {
        core = TokenCheck(.list([key]), policy)
    }

    /// Creates a verifier for a key set.
    ///
    /// A token's `kid` selects the key, which must be for signatures and for the token's algorithm.
    /// An unknown `kid` is an error. A token without `kid` is accepted if exactly one key is for
    /// its algorithm. Symmetric keys and keys that this version can't use are ignored.
    ///
    /// - Parameters:
    ///   - keys: The keys. Private parts aren't needed and aren't kept.
    ///   - selection: Exceptions from these rules.
    ///   - policy: The policy for accepted tokens.
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
    /// - Returns: The verified token.
    /// - Throws: ``TokenError`` with the code of the first check that fails: `malformedToken` or
    ///   `tooLarge`; `criticalHeaderUnsupported`, `algorithmMismatch`, `unknownKey`,
    ///   `ambiguousKey`, or the code for a problem with the matching key; `signatureInvalid`; then
    ///   the policy's `typeMismatch`, `malformedClaim`, `missingClaim`, `expired`, `notYetValid`,
    ///   `issuedInFuture`, `tooOld`, `lifetimeTooLong`, `prohibitedClaim`, `issuerMismatch`,
    ///   `subjectMismatch`, `audienceMismatch`, `checkFailed` or the code of a custom check.
    public func verify(_ token: String) throws(TokenError) -> VerifiedToken {
        try core.check(token, keepsHeader: true)
    }

    /// Verifies a token against another policy, with the same keys.
    ///
    /// The policy may depend on the token's request. The keys don't, and are prepared once.
    package func verify(_ token: String, against policy: ValidationPolicy) throws(TokenError) -> VerifiedToken {
        try core.against(policy).check(token, keepsHeader: true)
    }

    /// Verifies a token and decodes its claims.
    ///
    /// - Parameters:
    ///   - token: A compact JWS.
    ///   - type: The type to decode. Its dates are decoded from seconds since 1970.
    /// - Returns: The claims.
    /// - Throws: ``TokenError`` as ``verify(_:)`` does, and with the code `malformedClaim` if the
    ///   claims don't match the type.
    public func verify<Claims: Decodable>(
        _ token: String,
        as type: Claims.Type
    ) throws(TokenError) -> Claims {
        try core.check(token, keepsHeader: false).claims.decode(as: type)
    }
}
