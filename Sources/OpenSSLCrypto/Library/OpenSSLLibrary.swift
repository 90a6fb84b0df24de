internal import COpenSSL

/// The OpenSSL library that this process uses.
package enum OpenSSLLibrary {
    private static let prepared: Void = {
        // Disables the exit handler, which frees OpenSSL's tables while other threads may still use
        // them and occasionally crashes an exiting process. The kernel reclaims the memory anyway.
        // The option only affects the first initialization in the process; later ones are harmless.
        // If initialization fails, the first real call reports the reason.
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_LOAD_CRYPTO_STRINGS), nil)
    }()

    /// Initializes OpenSSL once, without its exit handler.
    ///
    /// This module always calls it before using OpenSSL. A program that also uses OpenSSL through
    /// other libraries should call it at startup, so that this initialization comes first.
    package static func prepare() {
        prepared
    }

    /// Initializes OpenSSL once, and discards errors of earlier calls on this thread.
    static func prepareAndClearErrors() {
        prepare()
        clearErrors()
    }

    /// The version of the library at run time, such as `OpenSSL 3.0.19 27 Jan 2026`.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION) else { return "OpenSSL" }
        return unsafe String(cString: text)
    }

    /// The name of a function whose address identifies the loaded copy of the library.
    package static let tellingFunction = "SSL_CTX_new"

    /// Returns whether another library in this process uses the same OpenSSL for its TLS
    /// connections: `true` if nothing indicates a different copy.
    ///
    /// The other library describes its TLS library, such as `OpenSSL/3.0.19`, and knows the address
    /// of ``tellingFunction``; it's `nil` if unknown, as in a statically linked program.
    /// ``TLSHandshake/apply(to:)`` checks each connection again.
    package static func isShared(backend: String, functionAddress: UnsafeRawPointer?) -> Bool {
        guard let version = unsafe OpenSSL_version(OPENSSL_VERSION_STRING) else { return false }
        guard backend == "OpenSSL/" + (unsafe String(cString: version)) else { return false }
        guard let functionAddress = unsafe functionAddress else { return true }
        return unsafe functionAddress == COpenSSL_telling_function()
    }
}
