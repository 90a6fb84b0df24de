public import FoundationEssentials

/// A token that a ``JWTVerifier`` has verified.
///
/// Only a verifier creates one.
public struct VerifiedToken: Sendable {
    /// The header.
    public let header: JSONObject
    /// All claims.
    public let claims: JSONObject
    /// The registered claims with their types.
    public let registered: RegisteredClaims

    let payloadBytes: [UInt8]

    /// The signed claims, byte for byte.
    public var payload: Data { Data(payloadBytes) }

    /// Decodes the claims.
    ///
    /// Dates are decoded from seconds since 1970.
    ///
    /// - Parameter type: The type to decode.
    /// - Returns: The claims.
    /// - Throws: ``TokenError`` with the code `malformedClaim`, whose cause is the type's own
    ///   error.
    public func decode<Claims: Decodable>(as type: Claims.Type = Claims.self) throws(TokenError) -> Claims {
        try claims.decode(as: type)
    }
}

/// The content of a token, without any proof that it's authentic.
///
/// Anyone can write any token. Use this type only to inspect one, for example in a log or to find
/// out which issuer's keys to fetch. To make decisions, use ``JWTVerifier``.
public struct UnverifiedToken: Sendable {
    /// The header, as the unknown author of the token wrote it.
    public let unverifiedHeader: JSONObject
    /// The claims, as the unknown author of the token wrote them.
    public let unverifiedClaims: JSONObject

    /// Parses a compact token.
    ///
    /// The signature can be any base64url text, including an empty one.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - maximumSize: The maximum size of the token in bytes. The default is 64 KiB.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(_ token: String, maximumSize: Int = 65_536) throws(TokenError) {
        let token = try CompactToken(token, limits: JWSLimits(size: maximumSize))
        unverifiedHeader = try token.header().members
        unverifiedClaims = try token.claims(in: token.payload())
        _ = try token.signature()
    }
}
