internal import COpenSSL

/// Encodes a certificate and its private key as PKCS#12
/// ([RFC 7292](https://www.rfc-editor.org/rfc/rfc7292)).
package enum CertificateIssuingPKCS12 {
    /// Encodes a key pair with the chain of its certificate, and optionally a friendly name, as the
    /// DER of a PFX.
    ///
    /// The contents are encrypted with PBES2 (PBKDF2, AES-256-CBC) and authenticated with
    /// HMAC-SHA-256, which are OpenSSL 3's defaults. A password with a zero byte is an
    /// `invalidArgument`.
    package static func encoding(
        chain: CertificateChain,
        key: PrivateKey,
        password: String,
        name: String? = nil
    ) throws(CryptoError) -> [UInt8] {
        guard key.publicKey.spkiDER() == chain.certificates[0].subjectPublicKeyInfo else {
            throw CryptoError(.keyMismatch, "The key doesn't belong to the first certificate")
        }
        guard !password.utf8.contains(0) else {
            throw CryptoError(.invalidArgument, "The password must not contain a zero byte")
        }
        let evpKey = try EVPKey.make(key)
        OpenSSLLibrary.clearErrors()
        let archive = unsafe try CertificateStack(chain.certificates.dropFirst()).withPointer { issuers in
            unsafe evpKey.withPointer { key in
                unsafe chain.certificates[0].x509.withPointer { certificate in
                    unsafe PKCS12_create(password, name, key, certificate, issuers, 0, 0, 0, 0, 0)
                }
            }
        }
        guard let archive = unsafe archive else {
            throw CryptoError(failed: "PKCS12_create", "Can't encode the certificate and its key")
        }
        defer { unsafe PKCS12_free(archive) }
        return try unsafe [UInt8](encodedBy: { unsafe i2d_PKCS12(archive, $0) })
            .orThrow(failed: "i2d_PKCS12", "Can't encode the certificate and its key")
    }
}
