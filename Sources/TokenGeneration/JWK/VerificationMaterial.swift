internal import OpenSSLCrypto

/// A cryptographic key that is prepared to verify with one algorithm.
indirect enum VerificationMaterial: Sendable {
    case hmac(HMAC)
    case ec(ECPublicKey, HashFunction)
    case rsa(RSAPublicKey, RSAVerifier)
    case edwards(EdwardsPublicKey)
    case mldsa(MLDSAPublicKey)

    /// Prepares a key for an algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the algorithm can't use the
    ///   key.
    init(_ key: PublicKey, _ details: AlgorithmDescription) throws(TokenError) {
        switch (key, details.scheme) {
        case (.ellipticCurve(let key), .ecdsa(_, let hash)):
            self = .ec(key, hash)
        case (.rsa(let key), .rsa(let padding, let hash)):
            let verifier = try TokenError.refusingKey(key.verifier(padding, hash: hash))
            self = .rsa(key, verifier)
        case (.edwards(let key), .edwards):
            self = .edwards(key)
        case (.mldsa(let key), .mldsa):
            self = .mldsa(key)
        default:
            throw TokenError(mismatched: details.algorithm, key.kind)
        }
    }

    /// The public key, or `nil` for a secret.
    var publicKey: PublicKey? {
        switch self {
        case .hmac: nil
        case .ec(let key, _): .ellipticCurve(key)
        case .rsa(let key, _): .rsa(key)
        case .edwards(let key): .edwards(key)
        case .mldsa(let key): .mldsa(key)
        }
    }

    /// The size of a secret in bytes, as HMAC counts it, or `nil` for a public key.
    var secretSize: Int? {
        if case .hmac(let code) = self { code.keySize } else { nil }
    }

    /// Returns a Boolean value that indicates whether the key verifies a signature over a message.
    ///
    /// A signature of the wrong length isn't valid.
    func isValidSignature(_ signature: RawSpan, for message: RawSpan) -> Bool {
        switch self {
        case .hmac(let code): code.isValid(signature, for: message)
        case .ec(let key, let hash): key.isValidSignature(signature, for: message, hash: hash)
        case .rsa(_, let verifier): verifier.isValidSignature(signature, for: message)
        case .edwards(let key): key.isValidSignature(signature, for: message)
        case .mldsa(let key): key.isValidSignature(signature, for: message)
        }
    }
}
