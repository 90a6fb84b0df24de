internal import COpenSSL

extension TLSHandshake {
    /// Applies the policy to the `SSL_CTX` of a new connection, which must not have an `SSL` yet.
    ///
    /// It throws `openSSL` if the context belongs to another copy of the TLS library or if OpenSSL
    /// fails. The connection must not be opened then.
    package func apply(to pointer: UnsafeMutableRawPointer) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        // Errors that earlier calls on this thread left would make the handshake appear to fail.
        defer { OpenSSLLibrary.clearErrors() }
        let context = OpaquePointer(pointer)
        guard unsafe Self.isOurs(context) else {
            throw CryptoError(.openSSL, "The connection uses a different copy of the TLS library")
        }
        let store = try policy.trust()
        var isSet = unsafe store.withPointer { store in
            unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_VERIFY_CERT_STORE, 1, UnsafeMutableRawPointer(store)) == 1
        }
        let minimum = policy.minimumVersion.rawValue
        isSet = unsafe Self.set(SSL_CTRL_SET_MIN_PROTO_VERSION, minimum, on: context) == 1 && isSet
        // 0 means the newest version that the library supports.
        let maximum = policy.maximumVersion?.rawValue ?? 0
        isSet = unsafe Self.set(SSL_CTRL_SET_MAX_PROTO_VERSION, maximum, on: context) == 1 && isSet
        guard isSet else { throw CryptoError(failed: "SSL_CTX_ctrl", "Can't prepare the connection") }
        if !policy.allowsResumption {
            _ = unsafe Self.set(SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), on: context)
        }
        // A third of OpenSSL's limit, which is still several times a usual chain: the certificates
        // are parsed on a thread that other connections share.
        _ = unsafe Self.set(SSL_CTRL_SET_MAX_CERT_LIST, 32 << 10, on: context)
        // Send the identity's issuers only. Otherwise OpenSSL would search for issuers among the
        // trusted certificates.
        _ = unsafe Self.set(SSL_CTRL_MODE, Int(SSL_MODE_NO_AUTO_CHAIN), on: context)
        try unsafe attach(to: context)
        unsafe CertificateMessage.check(on: context)
    }

    private static func set(_ command: Int32, _ value: Int, on context: OpaquePointer) -> Int {
        unsafe SSL_CTX_ctrl(context, command, value, nil)
    }

    /// Returns whether the context was created by the library that this process calls.
    ///
    /// Each copy of the library has its own function tables at different addresses.
    private static func isOurs(_ context: OpaquePointer) -> Bool {
        let method = unsafe SSL_CTX_get_ssl_method(context)
        return unsafe method == TLS_client_method() || method == TLS_method()
    }

    /// Sets the callbacks and gives OpenSSL a reference to this object.
    private func attach(to context: OpaquePointer) throws(CryptoError) {
        let reference = unsafe Unmanaged.passRetained(self)
        guard Self.index >= 0, unsafe SSL_CTX_set_ex_data(context, Self.index, reference.toOpaque()) == 1 else {
            unsafe reference.release()
            throw CryptoError(failed: "SSL_CTX_set_ex_data", "Can't prepare the connection")
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
            guard event & (SSL_CB_ALERT | SSL_CB_HANDSHAKE_DONE) != 0, let connection = unsafe connection else {
                return
            }
            let handshake = unsafe TLSHandshake.of(connection)
            if event & SSL_CB_ALERT != 0 {
                handshake?.noteAlert(value, isReceived: event & SSL_CB_READ != 0)
            } else {
                handshake?.note(
                    Session(
                        version: TLSProtocolVersion(rawValue: Int(unsafe SSL_version(connection))),
                        isResumed: unsafe SSL_session_reused(connection) == 1
                    )
                )
            }
        }
    }

    /// The index of the reference in an `SSL_CTX`; negative if memory ran out.
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

    /// Returns the handshake whose policy was applied to a connection's context, or `nil`.
    static func of(_ connection: OpaquePointer?) -> TLSHandshake? {
        guard index >= 0, let connection = unsafe connection else { return nil }
        return unsafe behind(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), index))
    }

    private static func behind(_ pointer: UnsafeMutableRawPointer?) -> TLSHandshake? {
        unsafe pointer.map { unsafe Unmanaged<TLSHandshake>.fromOpaque($0).takeUnretainedValue() }
    }
}
