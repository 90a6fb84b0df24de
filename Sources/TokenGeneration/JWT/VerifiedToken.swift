public import Foundation

/// A token whose signature and claims a ``JWTVerifier`` has found good.
///
/// Only a verifier makes one.
public struct VerifiedToken: Sendable {
    /// The header.
    public let header: JSONObject
    /// All claims.
    public let claims: JSONObject
    /// The registered claims among them, with types.
    public let registered: RegisteredClaims

    private let payloadBytes: [UInt8]

    init(header: JSONObject, claims: JSONObject, registered: RegisteredClaims, payload: [UInt8]) {
        self.header = header
        self.claims = claims
        self.registered = registered
        payloadBytes = payload
    }

    /// The claims as they were signed, byte for byte.
    public var payload: Data { Data(payloadBytes) }

    /// Reads the claims into a type of yours.
    ///
    /// Its dates are read as seconds since 1970.
    ///
    /// - Parameter type: The type to read.
    /// - Returns: The claims.
    /// - Throws: ``TokenError`` with the code `malformedClaim`; its cause is the type's own error.
    public func decode<Claims: Decodable>(as type: Claims.Type = Claims.self) throws(TokenError) -> Claims {
        try claims.decode(as: type)
    }
}
