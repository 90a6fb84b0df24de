internal import COpenSSL
import Foundation
import OpenSSLCrypto

/// The state that a TLS server's connections share: the owner of an `SSL_CTX`.
///
/// It selects HTTP/1.1 with ALPN, and ends the handshake if the client offers only other protocols
/// ([RFC 7301 §3.2](https://www.rfc-editor.org/rfc/rfc7301#section-3.2)).
///
/// Clients can't renegotiate.
// reason: the pointer is set once. After initialization it's only passed to SSL_new, and the
// context's own lock guards what OpenSSL changes then (ticket keys, counters).
@safe final class TLSServerContext: @unchecked Sendable {
    private let pointer: OpaquePointer

    /// Versions in the wrong order and a certificate that this OpenSSL rejects for servers are an
    /// `invalidArgument`.
    init(_ configuration: LoopbackServer.TLS) throws(CryptoError) {
        OpenSSLLibrary.prepareAndClearErrors()
        guard let pointer = unsafe SSL_CTX_new(TLS_server_method()) else {
            throw CryptoError(failed: "SSL_CTX_new", "Can't create a TLS context")
        }
        unsafe self.pointer = pointer
        try setVersions(configuration.minimumVersion.number, configuration.maximumVersion.number)
        try setIdentity(configuration.certificate)
        try setClientAuthentication(configuration.clientAuthentication)
        unsafe COpenSSL_server_set_options(pointer, configuration.issuesSessionTickets ? 1 : 0)
        if !configuration.issuesSessionTickets { unsafe SSL_CTX_set_num_tickets(pointer, 0) }
        unsafe SSL_CTX_set_alpn_select_cb(pointer, Self.selectProtocol, nil)
    }

    deinit {
        unsafe SSL_CTX_free(pointer)
    }

    /// The caller must free the connection.
    fileprivate func makeConnection() throws(CryptoError) -> OpaquePointer {
        OpenSSLLibrary.clearErrors()
        guard let connection = unsafe SSL_new(pointer) else { throw CryptoError(failed: "SSL_new", "No memory") }
        return unsafe connection
    }

    private func setVersions(_ minimum: Int32, _ maximum: Int32) throws(CryptoError) {
        guard minimum <= maximum else {
            throw CryptoError(.invalidArgument, "The minimum TLS version is newer than the maximum")
        }
        // OpenSSL's default security level forbids SHA-1 signatures, which the old versions
        // require.
        if minimum < TLS1_2_VERSION { unsafe SSL_CTX_set_security_level(pointer, 0) }
        let isSet =
            unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(minimum), nil) == 1
            && SSL_CTX_ctrl(pointer, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(maximum), nil) == 1
        guard isSet else { throw CryptoError(failed: "SSL_CTX_ctrl", "OpenSSL doesn't support these TLS versions") }
    }

    private func setIdentity(_ identity: MockCertificate) throws(CryptoError) {
        let certificates = identity.chain.certificates
        let isSet = try unsafe certificates[0].withX509 { unsafe SSL_CTX_use_certificate(pointer, $0) == 1 }
        guard isSet, try unsafe identity.key.withEVPKey({ unsafe SSL_CTX_use_PrivateKey(pointer, $0) == 1 }) else {
            throw CryptoError(
                .invalidArgument,
                failed: "SSL_CTX_use_PrivateKey",
                "The server can't use its \(identity.key.kind) certificate"
            )
        }
        for issuer in certificates.dropFirst() {
            let isAdded = try unsafe issuer.withX509 { issuer in
                // 1 makes the context hold a reference.
                unsafe SSL_CTX_ctrl(pointer, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(issuer)) == 1
            }
            guard isAdded else {
                throw CryptoError(
                    .invalidArgument,
                    failed: "SSL_CTX_ctrl",
                    "The server can't use a certificate of its chain"
                )
            }
        }
    }

    private func setClientAuthentication(
        _ authentication: LoopbackServer.TLS.ClientAuthentication
    ) throws(CryptoError) {
        guard let roots = authentication.roots else { return }
        let requirement = authentication.isRequired ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0
        unsafe SSL_CTX_set_verify(pointer, SSL_VERIFY_PEER | requirement, nil)
        unsafe CertificateMessage.check(on: pointer)
        for root in roots {
            // The store and the list of names hold their own references and copies.
            let isAdded = try unsafe root.withX509 { root in
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
        let name = Array("MockNetworking".utf8)
        guard unsafe SSL_CTX_set_session_id_context(pointer, name, UInt32(name.count)) == 1 else {
            throw CryptoError(failed: "SSL_CTX_set_session_id_context", "Can't enable session resumption")
        }
    }

    /// The client's list has names, each preceded by a length byte (RFC 7301 §3.1).
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
        return SSL_TLSEXT_ERR_ALERT_FATAL
    }
}

