internal import OpenSSLCrypto

/// A cryptographic key that is prepared to encrypt with one algorithm.
indirect enum EncryptionMaterial: Sendable {
    case secret(SecretBytes)
    case rsa(RSAPublicKey, RSAEncrypter)
    case agreement(PublicKey)
    case password(SecretBytes, iterations: Int)

    /// Prepares a public key for an algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the algorithm can't use the
    ///   key.
    init(_ key: PublicKey, _ details: JWEAlgorithmDescription) throws(TokenError) {
        switch (key, details.scheme) {
        case (.rsa(let key), .oaep(let hash)):
            self = .rsa(key, try TokenError.refusingKey(key.encrypter(hash: hash)))
        case (.ellipticCurve, .agreement), (.montgomery, .agreement):
            self = .agreement(key)
        default:
            throw TokenError(mismatched: details.algorithm, key.kind)
        }
    }

    /// The public key, or `nil` for a secret or a password.
    var publicKey: PublicKey? {
        switch self {
        case .rsa(let key, _): .rsa(key)
        case .agreement(let key): key
        case .secret, .password: nil
        }
    }
}

/// A cryptographic key that is prepared to decrypt with one algorithm.
indirect enum DecryptionMaterial: Sendable {
    case secret(SecretBytes)
    case rsa(RSAPrivateKey, RSADecrypter)
    case agreement(PrivateKey, SecretAgreement)
    case password(SecretBytes)

    /// Prepares a key pair for an algorithm.
    ///
    /// - Throws: ``TokenError`` with the code `algorithmMismatch` if the algorithm can't use the
    ///   key.
    init(_ key: PrivateKey, _ details: JWEAlgorithmDescription) throws(TokenError) {
        switch (key, details.scheme) {
        case (.rsa(let key), .oaep(let hash)):
            self = .rsa(key, try TokenError.refusingKey(key.decrypter(hash: hash)))
        case (.ellipticCurve, .agreement), (.montgomery, .agreement):
            let agreement = try TokenError.refusingKey(SecretAgreement(key))
            self = .agreement(key, agreement)
        default:
            throw TokenError(mismatched: details.algorithm, key.kind)
        }
    }

    /// The key pair, or `nil` for a secret or a password.
    var keyPair: PrivateKey? {
        switch self {
        case .rsa(let key, _): .rsa(key)
        case .agreement(let key, _): key
        case .secret, .password: nil
        }
    }
}
