internal import COpenSSL

/// The certificates under which TLS peers are trusted: the owner of an `X509_STORE`.
///
/// A value may be used from several threads and for any number of connections at once.
// reason: the pointer is set once; an X509_STORE has a lock of its own, and its reference count is atomic.
@safe package final class TrustStore: @unchecked Sendable {
    private let store: OpaquePointer

    /// Collects certificates to trust.
    ///
    /// A certificate that is listed is trusted for what it issued even if it is not self-signed.
    ///
    /// - Parameters:
    ///   - roots: The certificates.
    ///   - includesSystemRoots: Whether what the system trusts is trusted too.
    /// - Throws: ``CryptoError/Code/openSSL`` if the library fails.
    package init(roots: [Certificate], includesSystemRoots: Bool = false) throws(CryptoError) {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        guard let store = unsafe X509_STORE_new() else { throw CryptoError(failed: "X509_STORE_new", "No memory") }
        unsafe self.store = store
        // Without this flag, a chain must end in a self-signed certificate, and a listed intermediate would be no root.
        unsafe X509_STORE_set_flags(store, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        for root in roots {
            guard unsafe root.x509.withPointer({ unsafe X509_STORE_add_cert(store, $0) }) == 1 else {
                throw CryptoError(failed: "X509_STORE_add_cert", "A root certificate is not accepted")
            }
        }
        if includesSystemRoots { try loadSystemRoots() }
    }

    deinit {
        unsafe X509_STORE_free(store)
    }

    /// What the system trusts, read when it is needed for the first time.
    package static func system() throws(CryptoError) -> TrustStore {
        try systemStore.get()
    }

    private static let systemStore = Result { () throws(CryptoError) in
        try TrustStore(roots: [], includesSystemRoots: true)
    }

    /// Lends the pointer for the time of a call.
    func withPointer<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        unsafe body(store)
    }

    /// Where distributions keep what they trust, for an OpenSSL that was built to look elsewhere.
    private static let customaryFiles = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
    ]

    /// Adds what OpenSSL's settings name (`SSL_CERT_FILE` and `SSL_CERT_DIR` in the environment, then its own places).
    private func loadSystemRoots() throws(CryptoError) {
        // Missing files and folders leave errors behind, which are nobody's.
        defer { OpenSSLLibrary.clearErrors() }
        guard unsafe X509_STORE_set_default_paths(store) == 1 else {
            throw CryptoError(failed: "X509_STORE_set_default_paths", "The system's root certificates can't be read")
        }
        guard !SystemPaths.current.exist else { return }
        for path in Self.customaryFiles where unsafe X509_STORE_load_file(store, path) == 1 { return }
    }
}
