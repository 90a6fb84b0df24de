internal import COpenSSL

/// The server side of a TLS connection without a socket: the owner of an `SSL`.
///
/// Pass data from the network to ``receive(_:)`` and send the data from ``takeCiphertext()``. No
/// method blocks. Use a connection from one thread at a time.
@safe package final class TLSServerConnection {
    /// The result of reading or writing.
    package enum Outcome: Sendable {
        /// The number of plaintext bytes transferred.
        case transferred(Int)
        /// Continuing requires more data from the network.
        case needsInput
        /// The client closed its side of the connection
        /// ([RFC 8446 §6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)).
        case ended
        /// The connection failed; ``takeCiphertext()`` may return an alert that tells the client
        /// the reason.
        case failed(CryptoError)
    }

    private let pointer: OpaquePointer
    private var failure: CryptoError?

    /// Creates a connection with the server's settings; reading from it performs the handshake.
    package init(_ context: TLSServerContext) throws(CryptoError) {
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

    /// Adds data received from the network.
    package func receive(_ ciphertext: RawSpan) {
        OpenSSLLibrary.clearErrors()
        let isTaken = unsafe ciphertext.withUnsafeBytes { bytes in
            var written = 0
            return unsafe BIO_write_ex(SSL_get_rbio(pointer), bytes.baseAddress, bytes.count, &written) == 1
        }
        if !isTaken, !ciphertext.isEmpty, failure == nil {
            failure = CryptoError(failed: "BIO_write_ex", "Can't store the received data")
        }
    }

    /// Reads data from the client into the start of a nonempty buffer, after performing the
    /// handshake.
    package func read(into buffer: inout [UInt8]) -> Outcome {
        transfer("SSL_read_ex") { count in
            unsafe buffer.withUnsafeMutableBytes { buffer in
                unsafe SSL_read_ex(pointer, buffer.baseAddress, buffer.count, &count)
            }
        }
    }

    /// Encrypts nonempty data for the client, either all of it or none.
    package func write(_ plaintext: RawSpan) -> Outcome {
        transfer("SSL_write_ex") { count in
            unsafe plaintext.withUnsafeBytes { bytes in
                unsafe SSL_write_ex(pointer, bytes.baseAddress, bytes.count, &count)
            }
        }
    }

    /// Tells the client that no more data follows, unless the handshake didn't succeed.
    package func finish() {
        guard failure == nil, isHandshakeFinished else { return }
        OpenSSLLibrary.clearErrors()
        // Ignore whether the client has closed its side too.
        _ = unsafe SSL_shutdown(pointer)
        OpenSSLLibrary.clearErrors()
    }

    /// Removes and returns the data to send to the network.
    package func takeCiphertext() -> [UInt8] {
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

    /// A Boolean value that indicates whether the handshake succeeded.
    package var isHandshakeFinished: Bool { unsafe SSL_is_init_finished(pointer) == 1 }

    /// The result of the handshake, or `nil` if it hasn't finished.
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
