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

    /// The result of a successful handshake.
    package struct Session: Sendable {
        /// The version, or `nil` for one that isn't supported.
        package let version: TLSProtocolVersion?
        /// A Boolean value that indicates whether the handshake resumed an earlier session.
        package let isResumed: Bool
    }

    /// Creates a handshake that enforces a policy.
    ///
    /// The host is the name or address of the server, in ASCII and without brackets, or `nil` if
    /// only the proxy connection uses TLS. The proxy host is that of a proxy that may be the peer.
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

    /// The known reason for a failed handshake, or `nil`.
    package var problem: TLSProblem? {
        state.withLock { state in
            if let refusal = state.refusal { return refusal }
            if let received = state.received {
                return TLSProblem(alert: received, wasAsked: state.wasAsked, hasAnswered: state.hasAnswered)
            }
            return state.sent.map(Int32.init) == TLS1_AD_PROTOCOL_VERSION ? .protocolVersion : nil
        }
    }

    /// The result of the handshake, or `nil` before it succeeds.
    package var session: Session? { state.withLock(\.session) }

    /// Returns the canonical form of a host without brackets: lower case, without a trailing dot,
    /// and IPv4 addresses as four numbers.
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

    /// Records an alert, given as level and description, that terminates the connection.
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
}
