internal import OpenSSLCrypto

/// An access token that a request came with, and the key it is bound to
/// ([RFC 9449 §6](https://www.rfc-editor.org/rfc/rfc9449#section-6)).
public struct DPoPAccessToken: Sendable {
    /// The thumbprint of the key that the token is bound to.
    public let thumbprint: String

    let hash: String

    /// Makes one of an access token that a ``JWTVerifier`` has found good.
    ///
    /// - Parameters:
    ///   - text: The token as it stands in the request's `Authorization` header, without `DPoP`.
    ///   - verified: The same token, verified. Its `cnf.jkt` says which key it is bound to.
    /// - Throws: ``TokenError`` with the code `confirmationMismatch` if the token is not bound to a key, `malformedClaim` if
    ///   `cnf` is not well formed, `signingFailed` if no hash could be computed.
    public init(_ text: String, verified: VerifiedToken) throws(TokenError) {
        guard let confirmation = verified.claims["cnf"] else {
            throw TokenError(.confirmationMismatch, "the access token is not bound to a key: it has no “cnf”")
        }
        guard let members = confirmation.object else {
            throw TokenError(.malformedClaim, "the claim “cnf” must be an object, not \(confirmation.kind)")
        }
        guard let thumbprint = try members.stringClaim("jkt") else {
            throw TokenError(
                .confirmationMismatch,
                "the access token is not bound to a DPoP key: its “cnf” has no “jkt”"
            )
        }
        try self.init(text, thumbprint: thumbprint)
    }

    /// Makes one of an access token whose key is known otherwise, as from introspection.
    ///
    /// - Parameters:
    ///   - text: The token as it stands in the request's `Authorization` header, without `DPoP`.
    ///   - thumbprint: The thumbprint of the key that the token is bound to, `cnf.jkt`.
    /// - Throws: ``TokenError`` with the code `signingFailed` if no hash could be computed.
    public init(_ text: String, thumbprint: String) throws(TokenError) {
        self.thumbprint = thumbprint
        hash = try Self.hash(of: text)
    }

    /// SHA-256 in base64url, as in `ath`.
    static func hash(of text: String) throws(TokenError) -> String {
        do throws(CryptoError) {
            return Base64URL.encode(
                try Array(text.utf8).withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
            )
        } catch {
            throw TokenError(.signingFailed, "the hash could not be computed: \(error.message)", cause: error)
        }
    }
}
