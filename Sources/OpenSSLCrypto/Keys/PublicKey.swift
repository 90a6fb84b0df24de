/// A public key for signatures, of any kind that is supported; checked when it is made.
package enum PublicKey: Sendable, Equatable {
    /// An RSA key.
    case rsa(RSAPublicKey)
    /// A key on a curve for ECDSA.
    case ellipticCurve(ECPublicKey)
    /// A key on a curve for EdDSA.
    case edwards(EdwardsPublicKey)

    /// What kind of key it is, to show: `RSA`, or the name of the curve.
    package var kind: String {
        switch self {
        case .rsa: "RSA"
        case .ellipticCurve(let key): key.curve.name
        case .edwards(let key): key.curve.name
        }
    }
}
