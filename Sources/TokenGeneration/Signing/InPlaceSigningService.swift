/// A service that signs bytes where they are, without a copy into `Data`.
package protocol InPlaceSigningService: SigningService {
    /// Signs, as ``SigningService/sign(data:)`` does.
    func signature(for message: RawSpan) throws(TokenError) -> [UInt8]

    /// Makes a compact JWS.
    ///
    /// - Parameters:
    ///   - header: The header in base64url, with the period that comes after it; `nil` for that of a JWT which has no other
    ///     members than `alg`, `kid` and `typ`.
    ///   - payload: The payload's octets.
    /// - Returns: The text.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    func token(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String
}

extension SigningService {
    /// Makes a compact JWS, if the service signs in place.
    ///
    /// - Parameters:
    ///   - header: The header, as for ``InPlaceSigningService/token(header:payload:)``.
    ///   - payload: The payload's octets.
    /// - Returns: The text, or `nil` if the service does not sign in place.
    /// - Throws: ``TokenError`` with the code `signingFailed`.
    func tokenInPlace(header: [UInt8]?, payload: [UInt8]) throws(TokenError) -> String? {
        try (self as? any InPlaceSigningService)?.token(header: header, payload: payload)
    }
}
