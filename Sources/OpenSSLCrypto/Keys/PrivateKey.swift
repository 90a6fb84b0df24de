/// A key pair for signatures, of any kind that is supported; checked when it is made.
package enum PrivateKey: Sendable {
    /// An RSA key pair.
    case rsa(RSAPrivateKey)
    /// A key pair on a curve for ECDSA.
    case ellipticCurve(ECPrivateKey)
    /// A key pair on a curve for EdDSA.
    case edwards(EdwardsPrivateKey)

    /// The public key.
    package var publicKey: PublicKey {
        switch self {
        case .rsa(let key): .rsa(key.publicKey)
        case .ellipticCurve(let key): .ellipticCurve(key.publicKey)
        case .edwards(let key): .edwards(key.publicKey)
        }
    }

    /// What kind of key it is, to show: `RSA`, or the name of the curve.
    package var kind: String { publicKey.kind }
}
