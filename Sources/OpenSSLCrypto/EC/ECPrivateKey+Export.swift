extension ECPrivateKey {
    /// Writes the key pair as PKCS#8 PEM, unencrypted.
    ///
    /// - Returns: A `PRIVATE KEY` block, equal to what `openssl pkey` writes. The text is a plain `String`: it can't be
    ///   cleared from memory.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func pkcs8PEM() throws(CryptoError) -> String {
        try pkcs8DER().withBytes { PEMWriter.text("PRIVATE KEY", $0) }
    }

    /// Writes the key pair as PKCS#8 DER, unencrypted.
    ///
    /// - Returns: The PrivateKeyInfo.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func pkcs8DER() throws(CryptoError) -> SecretBytes {
        try writer.pkcs8(scalar())
    }

    /// Writes the key pair as SEC 1 PEM, unencrypted.
    ///
    /// - Returns: An `EC PRIVATE KEY` block, equal to what `openssl ec` writes. The text is a plain `String`: it can't
    ///   be cleared from memory.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func sec1PEM() throws(CryptoError) -> String {
        try sec1DER().withBytes { PEMWriter.text("EC PRIVATE KEY", $0) }
    }

    /// Writes the key pair as SEC 1 DER, unencrypted.
    ///
    /// - Returns: The ECPrivateKey, which names its curve.
    /// - Throws: ``CryptoError/Code/openSSL`` if the key can't be read out.
    package func sec1DER() throws(CryptoError) -> SecretBytes {
        try writer.sec1(scalar())
    }

    private var writer: ECKeyWriter {
        ECKeyWriter(curve: curve, point: publicKey.point)
    }
}
