public import Foundation

/// A JWE that a ``JWEDecrypter`` or a ``RemoteDecryptionService`` has decrypted.
///
/// Only a decrypter creates one. The content is intact, but nothing proves who made it, unless only
/// you and a known sender have the key.
public struct DecryptedJWE: Sendable {
    /// The content.
    public let plaintext: Data
    /// The protected header.
    public let header: JSONObject
    /// The members of the unprotected headers for the decrypted recipient, which anyone can have
    /// changed.
    ///
    /// It's empty for a compact JWE.
    public let unprotectedHeader: JSONObject
    /// The algorithm that protected the content key.
    public let algorithm: JWEAlgorithm
    /// The algorithm that protected the content.
    public let encryption: JWEEncryption
    /// The index of the recipient whose key decrypted the content, from 0.
    public let recipientIndex: Int
    /// The ID of the key that decrypted the content, or `nil` if the key has none.
    public let keyID: String?
    /// The additional data, which the JWE authenticates but doesn't encrypt, or `nil`.
    public let additionalData: Data?

    /// The information about the sender that a key agreement used, `apu`, or `nil`.
    public var partyUInfo: Data? { partyInfo("apu") }
    /// The information about the recipient that a key agreement used, `apv`, or `nil`.
    public var partyVInfo: Data? { partyInfo("apv") }

    private func partyInfo(_ name: String) -> Data? {
        guard algorithm.details.keyTypes.contains(.ec) else { return nil }
        let text = header[name]?.string ?? unprotectedHeader[name]?.string
        return text.flatMap { try? Base64URL.decode($0) }.map { Data($0) }
    }

    /// Returns the claims of a token that isn't signed, after validating them.
    ///
    /// - Warning: Nothing proves who made the claims, unless only you and a known sender have the
    ///   key. If they must come from an issuer, require a signed token inside, with
    ///   ``JWTVerifier/verify(encrypted:with:)``.
    ///
    /// - Parameter policy: The requirements for the type and the claims. Its custom checks can't
    ///   use the key of a signature, as those of ``ValidationPolicy`` for ID tokens do.
    /// - Returns: The claims.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`, or the policy's codes
    ///   as ``JWTVerifier/verify(_:)`` does.
    public func unauthenticatedClaims(policy: ValidationPolicy) throws(TokenError) -> JSONObject {
        if let content = header["cty"]?.string {
            throw TokenError(
                .typeMismatch,
                "“cty” of the header is \(TokenError.shown(content)), so the content isn't a claims set"
            )
        }
        let claims = try JSONToken.object(in: Array(plaintext), policy.limits.document, "content")
        let header = try ProtectedHeader(header, algorithm: algorithm.rawValue)
        _ = try policy.check(header, claims, signedBy: nil, at: policy.currentDate())
        return claims
    }
}
