internal import COpenSSL
internal import Synchronization

/// The handshake of one connection, held to a policy: it decides about the server and remembers why it refused.
///
/// OpenSSL keeps a reference for as long as it has the `SSL_CTX`, because a server may start another handshake at any time.
package final class TLSHandshake: Sendable {
    let policy: TLSClientPolicy
    let host: String?
    let proxyHost: String?
    private let state = Mutex(State())

    private struct State {
        var refusal: TLSProblem?
        var wasAsked = false
        var hasAnswered = false
        var received: UInt8?
        var sent: UInt8?
    }

    /// Prepares a handshake.
    ///
    /// - Parameters:
    ///   - policy: What holds for it.
    ///   - host: The name or address of the server: ASCII, without brackets; `nil` if only a proxy is spoken to over TLS.
    ///   - proxyHost: The name or address of a proxy that the other side may be.
    package init(policy: TLSClientPolicy, host: String?, proxyHost: String? = nil) {
        self.policy = policy
        self.host = host.map(Self.normalized)
        self.proxyHost = proxyHost.map(Self.normalized)
    }

    /// Why the handshake failed, as far as it is known; `nil` if nothing speaks against it.
    package var problem: TLSProblem? {
        state.withLock { state in
            if let refusal = state.refusal { return refusal }
            if let received = state.received {
                return TLSProblem(alert: received, wasAsked: state.wasAsked, hasAnswered: state.hasAnswered)
            }
            return state.sent.map(Int32.init) == TLS1_AD_PROTOCOL_VERSION ? .protocolVersion : nil
        }
    }

    /// The one form of a name or an IPv4 address: libcurl connects to `127.1` as to 127.0.0.1, and names neither in the handshake.
    ///
    /// - Parameter host: A name or an address, without brackets.
    /// - Returns: The host in lower case, without a final dot; an IPv4 address as four numbers.
    package static func normalized(_ host: String) -> String {
        var host = host.lowercased()
        if host.hasSuffix(".") { host.removeLast() }
        guard let address = IPAddress(resolving: host) else { return host }
        return address.octets.map(String.init).joined(separator: ".")
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

    /// Remembers an alert, level and description, that ends a connection.
    func noteAlert(_ alert: Int32, isReceived: Bool) {
        let description = UInt8(truncatingIfNeeded: alert)
        // These two are how a connection is closed in good order.
        guard ![SSL3_AD_CLOSE_NOTIFY, TLS1_AD_USER_CANCELLED].contains(Int32(description)) else { return }
        let isFatal = alert >> 8 == SSL3_AL_FATAL
        state.withLock { state in
            if isReceived, isFatal { state.received = state.received ?? description }
            if !isReceived, isFatal { state.sent = state.sent ?? description }
        }
    }
}
