internal import COpenSSL

/// Writes a certificate with its private key as PKCS#12 ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)).
package enum CertificateIssuingPKCS12 {
    /// Writes a key pair, its certificate and those of the issuers.
    ///
    /// The contents are encrypted with PBES2 (PBKDF2, AES-256-CBC) and protected by an HMAC with SHA-256, as OpenSSL 3 does.
    ///
    /// - Parameters:
    ///   - chain: The certificate of the key, then those of the issuers.
    ///   - key: The key pair.
    ///   - password: The password; UTF-8 text without a zero octet.
    ///   - name: The friendly name; `nil` for none.
    /// - Returns: The PFX as DER.
    /// - Throws: ``CryptoError/Code/keyMismatch``, ``CryptoError/Code/invalidArgument`` for a password with a zero octet,
    ///   ``CryptoError/Code/openSSL``.
    package static func encoding(
        chain: CertificateChain,
        key: PrivateKey,
        password: String,
        name: String? = nil
    ) throws(CryptoError) -> [UInt8] {
        guard key.publicKey.spkiDER() == chain.certificates[0].subjectPublicKeyInfo else {
            throw CryptoError(.keyMismatch, "The key is not that of the first certificate")
        }
        guard !password.utf8.contains(0) else {
            throw CryptoError(.invalidArgument, "The password has a zero octet, at which C would end it")
        }
        let evpKey = try EVPKey.make(key)
        OpenSSLLibrary.clearErrors()
        // The stack only borrows: the chain outlives it.
        let issuers = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_free(issuers) }
        for certificate in chain.certificates.dropFirst() {
            let isPushed = unsafe certificate.x509.withPointer {
                unsafe OPENSSL_sk_push(issuers, UnsafeRawPointer($0)) > 0
            }
            guard isPushed else { throw CryptoError(failed: "OPENSSL_sk_push", "No memory") }
        }
        let archive = unsafe withExtendedLifetime(chain) {
            unsafe evpKey.withPointer { key in
                unsafe chain.certificates[0].x509.withPointer { certificate in
                    unsafe PKCS12_create(password, name, key, certificate, issuers, 0, 0, 0, 0, 0)
                }
            }
        }
        guard let archive = unsafe archive else {
            throw CryptoError(failed: "PKCS12_create", "The certificate and its key can't be written")
        }
        defer { unsafe PKCS12_free(archive) }
        let size = unsafe i2d_PKCS12(archive, nil)
        guard size > 0 else { throw CryptoError(failed: "i2d_PKCS12", "The certificate and its key can't be written") }
        return [UInt8](capacity: Int(size)) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var start = buffer.baseAddress
                initializedCount = Int(max(unsafe i2d_PKCS12(archive, &start), 0))
            }
        }
    }
}
