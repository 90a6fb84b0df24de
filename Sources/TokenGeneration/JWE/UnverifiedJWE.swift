/// The headers of a JWE, without its content and without any proof that they're authentic.
///
/// Anyone can write any JWE. Use this type only to inspect one, for example to find out which key
/// it needs. To make decisions, use ``JWEDecrypter``.
public struct UnverifiedJWE: Sendable {
    /// The protected header, as the unknown author of the JWE wrote it.
    public let unverifiedProtectedHeader: JSONObject
    /// The unprotected header that all recipients share.
    public let unprotectedHeader: JSONObject
    /// The unprotected headers of the recipients in order, at least one; empty objects in a compact
    /// JWE.
    public let recipientHeaders: [JSONObject]

    /// Parses a compact JWE.
    ///
    /// - Parameters:
    ///   - compact: The compact JWE.
    ///   - limits: The maximum size of the JWE.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(compact: String, limits: JWELimits = JWELimits()) throws(TokenError) {
        self.init(try EncryptedToken(compact: compact, limits: limits))
    }

    /// Parses a general or flattened JSON serialization.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - limits: The maximum size of the JWE.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(json: String, limits: JWELimits = JWELimits()) throws(TokenError) {
        self.init(try EncryptedToken(json: Array(json.utf8), limits: limits))
    }

    private init(_ token: EncryptedToken) {
        unverifiedProtectedHeader = token.protectedHeader
        unprotectedHeader = token.sharedHeader
        recipientHeaders = token.recipients.map(\.header)
    }
}
