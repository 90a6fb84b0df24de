/// A public key of any supported kind; validated on creation.
package enum PublicKey: Sendable, Equatable {
    /// An RSA key.
    case rsa(RSAPublicKey)
    /// A key on a NIST curve or secp256k1, for ECDSA and ECDH.
    case ellipticCurve(ECPublicKey)
    /// An EdDSA key.
    case edwards(EdwardsPublicKey)
    /// A key for key agreement with X25519 or X448.
    case montgomery(MontgomeryPublicKey)
    /// An ML-DSA key.
    case mldsa(MLDSAPublicKey)

    /// The kind of key, for display: `RSA`, or the name of the curve or parameter set.
    package var kind: String {
        switch self {
        case .rsa: "RSA"
        case .ellipticCurve(let key): key.curve.name
        case .edwards(let key): key.curve.name
        case .montgomery(let key): key.curve.name
        case .mldsa(let key): key.parameters.name
        }
    }
}
