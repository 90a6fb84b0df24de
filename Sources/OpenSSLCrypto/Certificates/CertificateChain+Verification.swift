internal import COpenSSL

extension CertificateChain {
    /// Finds a path from the leaf to one of the roots, at a time in seconds since 1970.
    func path(to roots: [Certificate], at time: Int64) throws(CryptoError) -> [Certificate] {
        let store = try TrustStore(roots: roots, trustsIntermediates: false)
        let untrusted = try CertificateStack(certificates.dropFirst())
        OpenSSLLibrary.clearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        let context = unsafe X509_STORE_CTX_new()
        defer { unsafe X509_STORE_CTX_free(context) }
        return try unsafe untrusted.withPointer { untrusted throws(CryptoError) in
            try withExtendedLifetime((self, store)) { () throws(CryptoError) in
                let isReady = unsafe store.withPointer { store in
                    unsafe certificates[0].x509.withPointer { leaf in
                        unsafe X509_STORE_CTX_init(context, store, leaf, untrusted) == 1
                    }
                }
                guard isReady, let parameters = unsafe X509_STORE_CTX_get0_param(context) else {
                    throw CryptoError(failed: "X509_STORE_CTX_init", "Can't verify the certificates")
                }
                unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(time))
                unsafe X509_VERIFY_PARAM_set_depth(parameters, Int32(Self.maximumCount))
                unsafe X509_VERIFY_PARAM_set_auth_level(parameters, Self.securityLevel)
                guard unsafe X509_verify_cert(context) == 1 else { throw unsafe Self.failure(context) }
                return try unsafe path(found: X509_STORE_CTX_get0_chain(context), among: certificates + roots)
            }
        }
    }

    /// 112 bits of security, the strength of RSA with 2048 bits.
    private static let securityLevel: Int32 = 2

    /// Returns the certificates of a stack that OpenSSL built from the given ones.
    private func path(
        found stack: OpaquePointer?,
        among certificates: [Certificate]
    ) throws(CryptoError) -> [Certificate] {
        try unsafe OpenSSLLibrary.elements(of: stack).map { pointer throws(CryptoError) in
            let match = certificates.first { certificate in
                unsafe certificate.x509.withPointer { $0 == pointer }
            }
            guard let match else {
                throw CryptoError(.openSSL, "The verified chain contains an unknown certificate")
            }
            return match
        }
    }

    private static func failure(_ context: OpaquePointer?) -> CryptoError {
        let error = unsafe X509_STORE_CTX_get_error(context)
        let reason = unsafe X509_verify_cert_error_string(Int(error)).map { unsafe String(cString: $0) }
        let depth = unsafe X509_STORE_CTX_get_error_depth(context)
        // OpenSSL reports the last two for times after the year 9999.
        let isAboutTime = [
            X509_V_ERR_CERT_HAS_EXPIRED, X509_V_ERR_CERT_NOT_YET_VALID, X509_V_ERR_ERROR_IN_CERT_NOT_BEFORE_FIELD,
            X509_V_ERR_ERROR_IN_CERT_NOT_AFTER_FIELD,
        ].contains(error)
        return CryptoError(
            isAboutTime ? .certificateNotValid : .certificateNotTrusted,
            "Certificate chain verification failed: \(reason ?? "unknown reason") (X509_V_ERR \(error), certificate "
                + "\(depth) in the chain, counting from 0)"
        )
    }
}
