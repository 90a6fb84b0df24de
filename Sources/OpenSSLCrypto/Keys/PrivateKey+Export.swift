extension PrivateKey {
    /// Writes the key pair as PKCS#8 DER, unencrypted.
    ///
    /// - Returns: The PrivateKeyInfo, equal to what `openssl pkey` writes.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func pkcs8DER() throws(CryptoError) -> SecretBytes {
        switch self {
        case .rsa(let key):
            PrivateKeyInfo.encoding(algorithm: RSAKeyCoding.algorithm, key: try RSAKeyCoding.encoding(key))
        case .ellipticCurve(let key): try key.pkcs8DER()
        case .edwards(let key): try EdwardsKeyCoding.encoding(key)
        }
    }

    /// Writes the key pair as PKCS#8 PEM, unencrypted.
    ///
    /// - Returns: A `PRIVATE KEY` block. The text is a plain `String`: it can't be cleared from memory.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func pkcs8PEM() throws(CryptoError) -> String {
        try pkcs8DER().withBytes { PEMWriter.text("PRIVATE KEY", $0) }
    }

    /// Writes the key pair as PKCS#8 DER, encrypted with PBES2, PBKDF2 with HMAC-SHA-256, and AES-256-CBC.
    ///
    /// - Parameters:
    ///   - password: The password, 1 to 1024 octets.
    ///   - iterations: How much work each guess of the password costs: 600,000 to 2,000,000.
    /// - Returns: The EncryptedPrivateKeyInfo.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for an empty or too long password or another number,
    ///   ``CryptoError/Code/randomUnavailable``, ``CryptoError/Code/openSSL``.
    package func encryptedPKCS8DER(
        password: SecretBytes,
        iterations: Int = PrivateKeyEncryption.minimumIterations
    ) throws(CryptoError) -> [UInt8] {
        try PrivateKeyEncryption.encrypt(pkcs8DER(), password: password, iterations: iterations)
    }

    /// Writes the key pair as encrypted PKCS#8 PEM.
    ///
    /// - Parameters:
    ///   - password: As for ``encryptedPKCS8DER(password:iterations:)``.
    ///   - iterations: Likewise.
    /// - Returns: An `ENCRYPTED PRIVATE KEY` block.
    /// - Throws: As ``encryptedPKCS8DER(password:iterations:)``.
    package func encryptedPKCS8PEM(
        password: SecretBytes,
        iterations: Int = PrivateKeyEncryption.minimumIterations
    ) throws(CryptoError) -> String {
        try encryptedPKCS8DER(password: password, iterations: iterations)
            .withBytes { PEMWriter.text("ENCRYPTED PRIVATE KEY", $0) }
    }

    /// Writes the key pair in the older format of its kind: PKCS#1 for RSA, SEC 1 for elliptic curves; unencrypted.
    ///
    /// - Returns: The RSAPrivateKey or ECPrivateKey; `nil` for Edwards-curve keys, which have no such format.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func traditionalDER() throws(CryptoError) -> SecretBytes? {
        switch self {
        case .rsa(let key): try RSAKeyCoding.encoding(key)
        case .ellipticCurve(let key): try key.sec1DER()
        case .edwards: nil
        }
    }

    /// Writes the key pair in the older format of its kind as PEM, unencrypted.
    ///
    /// - Returns: An `RSA PRIVATE KEY` or `EC PRIVATE KEY` block, a plain `String` that can't be cleared from memory;
    ///   `nil` for Edwards-curve keys.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func traditionalPEM() throws(CryptoError) -> String? {
        switch self {
        case .rsa(let key): try RSAKeyCoding.encoding(key).withBytes { PEMWriter.text("RSA PRIVATE KEY", $0) }
        case .ellipticCurve(let key): try key.sec1PEM()
        case .edwards: nil
        }
    }
}
