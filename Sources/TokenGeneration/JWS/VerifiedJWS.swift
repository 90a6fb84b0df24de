public import Foundation

/// A JWS whose signature, or enough of whose signatures, a ``JWSVerifier`` has found good.
///
/// Only a verifier makes one.
public struct VerifiedJWS: Sendable {
    /// A signature that is good.
    public struct Signature: Sendable {
        /// Its place in the JSON serialization, from 0.
        public let index: Int
        /// The header that it covers.
        public let protectedHeader: JSONObject
        /// The header that it does not cover: anybody can have changed it.
        public let unprotectedHeader: JSONObject
        /// The key that made it.
        public let key: VerificationKey
    }

    /// A signature that is not good.
    public struct Refusal: Sendable {
        /// Its place in the JSON serialization, from 0.
        public let index: Int
        /// Why it is not good.
        public let reason: TokenError
    }

    /// The payload's octets.
    public let payload: Data
    /// How the payload stands under the signatures.
    public let payloadEncoding: JWSPayloadEncoding
    /// The protected header of the first good signature; a compact JWS has no other.
    public let header: JSONObject
    /// The good signatures in order, at least one.
    public let signatures: [Signature]
    /// The other signatures in order.
    public let refusals: [Refusal]

    init(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding,
        first: Signature,
        others: [Signature] = [],
        refusals: [Refusal] = []
    ) {
        self.payload = payload
        self.payloadEncoding = payloadEncoding
        header = first.protectedHeader
        signatures = [first] + others
        self.refusals = refusals
    }
}
