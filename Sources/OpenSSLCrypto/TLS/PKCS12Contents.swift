internal import COpenSSL

/// The contents of a PKCS#12 file: the owner of a key, its certificate and other certificates.
@safe struct PKCS12Contents: ~Copyable {
    private var key: OpaquePointer?
    private var certificates: OpaquePointer?

    init() {}

    deinit {
        unsafe EVP_PKEY_free(key)
        unsafe OPENSSL_sk_pop_free(certificates) { unsafe X509_free(OpaquePointer($0)) }
    }

    /// A Boolean value that indicates whether a private key was added.
    ///
    /// Only the first key of a file is used.
    var hasKey: Bool { unsafe key != nil }

    /// Adds the private key.
    mutating func add(_ information: OpaquePointer?) throws(CryptoError) {
        let added = unsafe EVP_PKCS82PKEY(information)
        guard unsafe added != nil else {
            throw CryptoError(
                .malformedCertificate,
                failed: "EVP_PKCS82PKEY",
                "Can't decode the PKCS#12 file's private key"
            )
        }
        unsafe key = added
    }

    /// Adds a certificate and takes ownership of it.
    mutating func add(takingOwnershipOf certificate: OpaquePointer?) throws(CryptoError) {
        guard let certificate = unsafe certificate else {
            throw CryptoError(
                .malformedCertificate,
                failed: "PKCS12_SAFEBAG_get1_cert",
                "Can't decode a certificate in the PKCS#12 file"
            )
        }
        if unsafe certificates == nil { unsafe certificates = OPENSSL_sk_new_null() }
        guard unsafe OPENSSL_sk_push(certificates, UnsafeRawPointer(certificate)) > 0 else {
            unsafe X509_free(certificate)
            throw CryptoError(failed: "OPENSSL_sk_push", "No memory")
        }
    }

    /// Returns the key after the usual checks.
    func privateKey() throws(CryptoError) -> PrivateKey {
        guard let key = unsafe key else {
            throw CryptoError(.malformedCertificate, "The PKCS#12 file has no private key")
        }
        OpenSSLLibrary.clearErrors()
        let information = unsafe EVP_PKEY2PKCS8(key)
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        let der = unsafe SecretBytes(encodedBy: {
            unsafe information == nil ? 0 : i2d_PKCS8_PRIV_KEY_INFO(information, $0)
        })
        guard let der else {
            throw CryptoError(.malformedKey, failed: "EVP_PKEY2PKCS8", "Can't decode the PKCS#12 file's private key")
        }
        return try der.withBytes { bytes throws(CryptoError) in try PrivateKey(der: bytes) }
    }

    /// Returns the key's certificate, then those of its issuers that the file contains.
    func chain() throws(CryptoError) -> [Certificate] {
        guard var last = unsafe keyCertificate else {
            throw CryptoError(.malformedCertificate, "The PKCS#12 file has no certificate for its private key")
        }
        var chain = [try unsafe Certificate(copying: last)]
        while chain.count < CertificateChain.maximumCount, let issuer = unsafe issuer(of: last) {
            unsafe last = issuer
            chain.append(try unsafe Certificate(copying: issuer))
        }
        return chain
    }

    /// The first certificate with the file's key.
    private var keyCertificate: OpaquePointer? {
        OpenSSLLibrary.clearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        return unsafe OpenSSLLibrary.elements(of: certificates).first { unsafe X509_check_private_key($0, key) == 1 }
    }

    private func issuer(of certificate: OpaquePointer) -> OpaquePointer? {
        unsafe OpenSSLLibrary.elements(of: certificates).first { other in
            // A root is its own issuer and ends the chain.
            unsafe X509_cmp(other, certificate) != 0 && X509_check_issued(other, certificate) == X509_V_OK
        }
    }
}
