/// The access token of a request, and the key that it is bound to
/// ([RFC 9449 §6](https://www.rfc-editor.org/rfc/rfc9449#section-6)).
public struct DPoPAccessToken: Sendable {
    /// The thumbprint of the key that the token is bound to.
    let thumbprint: String
    let hash: String

    /// Creates a value from an access token that a ``JWTVerifier`` has verified.
    ///
    /// - Parameters:
    ///   - text: The token from the request's `Authorization` header, without the `DPoP` scheme.
    ///   - verified: The same token, verified. Its `cnf.jkt` names the key that it is bound to.
    /// - Throws: ``TokenError`` with the code `confirmationMismatch` if the token isn't bound to a
    ///   key, `malformedClaim` if `cnf` is malformed, `signingFailed` if the hash can't be
    ///   computed.
    public init(_ text: String, verified: VerifiedToken) throws(TokenError) {
        guard let confirmation = verified.claims["cnf"] else {
            throw TokenError(.confirmationMismatch, "the access token isn't bound to a key: it has no “cnf”")
        }
        guard let members = confirmation.object else {
            throw TokenError(.malformedClaim, "the claim “cnf” must be an object, not \(confirmation.kind)")
        }
        guard let thumbprint = try members.stringClaim("jkt") else {
            throw TokenError(
                .confirmationMismatch,
                "the access token isn't bound to a DPoP key: its “cnf” has no “jkt”"
            )
        }
        try self.init(text, thumbprint: thumbprint)
    }

    /// Creates a value from an access token whose key is known from another source, such as
    /// introspection.
    ///
    /// - Parameters:
    ///   - text: The token from the request's `Authorization` header, without the `DPoP` scheme.
    ///   - thumbprint: The thumbprint of the key that the token is bound to, `cnf.jkt`.
    /// - Throws: ``TokenError`` with the code `signingFailed` if the hash can't be computed.
    public init(_ text: String, thumbprint: String) throws(TokenError) {
        self.thumbprint = thumbprint
        hash = try Self.hash(of: text)
    }

    /// Returns the SHA-256 hash of a text in base64url, as in `ath`.
    static func hash(of text: String) throws(TokenError) -> String {
        try NamedHash.sha256.digest(of: Array(text.utf8), failure: .signingFailed)
    }
}
