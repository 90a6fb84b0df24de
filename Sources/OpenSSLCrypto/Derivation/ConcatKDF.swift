internal import COpenSSL

/// The Concat key derivation function with SHA-256
/// ([RFC 7518 §4.6.2](https://www.rfc-editor.org/rfc/rfc7518#section-4.6.2)), which is the
/// single-step function of [NIST SP 800-56C](https://doi.org/10.6028/NIST.SP.800-56Cr2).
package enum ConcatKDF {
    /// Derives a key.
    ///
    /// - Parameters:
    ///   - secret: The shared secret, at least one byte.
    ///   - info: The context of the key (OtherInfo).
    ///   - count: The size of the key in bytes, 1 to 1024.
    /// - Returns: The key.
    /// - Throws: ``CryptoError/Code/invalidArgument`` for an empty secret or another size,
    ///   ``CryptoError/Code/openSSL`` if OpenSSL fails.
    package static func key(from secret: SecretBytes, info: [UInt8], count: Int) throws(CryptoError) -> SecretBytes {
        guard secret.count > 0, (1...1024).contains(count) else {
            throw CryptoError(.invalidArgument, "Can't derive \(count) bytes from a secret of \(secret.count) bytes")
        }
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        guard let function = unsafe EVP_KDF_fetch(nil, "SSKDF", nil) else {
            throw CryptoError(failed: "EVP_KDF_fetch", "SSKDF isn't available")
        }
        // The context keeps its own reference.
        defer { unsafe EVP_KDF_free(function) }
        guard let context = unsafe EVP_KDF_CTX_new(function) else {
            throw CryptoError(failed: "EVP_KDF_CTX_new", "SSKDF isn't available")
        }
        defer { unsafe EVP_KDF_CTX_free(context) }
        var (name, info) = (Array(HashFunction.sha256.openSSLName.utf8CString), info)
        return try SecretBytes(capacity: count) { output throws(CryptoError) in
            let status = unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                let status = secret.withBytes { secret in
                    unsafe secret.withUnsafeBytes { secret in
                        unsafe name.withUnsafeMutableBufferPointer { name in
                            unsafe info.withUnsafeMutableBytes { info in
                                let parameters = unsafe [
                                    COpenSSL_digest_param(name.baseAddress),
                                    // The type isn't const, but OpenSSL only reads it.
                                    COpenSSL_kdf_key_param(
                                        UnsafeMutableRawPointer(mutating: secret.baseAddress),
                                        secret.count
                                    ),
                                    COpenSSL_kdf_info_param(info.baseAddress, info.count),
                                    OSSL_PARAM_construct_end(),
                                ]
                                return unsafe EVP_KDF_derive(context, buffer.baseAddress, count, parameters)
                            }
                        }
                    }
                }
                initializedCount = status == 1 ? count : 0
                return status
            }
            guard status == 1 else { throw CryptoError(failed: "EVP_KDF_derive", "The key derivation failed") }
        }
    }
}
