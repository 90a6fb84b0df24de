internal import COpenSSL

/// The state that a TLS server's connections share: the owner of an `SSL_CTX`.
///
/// It selects HTTP/1.1 with ALPN ([RFC 7301](https://www.rfc-editor.org/rfc/rfc7301)) if the client
/// offers it, and otherwise continues without ALPN. Clients can't renegotiate.
// reason: the pointer is set once. After initialization it's only passed to SSL_new, and the
// context's own lock guards what OpenSSL changes then (ticket keys, counters).
@safe package final class TLSServerContext: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Creates a context.
    ///
    /// Versions in the wrong order and a certificate that this OpenSSL rejects for servers are an
    /// `invalidArgument`.
    package init(_ configuration: TLSServerConfiguration) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let pointer = unsafe SSL_CTX_new(TLS_server_method()) else {
            throw CryptoError(failed: "SSL_CTX_new", "Can't create a TLS context")
        }
        unsafe self.pointer = pointer
        try setVersions(configuration.minimumVersion, configuration.maximumVersion)
        try setIdentity(configuration.chain, configuration.key)
        try setClientAuthentication(configuration.clientAuthentication)
        unsafe COpenSSL_server_set_options(pointer, configuration.issuesSessionTickets ? 1 : 0)
        if !configuration.issuesSessionTickets { unsafe SSL_CTX_set_num_tickets(pointer, 0) }
        unsafe SSL_CTX_set_alpn_select_cb(pointer, Self.selectProtocol, nil)
        unsafe CertificateMessage.check(on: pointer)
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
    }

    /// Creates the state of a new connection, which the caller must free.
    func makeConnection() throws(CryptoError) -> OpaquePointer {
        OpenSSLLibrary.clearErrors()
        guard let connection = unsafe SSL_new(pointer) else { throw CryptoError(failed: "SSL_new", "No memory") }
        return unsafe connection
    }

    private func setVersions(
        _ minimum: TLSServerConfiguration.Version,
        _ maximum: TLSServerConfiguration.Version
    ) throws(CryptoError) {
        guard minimum <= maximum else {
            throw CryptoError(.invalidArgument, "The minimum TLS version is newer than the maximum")
        }
        // OpenSSL's default security level forbids SHA-1 signatures, which the old versions
        // require.
        if minimum < .tls12 { unsafe SSL_CTX_set_security_level(pointer, 0) }
        guard unsafe COpenSSL_server_set_versions(pointer, Int32(minimum.rawValue), Int32(maximum.rawValue)) == 1 else {
            throw CryptoError(failed: "SSL_CTX_set_min_proto_version", "OpenSSL doesn't support these TLS versions")
        }
    }

    private func setIdentity(_ chain: CertificateChain, _ key: PrivateKey) throws(CryptoError) {
        guard key.publicKey.spkiDER() == chain.certificates[0].subjectPublicKeyInfo else {
            throw CryptoError(.keyMismatch, "The server's key doesn't belong to its certificate")
        }
        let evpKey = try EVPKey.make(key)
        OpenSSLLibrary.clearErrors()
        let isSet = unsafe chain.certificates[0].x509.withPointer { unsafe SSL_CTX_use_certificate(pointer, $0) == 1 }
        guard isSet, unsafe evpKey.withPointer({ unsafe SSL_CTX_use_PrivateKey(pointer, $0) }) == 1 else {
            throw CryptoError(
                .invalidArgument,
                failed: "SSL_CTX_use_PrivateKey",
                "The server can't use its \(key.kind) certificate"
            )
        }
        for issuer in chain.certificates.dropFirst() {
            let isAdded = unsafe issuer.x509.withPointer { issuer in
                unsafe COpenSSL_server_add_chain_certificate(pointer, issuer) == 1
            }
            guard isAdded else {
                throw CryptoError(
                    .invalidArgument,
                    failed: "SSL_CTX_add1_chain_cert",
                    "The server can't use a certificate of its chain"
                )
            }
        }
    }

    private func setClientAuthentication(
        _ authentication: TLSServerConfiguration.ClientAuthentication
    ) throws(CryptoError) {
        let roots: [Certificate]
        switch authentication {
        case .none: return
        case .requested(let trusted):
            roots = trusted
            unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER, nil)
        case .required(let trusted):
            roots = trusted
            unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        for root in roots {
            // The store and the list of names hold their own references and copies.
            let isAdded = unsafe root.x509.withPointer { root in
                unsafe X509_STORE_add_cert(SSL_CTX_get_cert_store(pointer), root) == 1
                    && SSL_CTX_add_client_CA(pointer, root) == 1
            }
            guard isAdded else { throw CryptoError(failed: "X509_STORE_add_cert", "OpenSSL rejected a root") }
        }
        // A root may be an intermediate authority. It's trusted for the certificates it issued, but
        // its issuer isn't.
        unsafe X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(pointer), UInt(X509_V_FLAG_PARTIAL_CHAIN))
        // Without a session ID context, OpenSSL refuses to resume sessions with client
        // authentication.
        let name = Array("OpenSSLCrypto".utf8)
        guard unsafe SSL_CTX_set_session_id_context(pointer, name, UInt32(name.count)) == 1 else {
            throw CryptoError(failed: "SSL_CTX_set_session_id_context", "Can't enable session resumption")
        }
    }

    /// Selects `http/1.1` from the client's list of names, each preceded by a length byte (RFC 7301
    /// §3.1).
    private static let selectProtocol: SSL_CTX_alpn_select_cb_func = { _, name, size, offers, offersSize, _ in
        let supported = Array("http/1.1".utf8)
        let list = unsafe UnsafeBufferPointer(start: offers, count: Int(offersSize))
        var offset = 0
        while offset < list.count {
            let start = offset + 1
            let end = start + Int(unsafe list[offset])
            guard end <= list.count else { break }
            if unsafe list[start..<end].elementsEqual(supported), let first = list.baseAddress {
                unsafe name?.pointee = first + start
                unsafe size?.pointee = UInt8(supported.count)
                return SSL_TLSEXT_ERR_OK
            }
            offset = end
        }
        return SSL_TLSEXT_ERR_NOACK
    }
}
