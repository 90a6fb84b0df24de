internal import COpenSSL

/// The Concat key derivation function with SHA-256
/// ([RFC 7518 §4.6.2](https://www.rfc-editor.org/rfc/rfc7518#section-4.6.2)), which is the
/// single-step function of [NIST SP 800-56C](https://doi.org/10.6028/NIST.SP.800-56Cr2).
package enum ConcatKDF {
    /// Sizes other than 1 to 1024 bytes, and an empty secret, are an `invalidArgument`.
    package static func key(from secret: SecretBytes, info: [UInt8], count: Int) throws(CryptoError) -> SecretBytes {
        guard secret.count > 0, (1...1024).contains(count) else {
            throw CryptoError(.invalidArgument, "Can't derive \(count) bytes from a secret of \(secret.count) bytes")
        }
        return try SecretBytes(capacity: count) { output throws(CryptoError) in
            var round: UInt8 = 0
            while output.count < count {
                round += 1
                let state = try HashState(.sha256)
                // The round as four bytes; 1024 bytes take 32 rounds.
                try [0, 0, 0, round].withBytes { bytes throws(CryptoError) in try state.update(bytes) }
                try secret.withBytes { bytes throws(CryptoError) in try state.update(bytes) }
                try info.withBytes { bytes throws(CryptoError) in try state.update(bytes) }
                var hash = try state.finish()
                for octet in hash.prefix(count - output.count) { output.append(octet) }
                hash.clear()
            }
        }
    }
}

/// Key derivation from passwords: PBKDF2 with HMAC
/// ([RFC 8018 §5.2](https://www.rfc-editor.org/rfc/rfc8018#section-5.2)).
package enum PBKDF2 {
    /// Derives 1 to 1024 bytes from a password of 1 byte to 64 KiB, a salt of at most 64 KiB and 1
    /// to 10,000,000 iterations, which can't be cut short; other arguments are an
    /// `invalidArgument`.
    ///
    /// The caller must set lower bounds for salt and iterations that suit its protocol.
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

    package static let maximumIterations = 10_000_000
}
