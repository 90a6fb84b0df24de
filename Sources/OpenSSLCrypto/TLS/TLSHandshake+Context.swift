internal import COpenSSL

extension TLSHandshake {
    /// Applies the policy to the `SSL_CTX` of a connection that is about to be made.
    ///
    /// - Parameter pointer: The `SSL_CTX`, of which there must be no `SSL` yet.
    /// - Throws: ``CryptoError/Code/openSSL`` if it belongs to another TLS library than this process's own, or if the library
    ///   fails; the connection must not be made then.
    package func apply(to pointer: UnsafeMutableRawPointer) throws(CryptoError) {
        OpenSSLLibrary.prepare()
        OpenSSLLibrary.clearErrors()
        // What an earlier user of the thread left would make the handshake look failed.
        defer { OpenSSLLibrary.clearErrors() }
        let context = OpaquePointer(pointer)
        guard unsafe Self.isOurs(context) else {
            throw CryptoError(.openSSL, "The connection belongs to another copy of the TLS library than this process's")
        }
        let store = try policy.trust()
        var isSet = unsafe store.withPointer { store in
            unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_VERIFY_CERT_STORE, 1, UnsafeMutableRawPointer(store)) == 1
        }
        isSet = unsafe Self.set(SSL_CTRL_SET_MIN_PROTO_VERSION, policy.minimumVersion.number, on: context) == 1 && isSet
        // 0 is the newest that the library has.
        let maximum = policy.maximumVersion?.number ?? 0
        isSet = unsafe Self.set(SSL_CTRL_SET_MAX_PROTO_VERSION, maximum, on: context) == 1 && isSet
        guard isSet else { throw CryptoError(failed: "SSL_CTX_ctrl", "The connection can't be prepared") }
        if !policy.allowsResumption {
            _ = unsafe Self.set(SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), on: context)
        }
        // The issuers that are sent are the identity's; otherwise OpenSSL would look for them among the trusted ones.
        _ = unsafe Self.set(SSL_CTRL_MODE, Int(SSL_MODE_NO_AUTO_CHAIN), on: context)
        try unsafe attach(to: context)
    }

    private static func set(_ command: Int32, _ value: Int, on context: OpaquePointer) -> Int {
        unsafe SSL_CTX_ctrl(context, command, value, nil)
    }

    /// Whether the context was made by the library that this process's calls reach.
    ///
    /// Each copy of the library has its tables of functions at addresses of its own.
    private static func isOurs(_ context: OpaquePointer) -> Bool {
        let method = unsafe SSL_CTX_get_ssl_method(context)
        return unsafe method == TLS_client_method() || method == TLS_method()
    }

    /// Sets the functions that OpenSSL calls, and gives it a reference to this object.
    private func attach(to context: OpaquePointer) throws(CryptoError) {
        let reference = unsafe Unmanaged.passRetained(self)
        guard Self.index >= 0, unsafe SSL_CTX_set_ex_data(context, Self.index, reference.toOpaque()) == 1 else {
            unsafe reference.release()
            throw CryptoError(failed: "SSL_CTX_set_ex_data", "The connection can't be prepared")
        }
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nil)
        unsafe SSL_CTX_set_cert_verify_callback(
            context,
            { context, handshake in
                guard let context = unsafe context, let handshake = unsafe TLSHandshake.behind(handshake) else {
                    return 0
                }
                return unsafe handshake.accepts(verifying: context) ? 1 : 0
            },
            reference.toOpaque()
        )
        unsafe SSL_CTX_set_cert_cb(
            context,
            { connection, handshake in
                guard let connection = unsafe connection, let handshake = unsafe TLSHandshake.behind(handshake) else {
                    return 0
                }
                return unsafe handshake.identifies(on: connection) ? 1 : 0
            },
            reference.toOpaque()
        )
        unsafe SSL_CTX_set_info_callback(context) { connection, event, value in
            guard event & SSL_CB_ALERT != 0, let connection = unsafe connection else { return }
            let handshake = unsafe SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), TLSHandshake.index)
            unsafe TLSHandshake.behind(handshake)?.noteAlert(value, isReceived: event & SSL_CB_READ != 0)
        }
    }

    /// Where an `SSL_CTX` has its reference; negative if there was no memory for it.
    private static let index = unsafe CRYPTO_get_ex_new_index(
        CRYPTO_EX_INDEX_SSL_CTX,
        0,
        nil,
        nil,
        nil,
        { _, handshake, _, _, _, _ in
            guard let handshake = unsafe handshake else { return }
            unsafe Unmanaged<TLSHandshake>.fromOpaque(handshake).release()
        }
    )

    private static func behind(_ pointer: UnsafeMutableRawPointer?) -> TLSHandshake? {
        unsafe pointer.map { unsafe Unmanaged<TLSHandshake>.fromOpaque($0).takeUnretainedValue() }
    }
}
