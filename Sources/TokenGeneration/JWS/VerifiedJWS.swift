public import Foundation

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
    /// The protected header of the first valid signature, which is the only one in a compact JWS.
    public let header: JSONObject
    /// The valid signatures in order, at least one.
    public let signatures: [Signature]
    /// The other signatures in order.
    public let refusals: [Refusal]

    init(
        payload: Data,
        payloadEncoding: JWSPayloadEncoding,
        signatures: [Signature],
        refusals: [Refusal] = []
    ) {
        self.payload = payload
        self.payloadEncoding = payloadEncoding
        header = signatures[0].protectedHeader
        self.signatures = signatures
        self.refusals = refusals
    }
}
