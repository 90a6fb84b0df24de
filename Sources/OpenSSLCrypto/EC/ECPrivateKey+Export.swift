extension ECPrivateKey {
    /// Encodes the key pair as unencrypted PKCS#8 PEM.
    ///
    /// - Returns: A `PRIVATE KEY` block, identical to the output of `openssl pkey`. It's a plain
    ///   `String`, which can't be cleared from memory.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL can't export the key.
    package func pkcs8PEM() throws(CryptoError) -> String {
        try pkcs8DER().withBytes { PEMWriter.text("PRIVATE KEY", $0) }
    }

    /// Encodes the key pair as unencrypted PKCS#8 DER.
    ///
    /// - Returns: The PrivateKeyInfo.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL can't export the key.
    package func pkcs8DER() throws(CryptoError) -> SecretBytes {
        try writer.pkcs8(scalar())
    }

    /// Encodes the key pair as unencrypted SEC 1 PEM.
    ///
    /// - Returns: An `EC PRIVATE KEY` block, identical to the output of `openssl ec`. It's a plain
    ///   `String`, which can't be cleared from memory.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL can't export the key.
    package func sec1PEM() throws(CryptoError) -> String {
        try sec1DER().withBytes { PEMWriter.text("EC PRIVATE KEY", $0) }
    }

    /// Encodes the key pair as unencrypted SEC 1 DER.
    ///
    /// - Returns: The ECPrivateKey, including the curve's name.
    /// - Throws: ``CryptoError/Code/openSSL`` if OpenSSL can't export the key.
    package func sec1DER() throws(CryptoError) -> SecretBytes {
        try writer.sec1(scalar())
    }

    private var writer: ECKeyWriter {
        ECKeyWriter(curve: curve, point: publicKey.point)
    }
}
