/// Encryption with an RSA public key and OAEP
/// ([RFC 8017 §7.1](https://www.rfc-editor.org/rfc/rfc8017#section-7.1)), with an empty label and
/// the same hash function for the padding and MGF1.
package struct RSAEncrypter: Sendable {
    private let encryption: EVPKeyOperation

    init(_ key: EVPKey, _ hash: HashFunction) throws(CryptoError) {
        encryption = try EVPKeyOperation(.encryption, .oaep(hash), with: key)
    }

    /// Encrypts a secret.
    ///
    /// - Parameter secret: The secret, at least 66 bytes shorter than the modulus with SHA-256.
    /// - Returns: The ciphertext, as long as the modulus.
    /// - Throws: ``CryptoError/Code/openSSL`` if the secret is too long or OpenSSL fails.
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

    /// Decrypts a secret.
    ///
    /// - Parameter ciphertext: The ciphertext, exactly as long as the modulus.
    /// - Returns: The secret, or `nil` if decryption fails for any reason. The reason isn't
    ///   available, because it would tell an attacker how to find the plaintext
    ///   ([RFC 8017 §7.1.2](https://www.rfc-editor.org/rfc/rfc8017#section-7.1.2)).
    package func decrypt(_ ciphertext: [UInt8]) -> SecretBytes? {
        ciphertext.withBytes { decryption.decrypt($0) }
    }
}

extension RSAPublicKey {
    /// Creates an encrypter with OAEP.
    ///
    /// - Parameter hash: The hash function: SHA-1, SHA-256, SHA-384 or SHA-512. SHA-1 is secure
    ///   here, because OAEP doesn't need collision resistance.
    /// - Returns: The encrypter. Create it once and reuse it.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL fails.
    package func encrypter(hash: HashFunction) throws(CryptoError) -> RSAEncrypter {
        try RSAEncrypter(key, hash)
    }
}

extension RSAPrivateKey {
    /// Creates a decrypter with OAEP.
    ///
    /// - Parameter hash: The hash function, as for ``RSAPublicKey/encrypter(hash:)``.
    /// - Returns: The decrypter. Create it once and reuse it.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL fails.
    package func decrypter(hash: HashFunction) throws(CryptoError) -> RSADecrypter {
        try RSADecrypter(key, hash)
    }
}
