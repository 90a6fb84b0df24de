/// A key pair of any supported kind; validated on creation.
package enum PrivateKey: Sendable {
    /// An RSA key pair.
    case rsa(RSAPrivateKey)
    /// A key pair on a NIST curve or secp256k1, for ECDSA and ECDH.
    case ellipticCurve(ECPrivateKey)
    /// An EdDSA key pair.
    case edwards(EdwardsPrivateKey)
    /// A key pair for key agreement with X25519 or X448.
    case montgomery(MontgomeryPrivateKey)
    /// An ML-DSA key pair.
    case mldsa(MLDSAPrivateKey)

    /// The public key.
    package var publicKey: PublicKey {
        switch self {
        case .rsa(let key): .rsa(key.publicKey)
        case .ellipticCurve(let key): .ellipticCurve(key.publicKey)
        case .edwards(let key): .edwards(key.publicKey)
        case .montgomery(let key): .montgomery(key.publicKey)
        case .mldsa(let key): .mldsa(key.publicKey)
        }
    }

    /// The kind of key, for display: `RSA` or the name of the curve.
    package var kind: String { publicKey.kind }
}
