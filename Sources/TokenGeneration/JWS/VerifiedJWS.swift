public import FoundationEssentials

/// A JWS that a ``JWSVerifier`` has verified.
///
/// Only a verifier creates one.
public struct VerifiedJWS: Sendable {
    /// A valid signature.
    public struct Signature: Sendable {
        /// The index of the signature in the JSON serialization, from 0.
        public let index: Int
        /// The header that the signature covers.
        public let protectedHeader: JSONObject
        /// The header that the signature doesn't cover: anyone can have changed it.
        public let unprotectedHeader: JSONObject
        /// The key that made the signature.
        public let key: VerificationKey
    }

    /// A signature that isn't valid.
    public struct Refusal: Sendable {
        /// The index of the signature in the JSON serialization, from 0.
        public let index: Int
        /// The reason why the signature isn't valid.
        public let reason: TokenError
    }

    /// The payload's bytes.
    public let payload: Data
    /// The encoding of the payload in the signing input.
    public let payloadEncoding: JWSPayloadEncoding
    /// The valid signatures in order, at least one.
    public let signatures: [Signature]
    /// The other signatures in order.
    public let refusals: [Refusal]

    /// The protected header of the first valid signature, which is the only one in a compact JWS.
    public var header: JSONObject { signatures[0].protectedHeader }
}

/// The content of a JWS, without any proof that it's authentic.
///
/// Anyone can write any JWS. Use this type only to inspect one, for example to find out which keys
/// to fetch. To make decisions, use ``JWSVerifier``.
public struct UnverifiedJWS: Sendable {
    /// The headers of a signature, as the unknown author of the JWS wrote them.
    public struct Signature: Sendable {
        /// The header that the signature covers, if it's valid.
        public let unverifiedProtectedHeader: JSONObject
        /// The header that no signature covers.
        public let unprotectedHeader: JSONObject
    }

    /// The payload, as the unknown author of the JWS wrote it, or `nil` if it's detached.
    public let unverifiedPayload: Data?
    /// The headers of the signatures in order, at least one.
    public let unverifiedSignatures: [Signature]

    /// Parses a compact JWS.
    ///
    /// The signature can be any base64url text, including an empty one. An empty second segment
    /// counts as a detached payload.
    ///
    /// - Parameters:
    ///   - compact: The compact JWS.
    ///   - limits: The maximum size of the JWS.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(compact: String, limits: JWSLimits = JWSLimits()) throws(TokenError) {
        let token = try CompactToken(compact, limits: limits)
        let header = try token.header()
        let encoding = try JWSPayloadEncoding(header.members)
        unverifiedPayload = token.hasEmptyPayload ? nil : Data(try token.payload(encoding))
        unverifiedSignatures = [Signature(unverifiedProtectedHeader: header.members, unprotectedHeader: [:])]
        _ = try token.signature()
    }

    /// Parses a general or flattened JSON serialization.
    ///
    /// - Parameters:
    ///   - json: The JSON text.
    ///   - limits: The maximum size of the JWS.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(json: String, limits: JWSLimits = JWSLimits()) throws(TokenError) {
        try self.init(JSONToken(Array(json.utf8), limits: limits))
    }

    /// Parses a general or flattened JSON serialization in UTF-8.
    ///
    /// - Parameters:
    ///   - json: The JSON text in UTF-8.
    ///   - limits: The maximum size of the JWS.
    /// - Throws: ``TokenError`` with the code `malformedToken` or `tooLarge`.
    public init(json: Data, limits: JWSLimits = JWSLimits()) throws(TokenError) {
        try self.init(JSONToken(Array(json), limits: limits))
    }

    init(_ token: JSONToken) throws(TokenError) {
        unverifiedPayload = try token.payloadOctets().map { Data($0) }
        unverifiedSignatures = token.signatures.map { signature in
            Signature(
                unverifiedProtectedHeader: signature.protectedHeader,
                unprotectedHeader: signature.unprotectedHeader
            )
        }
    }
}
