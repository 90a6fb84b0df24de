internal import COpenSSL

/// The contents of a file: the owner of a key, its certificate and others.
@safe struct PKCS12Contents: ~Copyable {
    private var key: OpaquePointer?
    private var certificates: OpaquePointer?

    init() {}

    deinit {
        unsafe EVP_PKEY_free(key)
        unsafe OPENSSL_sk_pop_free(certificates) { unsafe X509_free(OpaquePointer($0)) }
    }

    /// A Boolean value that indicates whether there is a private key.
    ///
    /// Only the first one counts.
    var hasKey: Bool { unsafe key != nil }

    /// Takes a private key.
    mutating func add(_ information: OpaquePointer?) throws(CryptoError) {
        let added = unsafe EVP_PKCS82PKEY(information)
        guard unsafe added != nil else {
            throw CryptoError(
                .malformedCertificate,
                failed: "EVP_PKCS82PKEY",
                "The PKCS#12 file's private key can't be read"
            )
        }
        unsafe key = added
    }

    /// Takes a certificate and its ownership.
    mutating func add(takingOwnershipOf certificate: OpaquePointer?) throws(CryptoError) {
        guard let certificate = unsafe certificate else {
            throw CryptoError(
                .malformedCertificate,
                failed: "PKCS12_SAFEBAG_get1_cert",
                "A certificate of the PKCS#12 file can't be read"
            )
        }
        if unsafe certificates == nil { unsafe certificates = OPENSSL_sk_new_null() }
        guard unsafe OPENSSL_sk_push(certificates, UnsafeRawPointer(certificate)) > 0 else {
            unsafe X509_free(certificate)
            throw CryptoError(failed: "OPENSSL_sk_push", "No memory")
        }
    }

    /// The key, checked like any other.
    func privateKey() throws(CryptoError) -> PrivateKey {
        guard let key = unsafe key else {
            throw CryptoError(.malformedCertificate, "The PKCS#12 file has no private key")
        }
        OpenSSLLibrary.clearErrors()
        let information = unsafe EVP_PKEY2PKCS8(key)
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(information) }
        let size = unsafe information == nil ? 0 : i2d_PKCS8_PRIV_KEY_INFO(information, nil)
        guard size > 0 else {
            throw CryptoError(.malformedKey, failed: "EVP_PKEY2PKCS8", "The PKCS#12 file's private key can't be read")
        }
        let der = SecretBytes(capacity: Int(size)) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var start = buffer.baseAddress
                initializedCount = Int(max(unsafe i2d_PKCS8_PRIV_KEY_INFO(information, &start), 0))
            }
        }
        return try der.withBytes { bytes throws(CryptoError) in try PrivateKey(der: bytes) }
    }

    /// The certificate, then those of its issuers as far as the file has them.
    func chain() throws(CryptoError) -> [Certificate] {
        guard var last = unsafe keyCertificate else {
            throw CryptoError(.malformedCertificate, "The PKCS#12 file has no certificate of its private key")
        }
        var chain = [try unsafe Certificate(copying: last)]
        while chain.count < CertificateChain.maximumCount, let issuer = unsafe issuer(of: last) {
            unsafe last = issuer
            chain.append(try unsafe Certificate(copying: issuer))
        }
        return chain
    }

    /// The first certificate whose key is the file's.
    private var keyCertificate: OpaquePointer? {
        OpenSSLLibrary.clearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        for index in 0..<max(unsafe OPENSSL_sk_num(certificates), 0) {
            let certificate = unsafe OPENSSL_sk_value(certificates, index).map { OpaquePointer($0) }
            if let certificate = unsafe certificate, unsafe X509_check_private_key(certificate, key) == 1 {
                return unsafe certificate
            }
        }
        return nil
    }

    private func issuer(of certificate: OpaquePointer) -> OpaquePointer? {
        for index in 0..<max(unsafe OPENSSL_sk_num(certificates), 0) {
            guard let other = unsafe OPENSSL_sk_value(certificates, index).map({ OpaquePointer($0) }) else { continue }
            // A root issued itself, and comes last.
            let isItself = unsafe X509_cmp(other, certificate) == 0
            if !isItself, unsafe X509_check_issued(other, certificate) == X509_V_OK { return unsafe other }
        }
        return nil
    }
}
