internal import COpenSSL

/// Key derivation from passwords: PBKDF2 with HMAC
/// ([RFC 8018 §5.2](https://www.rfc-editor.org/rfc/rfc8018#section-5.2)).
package enum PBKDF2 {
    /// Derives a key.
    ///
    /// The time is proportional to the number of iterations and can't be cut short.
    ///
    /// - Parameters:
    ///   - password: The password, 1 byte to 64 KiB. OpenSSL would accept an empty one.
    ///   - salt: The salt, at most 64 KiB. The caller must set a lower bound that suits its
    ///     protocol.
    ///   - iterations: The number of iterations, 1 to 10,000,000, with a lower bound in the caller,
    ///     too.
    ///   - hash: The hash function: SHA-256, SHA-384 or SHA-512.
    ///   - count: The size of the key in bytes, 1 to 1024.
    /// - Returns: The key.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for arguments out of range,
    ///   ``CryptoError/Code/openSSL`` if OpenSSL fails.
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
        guard let key else { throw CryptoError(failed: "PKCS5_PBKDF2_HMAC", "The key derivation failed") }
        return key
    }

    /// The maximum number of iterations, 10,000,000.
    package static let maximumIterations = 10_000_000
}
