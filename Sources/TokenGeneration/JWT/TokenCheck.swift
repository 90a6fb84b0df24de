/// The implementation of a ``JWTVerifier``, with its state.
///
/// It's a class, so that verifying threads share one reference instead of the reference counts of
/// everything in a policy.
final class TokenCheck: Sendable {
    private let keys: VerificationKeySource
    /// The policy for tokens that don't have their own.
    let policy: ValidationPolicy
    private let knownHeaders: KnownHeaders

    init(
        _ keys: VerificationKeySource,
        _ policy: ValidationPolicy,
        knownHeaders: KnownHeaders = KnownHeaders()
    ) {
        self.keys = keys
        self.policy = policy
        self.knownHeaders = knownHeaders
    }

    /// Returns a check with the same keys and another policy.
    func against(_ policy: ValidationPolicy) -> TokenCheck {
        TokenCheck(keys, policy, knownHeaders: knownHeaders)
    }

    /// Verifies a token, whose result has the header, shared between threads, only if it's kept.
    ///
    /// - Throws: ``TokenError`` as ``JWTVerifier/verify(_:)`` does.
    func check(_ text: String, keepsHeader: Bool) throws(TokenError) -> VerifiedToken {
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
        try policy.checkAlgorithm(of: header)
        let entry = KnownHeaders.Entry(header, try keys.keys(for: header), text: token.headerText)
        let place = try signer(of: token, entry)
        guard header.type.map(TypeRule.isSDJWT) != true else {
            throw TokenError(.typeMismatch, "the token is part of an SD-JWT; use SDJWTVerifier")
        }
        knownHeaders.keep(entry)
        return try check(token, header, entry.keys[place], keepsHeader)
    }

    /// Returns the index of the key that verifies the signature.
    private func signer(of token: CompactToken, _ entry: KnownHeaders.Entry) throws(TokenError) -> Int {
        guard let signer = try token.signer(among: entry.keys) else {
            throw TokenError(.signatureInvalid, "the signature doesn't verify with this key")
        }
        return signer
    }

    /// Validates the content of a token whose signature has been verified.
    private func check(
        _ token: CompactToken,
        _ header: ProtectedHeader,
        _ key: @autoclosure () -> VerificationKey,
        _ keepsHeader: Bool
    ) throws(TokenError) -> VerifiedToken {
        let payload = try token.payload()
        let claims = try token.claims(in: payload)
        let registered = try policy.check(header, claims, signedBy: key(), at: policy.currentDate())
        return VerifiedToken(
            header: keepsHeader ? header.members : [:],
            claims: claims,
            registered: registered,
            payload: payload
        )
    }
}
