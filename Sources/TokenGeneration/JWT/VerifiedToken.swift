internal import Foundation

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

    private let payload: [UInt8]

    init(header: JSONObject, claims: JSONObject, registered: RegisteredClaims, payload: [UInt8]) {
        self.header = header
        self.claims = claims
        self.registered = registered
        self.payload = payload
    }

    /// Reads the claims into a type of yours.
    ///
    /// Its dates are read as seconds since 1970.
    ///
    /// - Parameter type: The type to read.
    /// - Returns: The claims.
    /// - Throws: ``TokenError`` with the code `malformedClaim`; its cause is the type's own error.
    public func decode<Claims: Decodable>(as type: Claims.Type = Claims.self) throws(TokenError) -> Claims {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .secondsSince1970
        do {
            return try decoder.decode(type, from: Data(payload))
        } catch {
            throw TokenError(.malformedClaim, "the claims are not a \(type)\(Self.place(of: error))", cause: error)
        }
    }

    private static func place(of error: any Error) -> String {
        let (reason, path): (String, [any CodingKey]) =
            switch error {
            case DecodingError.keyNotFound(let key, let context): ("is missing", context.codingPath + [key])
            case DecodingError.typeMismatch(_, let context): ("has another type", context.codingPath)
            case DecodingError.valueNotFound(_, let context): ("is null", context.codingPath)
            case DecodingError.dataCorrupted(let context): ("is not well formed", context.codingPath)
            default: ("", [])
            }
        guard !path.isEmpty else { return "" }
        let name = path.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
        return ": \(TokenError.shown(name)) \(reason)"
    }
}
