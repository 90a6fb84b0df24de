/// A token without a signature, whose claims anyone can have written.
///
/// Its `alg` is `none` ([RFC 7519 §6](https://www.rfc-editor.org/rfc/rfc7519#section-6)). It's
/// meant for tests and for protocols that protect tokens by other means. It's never the result of a
/// verification, and the verifiers of this package reject it.
///
/// - Warning: Don't base any decision on the content of an unsecured token.
public struct UnsecuredToken: Sendable {
    /// The header, which anyone can have written.
    public let unsecuredHeader: JSONObject
    /// The claims, which anyone can have written.
    public let unsecuredClaims: JSONObject

    /// Creates a token from claims.
    ///
    /// - Parameter claims: The claims.
    public init(claims: JSONObject) {
        unsecuredHeader = ["alg": "none", "typ": "JWT"]
        unsecuredClaims = claims
    }

    /// Parses a token that deliberately has no signature.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - maximumSize: The maximum size of the token in bytes. The default is 64 KiB.
    /// - Throws: ``TokenError`` with the code `malformedToken`, `tooLarge` or
    ///   `criticalHeaderUnsupported`; `algorithmMismatch` if `alg` isn't exactly `none`;
    ///   `signatureInvalid` if the token has a signature.
    public init(unsecured token: String, maximumSize: Int = 65_536) throws(TokenError) {
        let token = try CompactToken(token, limits: JWSLimits(size: maximumSize))
        let header = try token.header()
        guard header.algorithm.isExactly("none") else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(TokenError.shown(header.algorithm)), but an unsecured token has “none”"
            )
        }
        try header.checkCriticalMembers()
        guard try token.signature().isEmpty else {
            throw TokenError(.signatureInvalid, "the token's “alg” is “none”, but the token has a signature")
        }
        unsecuredHeader = header.members
        unsecuredClaims = try token.claims(in: token.payload())
    }

    /// Returns the token, whose last segment is empty.
    ///
    /// - Returns: The compact token.
    public func serialized() -> String {
        let header = Base64URL.encode(unsecuredHeader.serializedBytes())
        return header + "." + Base64URL.encode(unsecuredClaims.serializedBytes()) + "."
    }
}
