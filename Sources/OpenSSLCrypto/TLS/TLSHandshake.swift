internal import COpenSSL
internal import Synchronization

/// The handshake of one connection, which enforces a policy and records the reason for a rejection.
///
/// OpenSSL holds a reference for as long as the `SSL_CTX` exists, because a server may start
/// another handshake at any time.
package final class TLSHandshake: Sendable {
    let policy: TLSClientPolicy
    let host: String?
    let proxyHost: String?
    let onRecord: @Sendable () -> Void
    private let state = Mutex(State())

    private struct State {
        var refusal: TLSProblem?
        var wasAsked = false
        var hasAnswered = false
        var received: UInt8?
        var sent: UInt8?
        var session: Session?
    }

    package struct Session: Sendable {
        package let version: TLSProtocolVersion?
        package let isResumed: Bool
    }

    /// The host is in ASCII and without brackets, or `nil` if only the proxy connection uses TLS.
    ///
    /// `onRecord` is called for each record that the connection receives, also after the handshake.
    package init(
        policy: TLSClientPolicy,
        host: String?,
        proxyHost: String? = nil,
        onRecord: @escaping @Sendable () -> Void = {}
    ) {
        self.policy = policy
        self.onRecord = onRecord
        self.host = host.map(Self.normalized)
        self.proxyHost = proxyHost.map(Self.normalized)
    }

    package var problem: TLSProblem? {
        state.withLock { state in
            if let refusal = state.refusal { return refusal }
            if let received = state.received {
                return TLSProblem(alert: received, wasAsked: state.wasAsked, hasAnswered: state.hasAnswered)
            }
            return state.sent.map(Int32.init) == TLS1_AD_PROTOCOL_VERSION ? .protocolVersion : nil
        }
    }

    package var session: Session? { state.withLock(\.session) }

    /// Returns lower case, without a trailing dot, and IPv4 addresses as four numbers.
    ///
    /// libcurl connects to `127.1` as to 127.0.0.1, and sends neither in the handshake.
    package static func normalized(_ host: String) -> String {
        var host = host.lowercased()
        if host.hasSuffix(".") { host.removeLast() }
        guard let address = IPAddress(resolving: host) else { return host }
        return address.octets.map(String.init).joined(separator: ".")
    }

    func note(_ session: Session) {
        state.withLock { $0.session = session }
    }

    func refuse(_ problem: TLSProblem) {
        state.withLock { $0.refusal = problem }
    }

    func noteQuestion(isAnswered: Bool) {
        state.withLock { state in
            state.wasAsked = true
            state.hasAnswered = isAnswered
        }
    }

    /// The alert has a level and a description.
    func noteAlert(_ alert: Int32, isReceived: Bool) {
        let description = UInt8(truncatingIfNeeded: alert)
        // These two alerts are part of an orderly close.
        guard ![SSL3_AD_CLOSE_NOTIFY, TLS1_AD_USER_CANCELLED].contains(Int32(description)) else { return }
        let isFatal = alert >> 8 == SSL3_AL_FATAL
        state.withLock { state in
            if isReceived, isFatal { state.received = state.received ?? description }
            if !isReceived, isFatal { state.sent = state.sent ?? description }
        }
    }

    /// The `SSL_CTX` must not have an `SSL` yet.
    ///
    /// If it throws `openSSL`, because the context belongs to another copy of the TLS library or
    /// OpenSSL fails, the connection must not be opened.
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
        // Send the identity's issuers only. Otherwise OpenSSL would search for issuers among the
        // trusted certificates.
        _ = unsafe Self.set(SSL_CTRL_MODE, Int(SSL_MODE_NO_AUTO_CHAIN), on: context)
        try unsafe attach(to: context)
        unsafe CertificateMessage.check(on: context)
    }

    private static func set(_ command: Int32, _ value: Int, on context: OpaquePointer) -> Int {
        unsafe SSL_CTX_ctrl(context, command, value, nil)
    }

    /// Each copy of the library has its own function tables at different addresses.
    private static func isOurs(_ context: OpaquePointer) -> Bool {
        let method = unsafe SSL_CTX_get_ssl_method(context)
        return unsafe method == TLS_client_method() || method == TLS_method()
    }

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

    /// Negative if memory ran out.
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

    static func of(_ connection: OpaquePointer?) -> TLSHandshake? {
        guard index >= 0, let connection = unsafe connection else { return nil }
        return unsafe behind(SSL_CTX_get_ex_data(SSL_get_SSL_CTX(connection), index))
    }

    private static func behind(_ pointer: UnsafeMutableRawPointer?) -> TLSHandshake? {
        unsafe pointer.map { unsafe Unmanaged<TLSHandshake>.fromOpaque($0).takeUnretainedValue() }
    }

    // OpenSSL's callbacks during a handshake.

    func accepts(verifying context: OpaquePointer) -> Bool {
        let connection = unsafe X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx())
        let peer = unsafe peerName(OpaquePointer(connection))
        guard unsafe peer.isEmpty || Self.expect(peer, of: context) else {
            refuse(.untrusted("can't verify the name"))
            return false
        }
        guard unsafe X509_verify_cert(context) == 1 else {
            let code = unsafe X509_STORE_CTX_get_error(context)
            // If there's no reason, OpenSSL itself failed.
            refuse(TLSProblem(verification: code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code))
            if code == X509_V_OK { unsafe X509_STORE_CTX_set_error(context, X509_V_ERR_UNSPECIFIED) }
            return false
        }
        do {
            if let evaluate = policy.evaluate {
                try evaluate(TLSPeer(host: peer, chain: unsafe Self.chain(verifiedIn: context)))
            }
        } catch {
            refuse(.refused(error))
            unsafe X509_STORE_CTX_set_error(context, X509_V_ERR_APPLICATION_VERIFICATION)
            return false
        }
        // OpenSSL would attribute remaining errors in its queue to the next read.
        OpenSSLLibrary.clearErrors()
        return true
    }

    /// Returns whether to continue the handshake, possibly without sending a certificate.
    func identifies(on connection: OpaquePointer) -> Bool {
        defer { OpenSSLLibrary.clearErrors() }
        // A proxy doesn't get the identity that's meant for the server.
        guard unsafe peerName(connection) == host, let identity = policy.identity else {
            noteQuestion(isAnswered: false)
            return true
        }
        do {
            guard let identity = try identity() else {
                noteQuestion(isAnswered: false)
                return true
            }
            try unsafe identity.use(on: connection)
            noteQuestion(isAnswered: true)
            return true
        } catch {
            refuse(.identityUnavailable(error))
            return false
        }
    }

    /// The peer may be a proxy; empty if unknown.
    private func peerName(_ connection: OpaquePointer?) -> String {
        if let name = unsafe SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name) {
            return Self.normalized(unsafe String(cString: name))
        }
        // The handshake contains a name unless the host is an address.
        return [host, proxyHost].compactMap(\.self).first { IPAddress($0) != nil } ?? ""
    }

    private static func expect(_ peer: String, of context: OpaquePointer) -> Bool {
        let parameters = unsafe X509_STORE_CTX_get0_param(context)
        guard IPAddress(peer) == nil else { return unsafe X509_VERIFY_PARAM_set1_ip_asc(parameters, peer) == 1 }
        // The name must be in the certificate's alternative names (RFC 9110 §4.3.4). By default,
        // OpenSSL also accepts a certificate without any by its common name.
        let flags = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT
        unsafe X509_VERIFY_PARAM_set_hostflags(parameters, UInt32(flags))
        return unsafe X509_VERIFY_PARAM_set1_host(parameters, peer, 0) == 1
    }

    private static func chain(verifiedIn context: OpaquePointer) throws(CryptoError) -> [TLSPeer.ChainLink] {
        let certificates = unsafe OpenSSLLibrary.elements(of: X509_STORE_CTX_get0_chain(context))
        return try unsafe certificates.map { certificate throws(CryptoError) in
            try unsafe TLSPeer.ChainLink(borrowing: certificate)
        }
    }
}

