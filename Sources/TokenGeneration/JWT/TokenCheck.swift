/// The implementation of a ``JWTVerifier``, with its state.
///
/// It's a class, so that verifying threads share one reference instead of the reference counts of
/// everything in a policy.
final class TokenCheck: Sendable {
    private let keys: VerificationKeySource
    private let policy: ValidationPolicy
    private let knownHeaders = KnownHeaders()

    init(_ keys: VerificationKeySource, _ policy: ValidationPolicy) {
        self.keys = keys
        self.policy = policy
    }

    /// Verifies a token.
    ///
    /// - Parameters:
    ///   - text: The token.
    ///   - keepsHeader: A Boolean value that indicates whether the result needs the header, which
    ///     is shared between threads.
    ///   - policy: The policy for the token, or `nil` for the verifier's own policy.
    /// - Returns: The verified token.
    /// - Throws: ``TokenError`` as ``JWTVerifier/verify(_:)`` does.
    func check(
        _ text: String,
        keepsHeader: Bool,
        against policy: ValidationPolicy? = nil
    ) throws(TokenError) -> VerifiedToken {
        let policy = policy ?? self.policy
        let token = try CompactToken(text, limits: policy.limits)
        let known = knownHeaders.withEntry(for: token) { entry in
            Result { () throws(TokenError) in
                let place = try signer(of: token, entry)
                return try check(token, entry.header, entry.keys[place], keepsHeader, policy)
            }
        }
        if let known { return try known.get() }
        let header = try token.header()
        try header.checkCriticalMembers()
        let entry = KnownHeaders.Entry(header, try keys.keys(for: header), text: token.headerText)
        let place = try signer(of: token, entry)
        guard header.type.map(TypeRule.isSDJWT) != true else {
            throw TokenError(.typeMismatch, "the token is part of an SD-JWT; use SDJWTVerifier")
        }
        knownHeaders.keep(entry)
        return try check(token, header, entry.keys[place], keepsHeader, policy)
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
        _ keepsHeader: Bool,
        _ policy: ValidationPolicy
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
