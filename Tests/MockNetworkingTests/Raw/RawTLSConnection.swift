import COpenSSL
import Foundation
import MockNetworking

/// A blocking TLS client for a loopback port that only uses OpenSSL, so that it's independent of
/// the tested code.
///
/// Use it inside `offPool`.
@safe final class RawTLSConnection {
    /// The client's settings and certificate.
    struct Options: Sendable {
        var roots: [MockCertificateAuthority] = []
        /// The name or address that the certificate must match; a name is sent to the server.
        var host = "127.0.0.1"
        var identity: MockCertificate?
        /// How often the identity's certificate follows itself.
        var repetitions = 0
        var minimumVersion = TLS1_1_VERSION
        var maximumVersion = TLS1_3_VERSION
        var session: RawTLSSession?
        /// The protocols that ALPN offers, or `nil` for none.
        var protocols: [String]? = ["h2", "http/1.1"]
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let connection: RawConnection
    private let context: OpaquePointer
    private let tls: OpaquePointer
    private var text = Data()

    /// Connects.
    ///
    /// ``handshake()`` or sending the first byte performs the handshake.
    init(port: Int, _ options: Options) throws {
        connection = try RawConnection(port: port)
        guard let context = unsafe SSL_CTX_new(TLS_client_method()) else { throw Self.failure("SSL_CTX_new") }
        unsafe self.context = context
        guard let tls = unsafe SSL_new(context) else {
            unsafe SSL_CTX_free(context)
            throw Self.failure("SSL_new")
        }
        unsafe self.tls = tls
        unsafe SSL_set_bio(tls, BIO_new(BIO_s_mem()), BIO_new(BIO_s_mem()))
        unsafe SSL_set_connect_state(tls)
        unsafe SSL_set_security_level(tls, 0)
        unsafe SSL_ctrl(tls, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(options.minimumVersion), nil)
        unsafe SSL_ctrl(tls, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(options.maximumVersion), nil)
        unsafe SSL_set_verify(tls, SSL_VERIFY_PEER, nil)
        for root in options.roots {
            let certificate = unsafe certificate(root.certificateDER)
            unsafe X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate)
            unsafe X509_free(certificate)
        }
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), options.host) != 1 {
            unsafe SSL_set1_host(tls, options.host)
            var name = Array(options.host.utf8CString)
            unsafe SSL_ctrl(tls, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), &name)
        }
        if let names = options.protocols {
            let protocols = names.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
            unsafe SSL_set_alpn_protos(tls, protocols, UInt32(protocols.count))
        }
        if let identity = options.identity { show(identity, options.repetitions) }
        if let session = options.session { unsafe SSL_set_session(tls, session.pointer) }
    }

    deinit {
        unsafe SSL_free(tls)
        unsafe SSL_CTX_free(context)
    }

    /// A Boolean value that indicates whether the server resumed the offered session.
    var isResumed: Bool { unsafe SSL_session_reused(tls) == 1 }

    /// The session with its newest ticket.
    var session: RawTLSSession { unsafe RawTLSSession(takingOwnershipOf: SSL_get1_session(tls)) }

    /// The protocol that ALPN selected.
    var applicationProtocol: String {
        var name: UnsafePointer<UInt8>?
        var size: UInt32 = 0
        unsafe SSL_get0_alpn_selected(tls, &name, &size)
        return unsafe String(decoding: UnsafeBufferPointer(start: name, count: Int(size)), as: UTF8.self)
    }

    /// Performs the handshake; throws if one side rejects the other.
    func handshake() throws {
        while true {
            ERR_clear_error()
            let status = unsafe SSL_do_handshake(tls)
            try flush()
            if status == 1 { return }
            guard unsafe SSL_get_error(tls, status) == SSL_ERROR_WANT_READ else { throw Self.failure("handshake") }
            guard try feed() else { throw Failure(description: "the server left during the handshake") }
        }
    }

    /// Returns the client's first bytes, without sending anything.
    func hello() throws -> Data {
        _ = unsafe SSL_do_handshake(tls)
        return ciphertext()
    }

    func send(_ text: String) throws {
        try send(Data(text.utf8))
    }

    func send(_ bytes: Data) throws {
        try handshake()
        ERR_clear_error()
        var count = 0
        let status = unsafe bytes.withUnsafeBytes { unsafe SSL_write_ex(tls, $0.baseAddress, $0.count, &count) }
        guard status == 1 else { throw Self.failure("SSL_write_ex") }
        try flush()
    }

    /// Ends the TLS session, and shuts down the sending side of the connection.
    func finishSending() throws {
        _ = unsafe SSL_shutdown(tls)
        try flush()
        connection.finishSending()
    }

    /// Receives everything until the server closes the connection, and whether it sent a
    /// close_notify.
    func receiveAll() throws -> (text: String, isClosedProperly: Bool) {
        while true {
            switch try receiveMore() {
            case .more: break
            case .closeNotify: return (String(decoding: text, as: UTF8.self), true)
            case .end: return (String(decoding: text, as: UTF8.self), false)
            }
        }
    }

    /// Receives everything up to and including a text.
    func receive(through end: String) throws -> String {
        while true {
            if let range = text.range(of: Data(end.utf8)) {
                return String(decoding: take(range.upperBound - text.startIndex), as: UTF8.self)
            }
            guard case .more = try receiveMore() else { throw Failure(description: "the stream ended before “\(end)”") }
        }
    }

    /// Receives an exact number of bytes.
    func receive(octets: Int) throws -> String {
        String(decoding: try receiveData(octets: octets), as: UTF8.self)
    }

    /// Receives an exact number of bytes.
    func receiveData(octets: Int) throws -> Data {
        while text.count < octets {
            guard case .more = try receiveMore() else { throw Failure(description: "the connection ended too early") }
        }
        return take(octets)
    }

    /// Receives one response with a `Content-Length`.
    func receiveResponse() throws -> RawResponse {
        let head = try receive(through: "\r\n\r\n")
        let length = RawResponse(text: head).headers["content-length"].flatMap { Int($0) } ?? 0
        return RawResponse(text: head + (try receive(octets: length)))
    }

    private enum Received {
        case more, closeNotify, end
    }

    private func receiveMore() throws -> Received {
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            ERR_clear_error()
            var count = 0
            let status = unsafe bytes.withUnsafeMutableBytes {
                unsafe SSL_read_ex(tls, $0.baseAddress, $0.count, &count)
            }
            try flush()
            if status == 1 {
                text.append(contentsOf: bytes[..<count])
                return .more
            }
            switch unsafe SSL_get_error(tls, status) {
            case SSL_ERROR_WANT_READ: guard try feed() else { return .end }
            case SSL_ERROR_ZERO_RETURN: return .closeNotify
            default: throw Self.failure("SSL_read_ex")
            }
        }
    }

    private func take(_ count: Int) -> Data {
        defer { text = Data(text.dropFirst(count)) }
        return Data(text.prefix(count))
    }

    private func feed() throws -> Bool {
        let bytes = try connection.receiveSome()
        _ = unsafe bytes.withUnsafeBytes { unsafe BIO_write(SSL_get_rbio(tls), $0.baseAddress, Int32($0.count)) }
        return !bytes.isEmpty
    }

    private func flush() throws {
        let bytes = ciphertext()
        if !bytes.isEmpty { try connection.send(bytes) }
    }

    private func ciphertext() -> Data {
        var bytes = [UInt8](repeating: 0, count: unsafe BIO_ctrl_pending(SSL_get_wbio(tls)))
        guard !bytes.isEmpty else { return Data() }
        let count = unsafe BIO_read(SSL_get_wbio(tls), &bytes, Int32(bytes.count))
        return Data(bytes.prefix(max(Int(count), 0)))
    }

    private func show(_ identity: MockCertificate, _ repetitions: Int) {
        let certificate = unsafe certificate(identity.certificateDER)
        unsafe SSL_use_certificate(tls, certificate)
        for _ in 0..<repetitions {
            unsafe SSL_ctrl(tls, SSL_CTRL_CHAIN_CERT, 1, UnsafeMutableRawPointer(certificate))
        }
        unsafe X509_free(certificate)
        let key = unsafe privateKey(identity.privateKeyPEM)
        unsafe SSL_use_PrivateKey(tls, key)
        unsafe EVP_PKEY_free(key)
    }

    private static func failure(_ call: String) -> Failure {
        var reasons: [String] = []
        while case let code = ERR_get_error(), code != 0 {
            reasons.append(unsafe ERR_reason_error_string(code).map { unsafe String(cString: $0) } ?? "\(code)")
        }
        return Failure(description: "\(call): \(reasons.joined(separator: "; "))")
    }
}

