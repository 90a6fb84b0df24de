/// A service that signs bytes without copying them into `Data`.
package protocol InPlaceSigningService: SigningService {
    /// Signs a message, as ``SigningService/sign(data:)`` does.
    func signature(for message: RawSpan) throws(TokenError) -> [UInt8]

    /// Creates a compact JWS.
    ///
    /// - Parameters:
    ///   - header: The header in base64url, followed by a period. `nil` stands for a JWT header
    ///     with no members other than `alg`, `kid` and `typ`.
    ///   - payload: The payload's bytes.
    /// - Returns: The compact JWS.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    func token(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String
}

extension SigningService {
    /// Creates a compact JWS, if the service signs in place.
    ///
    /// - Parameters:
    ///   - header: The header, as for ``InPlaceSigningService/token(header:payload:)``.
    ///   - payload: The payload's bytes.
    /// - Returns: The compact JWS, or `nil` if the service doesn't sign in place.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    func tokenInPlace(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String? {
        try (self as? any InPlaceSigningService)?.token(header: header, payload: payload)
    }
}
