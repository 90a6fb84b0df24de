/// Encryption with an RSA public key and OAEP
/// ([RFC 8017 §7.1](https://www.rfc-editor.org/rfc/rfc8017#section-7.1)), with an empty label and
/// the same hash function for the padding and MGF1.
package struct RSAEncrypter: Sendable {
    private let encryption: EVPKeyOperation

    init(_ key: EVPKey, _ hash: HashFunction) throws(CryptoError) {
        encryption = try EVPKeyOperation(.encryption, .oaep(hash), with: key)
    }

    /// Encrypts a secret; the ciphertext is as long as the modulus.
    ///
    /// The secret must be at least 66 bytes shorter than the modulus with SHA-256.
    package func encrypt(_ secret: SecretBytes) throws(CryptoError) -> [UInt8] {
        try secret.withBytes { secret throws(CryptoError) in try encryption.encrypt(secret) }
    }
}

/// Decryption with an RSA private key and OAEP, the counterpart of ``RSAEncrypter``.
package struct RSADecrypter: Sendable {
    private let decryption: EVPKeyOperation

    init(_ key: EVPKey, _ hash: HashFunction) throws(CryptoError) {
        decryption = try EVPKeyOperation(.decryption, .oaep(hash), with: key)
    }

    /// Decrypts a ciphertext as long as the modulus, or returns `nil` if that fails for any reason.
    ///
    /// The reason isn't available, because it would tell an attacker how to find the plaintext
    /// ([RFC 8017 §7.1.2](https://www.rfc-editor.org/rfc/rfc8017#section-7.1.2)).
    package func decrypt(_ ciphertext: [UInt8]) -> SecretBytes? {
        ciphertext.withBytes { decryption.decrypt($0) }
    }
}

extension RSAPublicKey {
    /// Creates an encrypter with OAEP and SHA-1, SHA-256, SHA-384 or SHA-512, for repeated use.
    ///
    /// SHA-1 is secure here, because OAEP doesn't need collision resistance.
    package func encrypter(hash: HashFunction) throws(CryptoError) -> RSAEncrypter {
        try RSAEncrypter(key, hash)
    }
}

extension RSAPrivateKey {
    /// Creates a decrypter, as ``RSAPublicKey/encrypter(hash:)`` does, for repeated use.
    package func decrypter(hash: HashFunction) throws(CryptoError) -> RSADecrypter {
        try RSADecrypter(key, hash)
    }
}
