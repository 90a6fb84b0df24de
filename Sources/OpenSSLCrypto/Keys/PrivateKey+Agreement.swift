internal import COpenSSL

extension PrivateKey {
    /// Generates a key pair for key agreement on the curve of a public key; a kind without key
    /// agreement is a `wrongKeyType`.
    package static func ephemeral(for peer: PublicKey) throws(CryptoError) -> PrivateKey {
        switch peer {
        case .ellipticCurve(let key): .ellipticCurve(try .generate(key.curve))
        case .montgomery(let key): .montgomery(try .generate(key.curve))
        case .rsa, .edwards, .mldsa: throw CryptoError(.wrongKeyType, "\(peer.kind) keys have no key agreement")
        }
    }

    /// Computes the secret that two key pairs share (Diffie-Hellman), as ``SecretAgreement`` does.
    package func sharedSecret(with peer: PublicKey) throws(CryptoError) -> SecretBytes? {
        try SecretAgreement(self).secret(with: peer)
    }
}

/// A private key that's prepared to agree on secrets with other keys on its curve.
package struct SecretAgreement: Sendable {
    private let curve: String
    private let size: Int
    private let operation: EVPKeyOperation

    /// Prepares a key, which must be on an elliptic curve for key agreement; any other one is a
    /// `wrongKeyType`.
    package init(_ key: PrivateKey) throws(CryptoError) {
        switch key {
        case .ellipticCurve(let key):
            (curve, size) = (key.curve.name, key.curve.coordinateSize)
            operation = try EVPKeyOperation(.agreement, .keyAgreement, with: key.key)
        case .montgomery(let key):
            (curve, size) = (key.curve.name, key.curve.keySize)
            operation = try EVPKeyOperation(.agreement, .keyAgreement, with: key.key)
        case .rsa, .edwards, .mldsa:
            throw CryptoError(.wrongKeyType, "\(key.kind) keys have no key agreement")
        }
    }

    /// Returns the secret that the key shares with another one on its curve: the x-coordinate of
    /// the shared point with all leading zeros.
    ///
    /// It returns `nil` if the secret would be zero because the public key has a small order ([RFC
    /// 7748 §6.1](https://www.rfc-editor.org/rfc/rfc7748#section-6.1)), and throws `wrongKeyType`
    /// for a key on another curve.
    package func secret(with peer: PublicKey) throws(CryptoError) -> SecretBytes? {
        switch peer {
        case .ellipticCurve(let key) where key.curve.name == curve:
            return try operation.sharedSecret(with: key.point.uncompressed, size: size)
        case .montgomery(let key) where key.curve.name == curve:
            // OpenSSL rejects a secret of zeros, too; other providers may not.
            return try operation.sharedSecret(with: key.octets, size: size).flatMap { $0.isZero ? nil : $0 }
        default:
            throw CryptoError(.wrongKeyType, "\(curve) and \(peer.kind) keys can't agree on a secret")
        }
    }
}