/// A TLS session that a client can offer again.
// reason: set once, and OpenSSL's reference counting is atomic.
@safe final class RawTLSSession: @unchecked Sendable {
    let pointer: OpaquePointer?

    init(takingOwnershipOf pointer: OpaquePointer?) {
        unsafe self.pointer = pointer
    }

    deinit {
        unsafe SSL_SESSION_free(pointer)
    }
}

/// Creates a certificate from DER; the caller must free it.
func certificate(_ der: Data) -> OpaquePointer? {
    unsafe der.withUnsafeBytes { bytes in
        var start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        return unsafe d2i_X509(nil, &start, bytes.count)
    }
}

/// Creates a private key from PEM; the caller must free it.
func privateKey(_ pem: String, password: String? = nil) -> OpaquePointer? {
    let octets = Array(pem.utf8)
    var password = password.map { Array($0.utf8CString) } ?? [0]
    return unsafe octets.withUnsafeBytes { octets in
        let input = unsafe BIO_new_mem_buf(octets.baseAddress, Int32(octets.count))
        defer { unsafe BIO_free(input) }
        return unsafe PEM_read_bio_PrivateKey(input, nil, nil, &password)
    }
}

/// Connects to a server over TLS, and runs blocking code with the connection.
func withTLS<Result: Sendable>(
    _ server: LoopbackServer,
    _ options: RawTLSConnection.Options,
    _ body: @escaping @Sendable (RawTLSConnection) throws -> Result
) async throws -> Result {
    try await offPool { [port = server.port] in try body(RawTLSConnection(port: port, options)) }
}

/// A wrapper that keeps a connection open until it's released.
final class HeldTLS: @unchecked Sendable {
    // reason: each test passes it from one task to the next, and never uses it in two at a time.
    var value: RawTLSConnection?

    init(_ value: RawTLSConnection) {
        self.value = value
    }
}
