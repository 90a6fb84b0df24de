/// A token without a signature (`alg` is `none`, [RFC 7519 §6](https://www.rfc-editor.org/rfc/rfc7519#section-6)): claims that
/// anybody can have written.
///
/// It exists for protocols that protect tokens otherwise, and for tests. It is never the result of a verification, and no
/// verifier of this package accepts one.
///
/// - Warning: Decide nothing on what an unsecured token says.
public struct UnsecuredToken: Sendable {
    /// The header, which anybody can have written.
    public let unsecuredHeader: JSONObject
    /// The claims, which anybody can have written.
    public let unsecuredClaims: JSONObject

    /// Makes a token of claims.
    ///
    /// - Parameter claims: The claims.
    public init(claims: JSONObject) {
        unsecuredHeader = ["alg": "none", "typ": "JWT"]
        unsecuredClaims = claims
    }

    /// Reads a token that has no signature, and is not meant to have one.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - maximumSize: The most bytes that the token may have.
    /// - Throws: ``TokenError`` with the code `malformedToken`, `tooLarge` or `criticalHeaderUnsupported`; `algorithmMismatch` if
    ///   its `alg` is not `none`, exactly; `signatureInvalid` if there is a signature all the same.
    public init(unsecured token: String, maximumSize: Int = 65_536) throws(TokenError) {
        let token = try CompactToken(token, limits: JWSLimits(size: maximumSize))
        let header = try token.header()
        guard header.algorithm.isExactly("none") else {
            throw TokenError(
                .algorithmMismatch,
                "“alg” of the header is \(TokenError.shown(header.algorithm)): only “none” says that a token is unsecured"
            )
        }
        try header.checkCriticalMembers()
        guard try token.signature().isEmpty else {
            throw TokenError(.signatureInvalid, "the token says that it is unsecured, and has a signature")
        }
        unsecuredHeader = header.members
        unsecuredClaims = try token.claims(in: token.payload())
    }

    /// The token, whose last segment is empty.
    ///
    /// - Returns: The text.
    public func serialized() -> String {
        let header = Base64URL.encode(unsecuredHeader.serializedBytes())
        return header + "." + Base64URL.encode(unsecuredClaims.serializedBytes()) + "."
    }
}
