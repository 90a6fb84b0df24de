internal import COpenSSL

/// The trusted certificates for verifying chains: the owner of an `X509_STORE`.
///
/// A value can serve any number of connections.
// reason: the pointer is set once, an X509_STORE has its own lock, and its reference count is
// atomic.
@safe package final class TrustStore: @unchecked Sendable {
    private let store: OpaquePointer

    /// Creates a store of trusted certificates, optionally with the system's.
    ///
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

    /// Returns the system's trusted certificates, which are read on first use.
    package static func system() throws(CryptoError) -> TrustStore {
        try systemStore.get()
    }

    private static let systemStore = Result { () throws(CryptoError) in
        try TrustStore(roots: [], includesSystemRoots: true)
    }

    /// Calls a closure with the pointer, which is valid only during the call.
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
        guard !SystemPaths.current.exist else { return }
        for path in Self.customaryFiles where unsafe X509_STORE_load_file(store, path) == 1 { return }
    }
}
