internal import COpenSSL

/// Key derivation from passwords: PBKDF2 with HMAC
/// ([RFC 8018 §5.2](https://www.rfc-editor.org/rfc/rfc8018#section-5.2)).
package enum PBKDF2 {
    /// Derives a key of 1 to 1024 bytes from a password of 1 byte to 64 KiB and a salt of at most
    /// 64 KiB, with SHA-256, SHA-384 or SHA-512; other arguments are an `invalidArgument`.
    ///
    /// The time is proportional to the number of iterations, 1 to 10,000,000, and can't be cut
    /// short. The caller must set lower bounds for salt and iterations that suit its protocol.
    /// OpenSSL would accept an empty password.
    package static func key(
        from password: SecretBytes,
        salt: [UInt8],
        iterations: Int,
        hash: HashFunction,
        count: Int
    ) throws(CryptoError) -> SecretBytes {
        guard (1...65_536).contains(password.count), salt.count <= 65_536,
            (1...maximumIterations).contains(iterations), (1...1024).contains(count), hash.isCollisionResistant
        else {
            throw CryptoError(
                .invalidArgument,
                "Can't derive \(count) bytes with \(iterations) iterations from a password of \(password.count) bytes "
                    + "and a salt of \(salt.count) bytes"
            )
        }
        let digest = try MessageDigest.fetched(for: hash)
        OpenSSLLibrary.clearErrors()
        let key = unsafe SecretBytes(maximumSize: count) { buffer, size in
            size = count
            return unsafe password.withPassword { password, passwordSize in
                unsafe digest.withPointer { digest in
                    unsafe PKCS5_PBKDF2_HMAC(
                        password,
                        passwordSize,
                        salt,
                        Int32(salt.count),
                        Int32(iterations),
                        digest,
                        Int32(count),
                        buffer
                    ) == 1
                }
            }
        }
        return try key.orThrow(failed: "PKCS5_PBKDF2_HMAC", "The key derivation failed")
    }

    /// The maximum number of iterations, 10,000,000.
    package static let maximumIterations = 10_000_000
}
