internal import COpenSSL

/// Builds and verifies certification paths: the owner of an `X509_STORE` with the roots.
@safe final class CertificateVerification {
    private let store: OpaquePointer
    private let roots: [Certificate]

    /// - Parameter roots: The only trusted certificates.
    /// - Throws: ``CryptoError/Code/openSSL``.
    init(roots: [Certificate]) throws(CryptoError) {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        guard let store = unsafe X509_STORE_new() else { throw CryptoError(failed: "X509_STORE_new", "No memory") }
        unsafe self.store = store
        self.roots = roots
        for root in roots {
            guard unsafe root.x509.withPointer({ unsafe X509_STORE_add_cert(store, $0) }) == 1 else {
                throw CryptoError(failed: "X509_STORE_add_cert", "OpenSSL rejected a root certificate")
            }
        }
    }

    deinit {
        unsafe X509_STORE_free(store)
    }

    /// Finds a path from a certificate to a root.
    ///
    /// - Parameters:
    ///   - leaf: The certificate.
    ///   - intermediates: Untrusted certificates that the path may contain.
    ///   - time: The time at which all must be valid, in seconds since 1970.
    /// - Returns: The path, from the certificate to a root.
    /// - Throws: ``CryptoError/Code/certificateNotTrusted``,
    ///   ``CryptoError/Code/certificateNotValid``, ``CryptoError/Code/openSSL``.
    func path(
        from leaf: Certificate,
        over intermediates: ArraySlice<Certificate>,
        at time: Int64
    ) throws(CryptoError) -> [Certificate] {
        OpenSSLLibrary.clearErrors()
        defer { OpenSSLLibrary.clearErrors() }
        let context = unsafe X509_STORE_CTX_new()
        defer { unsafe X509_STORE_CTX_free(context) }
        // The stack doesn't own its elements. `intermediates` outlives it.
        let untrusted = unsafe OPENSSL_sk_new_null()
        defer { unsafe OPENSSL_sk_free(untrusted) }
        for certificate in intermediates {
            let isPushed = unsafe certificate.x509.withPointer {
                unsafe OPENSSL_sk_push(untrusted, UnsafeRawPointer($0)) > 0
            }
            guard isPushed else { throw CryptoError(failed: "OPENSSL_sk_push", "No memory") }
        }
        let isReady = unsafe leaf.x509.withPointer {
            unsafe X509_STORE_CTX_init(context, store, $0, untrusted) == 1
        }
        guard isReady, let parameters = unsafe X509_STORE_CTX_get0_param(context) else {
            throw CryptoError(failed: "X509_STORE_CTX_init", "Can't verify the certificates")
        }
        unsafe X509_VERIFY_PARAM_set_time(parameters, time_t(time))
        unsafe X509_VERIFY_PARAM_set_depth(parameters, Int32(CertificateChain.maximumCount))
        unsafe X509_VERIFY_PARAM_set_auth_level(parameters, Self.securityLevel)
        return try withExtendedLifetime((leaf, intermediates)) { () throws(CryptoError) in
            guard unsafe X509_verify_cert(context) == 1 else { throw unsafe Self.failure(context) }
            return try unsafe path(found: X509_STORE_CTX_get0_chain(context), among: [leaf] + intermediates + roots)
        }
    }

    /// 112 bits of security, the strength of RSA with 2048 bits.
    private static let securityLevel: Int32 = 2

    /// Returns the certificates of a stack that OpenSSL built from the given ones.
    private func path(
        found stack: OpaquePointer?,
        among certificates: [Certificate]
    ) throws(CryptoError) -> [Certificate] {
        var path: [Certificate] = []
        for index in 0..<max(unsafe OPENSSL_sk_num(stack), 0) {
            let pointer = unsafe OPENSSL_sk_value(stack, index).map { OpaquePointer($0) }
            let match = certificates.first { certificate in
                unsafe certificate.x509.withPointer { unsafe $0 == pointer }
            }
            guard let match else {
                throw CryptoError(.openSSL, "The verified chain contains an unknown certificate")
            }
            path.append(match)
        }
        return path
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
