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
    private let keys: VerificationKeySource
    private let policy: ValidationPolicy
    private let knownHeaders = KnownHeaders()

    /// Makes a verifier for one key.
    ///
    /// A `kid` in the header does not matter: the signature tells.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - policy: What a token must say to be accepted.
    public init(key: VerificationKey, policy: ValidationPolicy = ValidationPolicy()) {
        keys = .list([key])
        self.policy = policy
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
        self.keys = .set(KeySelector(keys, selection))
        self.policy = policy
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
        try check(token, keepsHeader: true)
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
        try check(token, keepsHeader: false).claims.decode(as: type)
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - keepsHeader: Whether the result needs the header, which all threads that verify such tokens share.
    /// - Returns: What the token says.
    /// - Throws: ``TokenError`` as ``verify(_:)`` does.
    private func check(_ text: String, keepsHeader: Bool) throws(TokenError) -> VerifiedToken {
        let token = try CompactToken(text, limits: policy.limits)
        let known = knownHeaders.withEntry(for: token) { entry in
            Result { () throws(TokenError) in
                let place = try signer(of: token, entry)
                return try check(token, entry.header, entry.keys[place], keepsHeader)
            }
        }
        if let known { return try known.get() }
        let header = try token.header()
        try header.checkCriticalMembers()
        let entry = KnownHeaders.Entry(header, try keys.keys(for: header), text: token.headerText)
        let place = try signer(of: token, entry)
        knownHeaders.keep(entry)
        return try check(token, header, entry.keys[place], keepsHeader)
    }

    /// The place among an entry's keys of the one that signed.
    private func signer(of token: CompactToken, _ entry: KnownHeaders.Entry) throws(TokenError) -> Int {
        guard let signer = try token.signer(among: entry.keys) else {
            throw TokenError(.signatureInvalid, "the signature is not one by this key over this token")
        }
        return signer
    }

    /// Checks what a token says whose signature is good.
    private func check(
        _ token: CompactToken,
        _ header: ProtectedHeader,
        _ key: @autoclosure () -> VerificationKey,
        _ keepsHeader: Bool
    ) throws(TokenError) -> VerifiedToken {
        let payload = try token.payload()
        let claims = try token.claims(in: payload)
        let registered = try policy.check(header, claims, signedBy: key())
        return VerifiedToken(
            header: keepsHeader ? header.members : [:],
            claims: claims,
            registered: registered,
            payload: payload
        )
    }
}
