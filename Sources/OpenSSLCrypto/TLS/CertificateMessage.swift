internal import COpenSSL

/// A check of a peer's certificates before OpenSSL decodes them.
///
/// OpenSSL decodes the certificates of a handshake message, including their keys, before it asks
/// the application about them. It passes the message to a callback first, which can't reject it.
/// Therefore the callback makes a message malformed whose certificates must not be decoded.
package enum CertificateMessage {
    package static let maximumCount = 16
    /// Also that of a message with the names of authorities, in bytes; OpenSSL's default is 100
    /// KiB.
    static let maximumSize = 65_536

    /// Checks a message of TLS 1.3 ([RFC 8446
    /// §4.4.2](https://www.rfc-editor.org/rfc/rfc8446#section-4.4.2)), which has extensions, or an
    /// older one ([RFC 5246 §7.4.2](https://www.rfc-editor.org/rfc/rfc5246#section-7.4.2)).
    private static func check(_ message: RawSpan, hasExtensions: Bool) throws(CryptoError) {
        var reader = Reader(position: headerSize, end: message.byteCount)
        if hasExtensions { _ = try reader.vector(lengthSize: 1, in: message) }
        let list = try reader.vector(lengthSize: 3, in: message)
        var entries = Reader(position: list.lowerBound, end: list.upperBound)
        var count = 0
        while !entries.isAtEnd {
            count += 1
            guard count <= maximumCount else {
                throw CryptoError(.malformedCertificate, "The peer sent more than \(maximumCount) certificates")
            }
            let certificate = try entries.vector(lengthSize: 3, in: message)
            _ = try Certificate.checkedPublicKeyInfo(in: message.extracting(certificate))
            if hasExtensions { _ = try entries.vector(lengthSize: 2, in: message) }
        }
    }

    /// The type and the length.
    private static let headerSize = 4

    private struct Reader {
        var position: Int
        let end: Int

        var isAtEnd: Bool { position >= end }

        mutating func vector(lengthSize: Int, in bytes: RawSpan) throws(CryptoError) -> Range<Int> {
            guard lengthSize <= end - position else { throw Self.truncated }
            let start = position + lengthSize
            let length = (position..<start).reduce(0) { $0 << 8 | Int(bytes[$1]) }
            guard length <= end - start else { throw Self.truncated }
            position = start + length
            return start..<position
        }

        private static var truncated: CryptoError {
            CryptoError(.malformedCertificate, "The peer's list of certificates is truncated")
        }
    }

    /// Limits the size of the messages that a context's connections accept, checks the peers'
    /// certificates, and reports each received record to its handshake.
    ///
    /// A context has one callback for all messages. This one replaces libcurl's.
    package static func check(on context: OpaquePointer) {
        _ = unsafe SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_CERT_LIST, maximumSize, nil)
        unsafe COpenSSL_refuse_compressed_certificates(context)
        unsafe SSL_CTX_set_msg_callback(context) { isSent, version, type, bytes, count, connection, _ in
            if isSent == 0, type == SSL3_RT_HEADER { unsafe TLSHandshake.of(connection)?.onRecord() }
            guard isSent == 0, type == SSL3_RT_HANDSHAKE, count > CertificateMessage.headerSize,
                let bytes = unsafe bytes
            else { return }
            let message = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(start: bytes, count: count))
            guard Int32(message[0]) == SSL3_MT_CERTIFICATE else { return }
            do throws(CryptoError) {
                try CertificateMessage.check(message, hasExtensions: version == TLS1_3_VERSION)
            } catch {
                unsafe TLSHandshake.of(connection)?.refuse(.untrusted(error.message))
                // The first byte is the length of the context or of the list, and neither can be
                // this large. The buffer is OpenSSL's own, and not constant there.
                unsafe UnsafeMutableRawPointer(mutating: bytes)
                    .storeBytes(of: 0xFF, toByteOffset: CertificateMessage.headerSize, as: UInt8.self)
            }
        }
    }
}
