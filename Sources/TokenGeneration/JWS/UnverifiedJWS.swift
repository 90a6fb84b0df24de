public import Foundation

/// What a JWS says, without any proof that it is true.
///
/// Anyone can write any JWS. Use this to look at one, for example to find out whose keys to fetch; decide nothing on it.
/// ``JWSVerifier`` is for deciding.
public struct UnverifiedJWS: Sendable {
    /// The headers of a signature, as whoever wrote the JWS wants them to be.
    public struct Signature: Sendable {
        /// The header that the signature, if it is good, covers.
        public let unverifiedProtectedHeader: JSONObject
        /// The header that no signature covers.
        public let unprotectedHeader: JSONObject
    }

    /// The payload, as whoever wrote the JWS wants it to be, or `nil` if it is detached.
    public let unverifiedPayload: Data?
    /// The signatures' headers in order, at least one.
    public let unverifiedSignatures: [Signature]

    /// Takes a compact JWS apart.
    ///
    /// Its signature may be anything that is base64url, nothing too. An empty second segment counts as a detached payload.
    ///
    /// - Parameters:
    ///   - compact: The compact JWS.
    ///   - limits: How large it may be.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(compact: String, limits: JWSLimits = JWSLimits()) throws(TokenError) {
        let token = try CompactToken(compact, limits: limits)
        let header = try token.header()
        let encoding = try JWSPayloadEncoding(header.members)
        unverifiedPayload = token.hasEmptyPayload ? nil : Data(try token.payload(encoding))
        unverifiedSignatures = [Signature(unverifiedProtectedHeader: header.members, unprotectedHeader: [:])]
        _ = try token.signature()
    }

    /// Takes a JSON serialization apart, general or flattened.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - limits: How large it may be.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(json: String, limits: JWSLimits = JWSLimits()) throws(TokenError) {
        try self.init(JSONToken(Array(json.utf8), limits: limits))
    }

    /// Takes a JSON serialization in UTF-8 apart, general or flattened.
    ///
    /// - Parameters:
    ///   - json: The JSON text in UTF-8.
    ///   - limits: How large it may be.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(json: Data, limits: JWSLimits = JWSLimits()) throws(TokenError) {
        try self.init(JSONToken(Array(json), limits: limits))
    }

    private init(_ token: JSONToken) throws(TokenError) {
        unverifiedPayload = try token.payloadOctets().map { Data($0) }
        unverifiedSignatures = token.signatures.map { signature in
            Signature(
                unverifiedProtectedHeader: signature.protectedHeader,
                unprotectedHeader: signature.unprotectedHeader
            )
        }
    }
}
