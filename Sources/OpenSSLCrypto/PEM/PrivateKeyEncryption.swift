internal import COpenSSL

/// The encryption of private keys with PBES2
/// ([RFC 8018 §6.2](https://www.rfc-editor.org/rfc/rfc8018#section-6.2)), using PBKDF2 with
/// HMAC-SHA-256 and AES-256-CBC, which every implementation supports.
package enum PrivateKeyEncryption {
    /// The minimum number of iterations: OWASP's recommendation for PBKDF2 with HMAC-SHA-256 since
    /// 2023.
    package static let minimumIterations = 600_000

    /// Encrypts a PrivateKeyInfo with a password of 1 to 1024 bytes and ``minimumIterations`` to
    /// 2,000,000 iterations.
    static func encrypt(
        _ key: SecretBytes,
        password: SecretBytes,
        iterations: Int
    ) throws(CryptoError) -> [UInt8] {
        let maximumPasswordSize = PrivateKeyDecryption.maximumPasswordSize
        guard (1...maximumPasswordSize).contains(password.count) else {
            throw CryptoError(
                .invalidArgument,
                "The password has \(password.count) bytes, but must have 1 to \(maximumPasswordSize)"
            )
        }
        guard (minimumIterations...KeyDerivationCost.maximumIterations).contains(iterations) else {
            throw CryptoError(
                .invalidArgument,
                "\(iterations) iterations are out of range; use \(minimumIterations) "
                    + "to \(KeyDerivationCost.maximumIterations)"
            )
        }
        OpenSSLLibrary.prepareAndClearErrors()
        let information = unsafe key.withBytes { der in
            unsafe der.decoded { unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1) }.object
        }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        guard unsafe information != nil else {
            throw CryptoError(failed: "d2i_PKCS8_PRIV_KEY_INFO", "Can't encrypt the private key")
        }
        let algorithm = try unsafe makeAlgorithm(iterations)
        let encrypted = unsafe password.withPassword { unsafe PKCS8_set0_pbe($0, $1, information, algorithm) }
        guard let encrypted = unsafe encrypted else {
            // Only a successful call takes ownership of the algorithm.
            unsafe X509_ALGOR_free(algorithm)
            throw CryptoError(failed: "PKCS8_set0_pbe", "Can't encrypt the private key")
        }
        defer { unsafe X509_SIG_free(encrypted) }
        return try unsafe [UInt8](encodedBy: { unsafe i2d_X509_SIG(encrypted, $0) })
            .orThrow(failed: "i2d_X509_SIG", "Can't encode the encrypted private key")
    }

    private static let saltSize = 16

    /// Creates an AlgorithmIdentifier with a new salt and initialization vector, which the caller
    /// must free.
    private static func makeAlgorithm(_ iterations: Int) throws(CryptoError) -> UnsafeMutablePointer<X509_ALGOR> {
        // The default salt of OpenSSL 3.0 has only 8 bytes.
        var salt = try SecureRandom.bytes(count: saltSize)
        let (cipher, size) = unsafe (EVP_aes_256_cbc(), Int32(salt.count))
        let algorithm = unsafe PKCS5_pbe2_set_iv(cipher, Int32(iterations), &salt, size, nil, NID_hmacWithSHA256)
        guard let algorithm = unsafe algorithm else {
            throw CryptoError(failed: "PKCS5_pbe2_set_iv", "Can't encrypt the private key")
        }
        return unsafe algorithm
    }
}
