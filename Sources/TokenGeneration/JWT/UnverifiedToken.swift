/// What a token says, without any proof that it is true.
///
/// Anyone can write any token. Use this to look at one, for example in a log or to find out which issuer's keys to fetch;
/// decide nothing on it. ``JWTVerifier`` is for deciding.
public struct UnverifiedToken: Sendable {
    /// The header, as whoever wrote the token wants it to be.
    public let unverifiedHeader: JSONObject
    /// The claims, as whoever wrote the token wants them to be.
    public let unverifiedClaims: JSONObject

    /// Takes a compact token apart.
    ///
    /// Its signature may be anything that is base64url, nothing too.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - maximumSize: The most bytes that the token may have.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(_ token: String, maximumSize: Int = 65_536) throws(TokenError) {
        let token = try CompactToken(token, limits: JWSLimits(size: maximumSize))
        unverifiedHeader = try token.header().members
        unverifiedClaims = try token.claims(in: token.payload())
        _ = try token.signature()
    }
}
