extension PrivateKey {
    /// Returns the unencrypted PrivateKeyInfo, identical to the output of `openssl pkey`, except
    /// that an ML-DSA key whose seed is known is written as the seed alone.
    package func pkcs8DER() throws(CryptoError) -> SecretBytes {
        switch self {
        case .rsa(let key):
            PrivateKeyInfo.encoding(algorithm: RSAKeyCoding.algorithm, key: try RSAKeyCoding.encoding(key))
        case .ellipticCurve(let key):
            PrivateKeyInfo.encoding(
                algorithm: ECKeyCoding.algorithm(of: key.curve),
                key: try ECKeyCoding.encoding(key, namesCurve: false)
            )
        case .edwards(let key): RawKeyCoding.encoding(try key.seed(), on: key.curve)
        case .montgomery(let key): RawKeyCoding.encoding(try key.seed(), on: key.curve)
        case .mldsa(let key): try MLDSAKeyCoding.encoding(key)
        }
    }

    /// Returns an unencrypted `PRIVATE KEY` block, a plain `String` that can't be cleared from
    /// memory.
    package func pkcs8PEM() throws(CryptoError) -> String {
        try pkcs8DER().withBytes { PEMWriter.text("PRIVATE KEY", $0) }
    }

    /// Returns the EncryptedPrivateKeyInfo, encrypted with PBES2 (PBKDF2 with HMAC-SHA-256, and
    /// AES-256-CBC) and a password of 1 to 1024 bytes.
    ///
    /// The number of PBKDF2 iterations, 600,000 to 2,000,000, determines the cost of guessing the
    /// password. Arguments out of range are an `invalidArgument`.
    package func encryptedPKCS8DER(
        password: SecretBytes,
        iterations: Int = PrivateKeyEncryption.minimumIterations
    ) throws(CryptoError) -> [UInt8] {
        try PrivateKeyEncryption.encrypt(pkcs8DER(), password: password, iterations: iterations)
    }

    /// Encodes the key pair as PEM with the label `ENCRYPTED PRIVATE KEY`, like
    /// ``encryptedPKCS8DER(password:iterations:)``.
    package func encryptedPKCS8PEM(
        password: SecretBytes,
        iterations: Int = PrivateKeyEncryption.minimumIterations
    ) throws(CryptoError) -> String {
        try encryptedPKCS8DER(password: password, iterations: iterations)
            .withBytes { PEMWriter.text("ENCRYPTED PRIVATE KEY", $0) }
    }

    /// Returns the key pair in its legacy format without encryption: PKCS#1 for RSA, SEC 1 for
    /// elliptic curves, or `nil` for other keys, which don't have one.
    package func traditionalDER() throws(CryptoError) -> SecretBytes? {
        switch self {
        case .rsa(let key): try RSAKeyCoding.encoding(key)
        case .ellipticCurve(let key): try ECKeyCoding.encoding(key, namesCurve: true)
        case .edwards, .montgomery, .mldsa: nil
        }
    }

    /// Returns an unencrypted `RSA PRIVATE KEY` or `EC PRIVATE KEY` block, a plain `String` that
    /// can't be cleared from memory, or `nil` for other keys.
    package func traditionalPEM() throws(CryptoError) -> String? {
        let label: StaticString = if case .rsa = self { "RSA PRIVATE KEY" } else { "EC PRIVATE KEY" }
        return try traditionalDER()?.withBytes { PEMWriter.text(label, $0) }
    }
}
