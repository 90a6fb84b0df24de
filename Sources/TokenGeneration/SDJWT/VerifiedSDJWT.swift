public import Foundation

/// A presented SD-JWT that an ``SDJWTVerifier`` has verified.
///
/// Only a verifier creates one.
public struct VerifiedSDJWT: Sendable {
    /// A verified key binding: a proof that the presenter has the holder's key.
    public struct KeyBinding: Sendable {
        /// The holder's key, from the claim `cnf`.
        public let key: VerificationKey
        /// The time at which the key binding was made.
        public let issuedAt: Date
        /// All claims of the key binding.
        public let claims: JSONObject
    }

    /// The header of the issuer-signed JWT.
    public let header: JSONObject
    /// The claims: those that the issuer made visible, and those that the holder disclosed.
    public let claims: JSONObject
    /// The registered claims with their types.
    public let registered: RegisteredClaims
    /// The paths of the claims that the holder disclosed.
    public let disclosedPaths: [ClaimPath]
    /// The key binding, or `nil` if the verifier doesn't require one.
    public let keyBinding: KeyBinding?
}
