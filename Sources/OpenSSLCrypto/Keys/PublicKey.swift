/// A public key for signatures, of any supported kind; validated on creation.
package enum PublicKey: Sendable, Equatable {
    /// An RSA key.
    case rsa(RSAPublicKey)
    /// An ECDSA key.
    case ellipticCurve(ECPublicKey)
    /// An EdDSA key.
    case edwards(EdwardsPublicKey)

    /// The kind of key, for display: `RSA` or the name of the curve.
    package var kind: String {
        switch self {
        case .rsa: "RSA"
        case .ellipticCurve(let key): key.curve.name
        case .edwards(let key): key.curve.name
        }
    }
}
