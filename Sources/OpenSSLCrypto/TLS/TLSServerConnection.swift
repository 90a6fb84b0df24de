internal import COpenSSL

/// The server's end of one TLS connection, without a socket: the owner of an `SSL`.
///
/// What comes from the network goes in by ``receive(_:)``, what has to go there comes out of ``takeCiphertext()``, and
/// nothing ever waits. It belongs to one thread at a time.
@safe package final class TLSServerConnection {
    /// What reading or writing achieved.
    package enum Outcome: Sendable {
        /// So many octets of plaintext.
        case transferred(Int)
        /// Nothing can be done before more comes from the network.
        case needsInput
        /// The client has said that it sends nothing more
        /// ([RFC 8446 §6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)).
        case ended
        /// The connection is of no more use; an alert that tells the client why may wait in ``takeCiphertext()``.
        case failed(CryptoError)
    }

    private let pointer: OpaquePointer
    private var failure: CryptoError?

    /// Begins a handshake, which reading carries on.
    ///
    /// - Parameter context: What the server shows, asks for and accepts.
    /// - Throws: ``CryptoError/Code/openSSL``.
    package init(_ context: TLSServerContext) throws(CryptoError) {
        unsafe pointer = try context.makeConnection()
        let input = unsafe BIO_new(BIO_s_mem())
        let output = unsafe BIO_new(BIO_s_mem())
        guard unsafe input != nil, unsafe output != nil else {
            unsafe BIO_free(input)
            unsafe BIO_free(output)
            throw CryptoError(failed: "BIO_new", "No memory")
        }
        // The connection takes both over.
        unsafe SSL_set_bio(pointer, input, output)
        unsafe SSL_set_accept_state(pointer)
    }

    deinit {
        unsafe SSL_free(pointer)
    }

    /// Takes what came from the network.
    ///
    /// - Parameter ciphertext: The octets, any number of them.
    package func receive(_ ciphertext: RawSpan) {
        OpenSSLLibrary.clearErrors()
        let isTaken = unsafe ciphertext.withUnsafeBytes { bytes in
            var written = 0
            return unsafe BIO_write_ex(SSL_get_rbio(pointer), bytes.baseAddress, bytes.count, &written) == 1
        }
        if !isTaken, !ciphertext.isEmpty, failure == nil {
            failure = CryptoError(failed: "BIO_write_ex", "What was received can't be kept")
        }
    }

    /// Reads what the client sent, and does the handshake first.
    ///
    /// - Parameter buffer: Where the octets are put, from its beginning; not empty.
    /// - Returns: How many, or why none.
    package func read(into buffer: inout [UInt8]) -> Outcome {
        if let failure { return .failed(failure) }
        OpenSSLLibrary.clearErrors()
        var count = 0
        let status = unsafe buffer.withUnsafeMutableBytes { buffer in
            unsafe SSL_read_ex(pointer, buffer.baseAddress, buffer.count, &count)
        }
        return status == 1 ? .transferred(count) : outcome(of: status, "SSL_read_ex")
    }

    /// Encrypts octets for the client.
    ///
    /// - Parameter plaintext: The octets; not empty.
    /// - Returns: How many were encrypted, all of them if any, or why none.
    package func write(_ plaintext: RawSpan) -> Outcome {
        if let failure { return .failed(failure) }
        OpenSSLLibrary.clearErrors()
        var count = 0
        let status = unsafe plaintext.withUnsafeBytes { bytes in
            unsafe SSL_write_ex(pointer, bytes.baseAddress, bytes.count, &count)
        }
        return status == 1 ? .transferred(count) : outcome(of: status, "SSL_write_ex")
    }

    /// Says that nothing more will be sent, if there is anybody to understand it.
    package func finish() {
        guard failure == nil, isHandshakeFinished else { return }
        OpenSSLLibrary.clearErrors()
        // Its result tells whether the client has said so too, which nobody waits for.
        _ = unsafe SSL_shutdown(pointer)
        OpenSSLLibrary.clearErrors()
    }

    /// Takes what has to go to the network.
    ///
    /// - Returns: The octets; empty if there are none.
    package func takeCiphertext() -> [UInt8] {
        let output = unsafe SSL_get_wbio(pointer)
        let size = unsafe BIO_ctrl_pending(output)
        guard size > 0 else { return [] }
        return [UInt8](capacity: size) { span in
            unsafe span.withUnsafeMutableBufferPointer { buffer, initializedCount in
                // A memory BIO gives all that it has.
                _ = unsafe BIO_read_ex(output, buffer.baseAddress, size, &initializedCount)
            }
        }
    }

    /// Whether the handshake is over, and well.
    package var isHandshakeFinished: Bool { unsafe SSL_is_init_finished(pointer) == 1 }

    /// What the handshake agreed on; `nil` as long as it is not finished.
    package var session: TLSServerSession? {
        guard isHandshakeFinished else { return nil }
        return TLSServerSession(
            version: TLSServerConfiguration.Version(rawValue: UInt16(clamping: unsafe SSL_version(pointer))),
            cipherSuite: unsafe Self.text(SSL_CIPHER_get_name(SSL_get_current_cipher(pointer))) ?? "",
            isResumed: unsafe SSL_session_reused(pointer) == 1,
            serverName: unsafe Self.text(SSL_get_servername(pointer, TLSEXT_NAMETYPE_host_name)),
            applicationProtocol: applicationProtocol,
            clientCertificate: clientCertificate
        )
    }

    private var applicationProtocol: String? {
        var name: UnsafePointer<UInt8>?
        var size: UInt32 = 0
        unsafe SSL_get0_alpn_selected(pointer, &name, &size)
        guard size > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(size)), as: UTF8.self)
    }

    private var clientCertificate: Certificate? {
        guard let certificate = unsafe SSL_get1_peer_certificate(pointer) else { return nil }
        defer { unsafe X509_free(certificate) }
        let size = unsafe i2d_X509(certificate, nil)
        guard size > 0 else { return nil }
        let der = [UInt8](capacity: Int(size)) { output in
            unsafe output.withUnsafeMutableBufferPointer { buffer, initializedCount in
                var start = buffer.baseAddress
                initializedCount = Int(max(unsafe i2d_X509(certificate, &start), 0))
            }
        }
        return try? Certificate(der: der)
    }

    private func outcome(of status: Int32, _ function: StaticString) -> Outcome {
        switch unsafe SSL_get_error(pointer, status) {
        // A memory BIO takes everything, so writing never waits.
        case SSL_ERROR_WANT_READ: return .needsInput
        case SSL_ERROR_ZERO_RETURN: return .ended
        default:
            let failure = CryptoError(
                failed: function,
                isHandshakeFinished ? "The TLS connection is broken" : "The TLS handshake failed"
            )
            self.failure = failure
            return .failed(failure)
        }
    }

    private static func text(_ pointer: UnsafePointer<CChar>?) -> String? {
        unsafe pointer.map { unsafe String(cString: $0) }
    }
}
