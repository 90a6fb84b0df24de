internal import COpenSSL

/// Encrypts private keys, in one way: PBES2 ([RFC 8018 §6.2](https://www.rfc-editor.org/rfc/rfc8018#section-6.2)) with
/// PBKDF2 on HMAC-SHA-256, and AES-256-CBC, which every implementation can read.
package enum PrivateKeyEncryption {
    /// What OWASP recommends for PBKDF2 with HMAC-SHA-256 since 2023.
    package static let minimumIterations = 600_000

    /// Encrypts a PrivateKeyInfo.
    ///
    /// - Parameters:
    ///   - key: The PrivateKeyInfo.
    ///   - password: The password, 1 to 1024 octets.
    ///   - iterations: The number of iterations, ``minimumIterations`` to 2,000,000.
    /// - Returns: The EncryptedPrivateKeyInfo.
    /// - Throws: ``CryptoError/Code/invalidArgument``, ``CryptoError/Code/randomUnavailable``,
    ///   ``CryptoError/Code/openSSL``.
    static func encrypt(
        _ key: SecretBytes,
        password: SecretBytes,
        iterations: Int
    ) throws(CryptoError) -> [UInt8] {
        let maximumPasswordSize = PrivateKeyDecryption.maximumPasswordSize
        guard (1...maximumPasswordSize).contains(password.count) else {
            throw CryptoError(
                .invalidArgument,
                "The password has \(password.count) octets: 1 to \(maximumPasswordSize) are possible"
            )
        }
        guard (minimumIterations...KeyDerivationCost.maximumIterations).contains(iterations) else {
            throw CryptoError(
                .invalidArgument,
                "\(iterations) iterations were asked for: \(minimumIterations) to \(KeyDerivationCost.maximumIterations) "
                    + "are possible"
            )
        }
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        let information = unsafe key.withBytes { bytes in
            unsafe bytes.withUnsafeBytes { bytes in
                var start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
                return unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, &start, bytes.count)
            }
        }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        guard unsafe information != nil else {
            throw CryptoError(failed: "d2i_PKCS8_PRIV_KEY_INFO", "The private key can't be encrypted")
        }
        let algorithm = try unsafe makeAlgorithm(iterations)
        let encrypted = unsafe password.withBytes { password in
            unsafe password.withUnsafeBytes { password in
                unsafe PKCS8_set0_pbe(
                    password.baseAddress?.assumingMemoryBound(to: CChar.self),
                    Int32(password.count),
                    information,
                    algorithm
                )
            }
        }
        guard let encrypted = unsafe encrypted else {
            // Only a success takes the algorithm over.
            unsafe X509_ALGOR_free(algorithm)
            throw CryptoError(failed: "PKCS8_set0_pbe", "The private key can't be encrypted")
        }
        defer { unsafe X509_SIG_free(encrypted) }
        let size = unsafe i2d_X509_SIG(encrypted, nil)
        guard size > 0 else { throw CryptoError(failed: "i2d_X509_SIG", "The encrypted private key can't be written") }
        return [UInt8](capacity: Int(size)) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var start = buffer.baseAddress
                initializedCount = Int(max(unsafe i2d_X509_SIG(encrypted, &start), 0))
            }
        }
    }

    private static let saltSize = 16

    /// Makes the AlgorithmIdentifier, with a new salt and initialization vector; the caller's to free.
    private static func makeAlgorithm(_ iterations: Int) throws(CryptoError) -> UnsafeMutablePointer<X509_ALGOR> {
        // OpenSSL 3.0 would take a salt of 8 octets.
        var salt = try SecureRandom.bytes(count: saltSize)
        let algorithm = unsafe salt.withUnsafeMutableBufferPointer { salt in
            unsafe PKCS5_pbe2_set_iv(
                EVP_aes_256_cbc(),
                Int32(iterations),
                salt.baseAddress,
                Int32(salt.count),
                nil,
                NID_hmacWithSHA256
            )
        }
        guard let algorithm = unsafe algorithm else {
            throw CryptoError(failed: "PKCS5_pbe2_set_iv", "The private key can't be encrypted")
        }
        return unsafe algorithm
    }
}
