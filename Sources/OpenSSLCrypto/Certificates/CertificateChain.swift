internal import COpenSSL
internal import Glibc

/// A chain of certificates that may lead to a trusted root.
package struct CertificateChain: Sendable {
    /// The certificates, starting with the leaf.
    package let certificates: [Certificate]

    package static let maximumCount = 10

    /// The leaf, then its issuers, at most ten; the root may be missing, and nothing is verified.
    package init(_ certificates: [Certificate]) throws(CryptoError) {
        guard (1...Self.maximumCount).contains(certificates.count) else {
            throw CryptoError(
                .invalidArgument,
                "The chain has \(certificates.count) certificates, but must have 1 to \(Self.maximumCount)"
            )
        }
        self.certificates = certificates
    }

    /// Verifies that the leaf was issued under one of the self-signed roots, may create signatures
    /// and is valid at a time in seconds since 1970, and returns the path from the leaf to a root.
    ///
    /// Only the given roots are trusted, not those of the system, and nothing is downloaded. The
    /// verification covers signatures (at least 112 bits of security, so no SHA-1 and no RSA keys
    /// below 2048 bits), validity periods, basic constraints, path lengths, name constraints and
    /// unknown critical extensions. If the leaf states its key usage, it must include digital
    /// signatures. The caller must check extended key usages, names and revocation. It throws
    /// `certificateNotTrusted` or `certificateNotValid`.
    package func verified(roots: [Certificate], at time: Int64) throws(CryptoError) -> [Certificate] {
        let leaf = certificates[0]
        let path = try path(to: roots, at: time)
        guard leaf.x509.allowsSignatures else {
            throw CryptoError(
                .certificateNotTrusted,
                "The key usage of the certificate “\(leaf.subject.prefix(128))” doesn't include digital signatures"
            )
        }
        return path
    }

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

/// The trusted certificates for verifying chains: the owner of an `X509_STORE`.
// reason: the pointer is set once, an X509_STORE has its own lock, and its reference count is
// atomic.
@safe package final class TrustStore: @unchecked Sendable {
    private let store: OpaquePointer

    /// By default, a listed certificate is trusted as an issuer even if it isn't self-signed.
    package init(
        roots: [Certificate],
        includesSystemRoots: Bool = false,
        trustsIntermediates: Bool = true
    ) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let store = unsafe X509_STORE_new() else { throw CryptoError(failed: "X509_STORE_new", "No memory") }
        unsafe self.store = store
        // Without this flag, a chain must end in a self-signed certificate.
        if trustsIntermediates { unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN)) }
        for root in roots {
            guard unsafe root.x509.withPointer({ unsafe X509_STORE_add_cert(store, $0) }) == 1 else {
                throw CryptoError(failed: "X509_STORE_add_cert", "OpenSSL rejected a root certificate")
            }
        }
        if includesSystemRoots { try loadSystemRoots() }
    }

    deinit {
        unsafe X509_STORE_free(store)
    }

    package static func system() throws(CryptoError) -> TrustStore {
        try systemStore.get()
    }

    private static let systemStore = Result { () throws(CryptoError) in
        try TrustStore(roots: [], includesSystemRoots: true)
    }

    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(store)
    }

    /// The usual files of distributions, for an OpenSSL that was built with other paths.
    private static let customaryFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// Adds the certificates of OpenSSL's configured paths (`SSL_CERT_FILE` and `SSL_CERT_DIR` in
    /// the environment, then its defaults).
    private func loadSystemRoots() throws(CryptoError) {
        // Missing files and directories leave errors in the queue, which no caller needs.
        defer { OpenSSLLibrary.clearErrors() }
        guard unsafe X509_STORE_set_default_paths(store) == 1 else {
            throw CryptoError(failed: "X509_STORE_set_default_paths", "Can't read the system's root certificates")
        }
        guard !Self.hasConfiguredRoots else { return }
        for path in Self.customaryFiles where unsafe X509_STORE_load_file(store, path) == 1 { return }
    }

    /// The file of OpenSSL's configured paths is readable, or one of the directories isn't empty.
    private static var hasConfiguredRoots: Bool {
        let file = unsafe path(X509_get_default_cert_file_env(), X509_get_default_cert_file())
        if let file, unsafe access(file, R_OK) == 0 { return true }
        let directories = unsafe path(X509_get_default_cert_dir_env(), X509_get_default_cert_dir()) ?? ""
        return directories.split(separator: ":").contains { hasEntries(String($0)) }
    }

    private static func path(_ variable: UnsafePointer<CChar>?, _ standard: UnsafePointer<CChar>?) -> String? {
        let stated = unsafe variable.flatMap { unsafe getenv($0) }.map { unsafe String(cString: $0) }
        return unsafe stated ?? standard.map { unsafe String(cString: $0) }
    }

    private static func hasEntries(_ path: String) -> Bool {
        guard let folder = unsafe opendir(path) else { return false }
        defer { unsafe closedir(folder) }
        while let entry = unsafe readdir(folder) {
            // Every directory contains “.” and “..”.
            if unsafe entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { return true }
        }
        return false
    }
}

/// OpenSSL's list of certificates: the owner of the list, which keeps the certificates alive.
@safe struct CertificateStack: ~Copyable {
    private let pointer: OpaquePointer?
    private let certificates: [Certificate]

    init(_ certificates: some Sequence<Certificate>) throws(CryptoError) {
        self.certificates = Array(certificates)
        unsafe pointer = OPENSSL_sk_new_null()
        for certificate in certificates {
            let isPushed = unsafe certificate.x509.withPointer {
                unsafe OPENSSL_sk_push(pointer, UnsafeRawPointer($0)) > 0
            }
            guard isPushed else { throw CryptoError(failed: "OPENSSL_sk_push", "No memory") }
        }
    }

    deinit {
        unsafe OPENSSL_sk_free(pointer)
    }

    func withPointer<Result, Failure: Error>(
        _ body: (OpaquePointer?) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe body(pointer)
    }
}

extension OpenSSLLibrary {
    /// Returns the elements of a stack, which still owns them.
    static func elements(of stack: OpaquePointer?) -> [OpaquePointer] {
        unsafe (0..<max(OPENSSL_sk_num(stack), 0)).compactMap { index in
            unsafe OPENSSL_sk_value(stack, index).map { OpaquePointer($0) }
        }
    }
}