package struct TLSClientPolicy: Sendable {
    package var trust: @Sendable () throws(CryptoError) -> TrustStore
    package var minimumVersion: TLSProtocolVersion
    /// `nil` for the newest that OpenSSL supports.
    package var maximumVersion: TLSProtocolVersion?
    /// Called for each connection to a server that requests a certificate.
    package var identity: (@Sendable () throws -> TLSIdentity?)?
    /// An error rejects the server.
    ///
    /// It runs on the connection's thread, before any data other than the handshake is sent.
    package var evaluate: (@Sendable (TLSPeer) throws -> Void)?
    /// A resumed session isn't evaluated again.
    package var allowsResumption: Bool { evaluate == nil && identity == nil }

    package init(
        trust: @escaping @Sendable () throws(CryptoError) -> TrustStore,
        minimumVersion: TLSProtocolVersion = .tls12,
        maximumVersion: TLSProtocolVersion? = nil,
        identity: (@Sendable () throws -> TLSIdentity?)? = nil,
        evaluate: (@Sendable (TLSPeer) throws -> Void)? = nil
    ) {
        self.trust = trust
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.identity = identity
        self.evaluate = evaluate
    }
}

package struct TLSPeer: Sendable {
    package struct ChainLink: Sendable {
        package let der: [UInt8]
        /// The SHA-256 hash of the SubjectPublicKeyInfo, for any kind of key.
        package let publicKeyHash: [UInt8]
    }

    /// In lower case, without brackets and a trailing dot; empty for a proxy that's only known by
    /// its address.
    package let host: String
    /// From the server's certificate to a trusted one; it may differ from what the server sent.
    package let chain: [ChainLink]
}

extension TLSPeer.ChainLink {
    /// OpenSSL still owns the certificate.
    init(borrowing certificate: OpaquePointer) throws(CryptoError) {
        OpenSSLLibrary.clearErrors()
        der = try unsafe [UInt8](encodedBy: { unsafe i2d_X509(certificate, $0) })
            .orThrow(failed: "i2d_X509", "Can't encode a certificate")
        let key = unsafe [UInt8](encodedBy: { unsafe i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), $0) })
        guard let key else { throw CryptoError(failed: "i2d_X509_PUBKEY", "Can't read a certificate's key") }
        publicKeyHash = try key.withBytes { bytes throws(CryptoError) in try HashFunction.sha256.hash(bytes) }
    }
}