/// The server side of a TLS connection without a socket: the owner of an `SSL`.
///
/// Pass data from the network to ``receive(_:)`` and send the data from ``takeCiphertext()``. No
/// method blocks. Use a connection from one thread at a time.
@safe final class TLSServerConnection {
    enum Outcome {
        /// In bytes of plaintext.
        case transferred(Int)
        case needsInput
        /// The client closed its side of the connection
        /// ([RFC 8446 §6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)).
        case ended
        /// ``takeCiphertext()`` may return an alert that tells the client the reason.
        case failed(CryptoError)
    }

    private let pointer: OpaquePointer
    private var failure: CryptoError?

    init(_ context: TLSServerContext) throws(CryptoError) {
        unsafe pointer = try context.makeConnection()
        let input = unsafe BIO_new(BIO_s_mem())
        let output = unsafe BIO_new(BIO_s_mem())
        guard unsafe input != nil, unsafe output != nil else {
            unsafe BIO_free(input)
            unsafe BIO_free(output)
            throw CryptoError(failed: "BIO_new", "No memory")
        }
        // The connection takes ownership of both.
        unsafe SSL_set_bio(pointer, input, output)
        unsafe SSL_set_accept_state(pointer)
    }

    deinit {
        unsafe SSL_free(pointer)
    }

    func receive(_ ciphertext: RawSpan) {
        OpenSSLLibrary.clearErrors()
        let isTaken = unsafe ciphertext.withUnsafeBytes { bytes in
            var written = 0
            return unsafe BIO_write_ex(SSL_get_rbio(pointer), bytes.baseAddress, bytes.count, &written) == 1
        }
        if !isTaken, !ciphertext.isEmpty, failure == nil {
            failure = CryptoError(failed: "BIO_write_ex", "Can't store the received data")
        }
    }

    /// Performs the handshake first; the buffer must not be empty.
    func read(into buffer: inout [UInt8]) -> Outcome {
        transfer("SSL_read_ex") { count in
            unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe SSL_read_ex(pointer, buffer.baseAddress, buffer.count, &count)
            }
        }
    }

    /// Encrypts nonempty data, either all of it or none.
    func write(_ plaintext: RawSpan) -> Outcome {
        transfer("SSL_write_ex") { count in
            unsafe plaintext.withUnsafeBytes { bytes in
                unsafe SSL_write_ex(pointer, bytes.baseAddress, bytes.count, &count)
            }
        }
    }

    /// Does nothing unless the handshake succeeded.
    func finish() {
        guard failure == nil, isHandshakeFinished else { return }
        OpenSSLLibrary.clearErrors()
        // Ignore whether the client has closed its side too.
        _ = unsafe SSL_shutdown(pointer)
        OpenSSLLibrary.clearErrors()
    }

    func takeCiphertext() -> [UInt8] {
        let output = unsafe SSL_get_wbio(pointer)
        let size = unsafe BIO_ctrl_pending(output)
        guard size > 0 else { return [] }
        return [UInt8](capacity: size) { span in
            unsafe span.withUnsafeMutableBufferPointer { buffer, initializedCount in
                // A memory BIO returns all its data at once.
                _ = unsafe BIO_read_ex(output, buffer.baseAddress, size, &initializedCount)
            }
        }
    }

    var isHandshakeFinished: Bool { unsafe SSL_is_init_finished(pointer) == 1 }

    /// Does nothing before the end of the handshake.
    func describeSession(in record: inout LoopbackServer.ConnectionRecord) {
        guard isHandshakeFinished else { return }
        record.tlsVersion = LoopbackServer.TLS.Version(number: unsafe SSL_version(pointer))
        record.cipherSuite = unsafe Self.text(SSL_CIPHER_get_name(SSL_get_current_cipher(pointer))) ?? ""
        record.isResumed = unsafe SSL_session_reused(pointer) == 1
        record.serverName = unsafe Self.text(SSL_get_servername(pointer, TLSEXT_NAMETYPE_host_name))
        record.applicationProtocol = applicationProtocol
        let certificate = clientCertificate
        record.clientCertificateSubject = certificate?.subject
        record.clientCertificateDER = certificate.map { Data($0.der) }
    }

    private var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var size: UInt32 = 0
        unsafe SSL_get0_alpn_selected(pointer, &name, &size)
        guard size > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(size)), as: UTF8.self)
    }

    /// Sent in this session or in the resumed one.
    private var clientCertificate: Certificate? {
        guard let certificate = unsafe SSL_get1_peer_certificate(pointer) else { return nil }
        defer { unsafe X509_free(certificate) }
        return try? unsafe Certificate(copying: certificate)
    }

    private func transfer(_ function: StaticString, _ body: (inout Int) -> Int32) -> Outcome {
        if let failure { return .failed(failure) }
        OpenSSLLibrary.clearErrors()
        var count = 0
        let status = body(&count)
        guard status != 1 else { return .transferred(count) }
        switch unsafe SSL_get_error(pointer, status) {
        // A memory BIO accepts any amount of data, so writing never blocks.
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            let failure = CryptoError(
                failed: function,
                isHandshakeFinished ? "The TLS connection failed" : "The TLS handshake failed"
            )
            self.failure = failure
            return .failed(failure)
        }
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        unsafe pointer.map { unsafe String(cString: $0) }
    }
}
