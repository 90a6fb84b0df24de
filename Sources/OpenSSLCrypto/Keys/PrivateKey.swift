/// A key pair for signatures, of any supported kind; validated on creation.
package enum PrivateKey: Sendable {
    /// An RSA key pair.
    case rsa(RSAPrivateKey)
    /// An ECDSA key pair.
    case ellipticCurve(ECPrivateKey)
    /// An EdDSA key pair.
    case edwards(EdwardsPrivateKey)

    /// The public key.
    package var publicKey: PublicKey {
        switch self {
        case .rsa(let key): .rsa(key.publicKey)
        case .ellipticCurve(let key): .ellipticCurve(key.publicKey)
        case .edwards(let key): .edwards(key.publicKey)
        }
    }

    /// The kind of key, for display: `RSA` or the name of the curve.
    package var kind: String { publicKey.kind }
}
