public import Foundation

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

    private let payloadBytes: [UInt8]

    init(header: JSONObject, claims: JSONObject, registered: RegisteredClaims, payload: [UInt8]) {
        self.header = header
        self.claims = claims
        self.registered = registered
        payloadBytes = payload
    }

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
