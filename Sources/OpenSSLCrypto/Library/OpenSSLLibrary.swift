internal import COpenSSL

/// The OpenSSL library that this process runs with.
package enum OpenSSLLibrary {
    private static let prepared: Void = {
        // OpenSSL otherwise frees its tables in an exit handler while other threads may still be inside it, which
        // crashes now and then at the end of a process; the kernel takes the memory back anyway. The option only works
        // in the first initialization of the process, and later ones are harmless. The result is not needed: where
        // initialization failed, the first real call fails with a reason.
        _ = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT | OPENSSL_INIT_LOAD_CRYPTO_STRINGS), nil)
    }()

    /// Initializes OpenSSL once, without its exit handler.
    ///
    /// Everything in this module does so before its first call. Call it at the start of a program that uses OpenSSL
    /// through other libraries too, so that this initialization comes first.
    package static func prepare() {
        prepared
    }

    /// The version of the library at run time, such as `OpenSSL 3.0.19 27 Jan 2026`.
    package static var version: String {
        guard let text = unsafe OpenSSL_version(OPENSSL_VERSION) else { return "OpenSSL" }
        return unsafe String(cString: text)
    }
}

extension OpenSSLLibrary {
    /// The name of a function whose address tells which copy of the library somebody uses.
    package static let tellingFunction = "SSL_CTX_new"

    /// Whether another library in this process makes its TLS connections with the OpenSSL that this one calls.
    ///
    /// - Parameters:
    ///   - backend: What the other library says it uses, such as `OpenSSL/3.0.19`.
    ///   - functionAddress: Where it finds the function ``tellingFunction``; `nil` if that can't be told, as in a program that
    ///     is linked statically.
    /// - Returns: Whether nothing speaks against it. ``TLSHandshake/apply(to:)`` looks again at each connection.
    package static func isShared(backend: String, functionAddress: UnsafeRawPointer?) -> Bool {
        guard let version = unsafe OpenSSL_version(OPENSSL_VERSION_STRING) else { return false }
        guard backend == "OpenSSL/" + (unsafe String(cString: version)) else { return false }
        guard let functionAddress = unsafe functionAddress else { return true }
        return unsafe functionAddress == COpenSSL_telling_function()
    }
}
