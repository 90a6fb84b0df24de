/// What happens to an exchange while it runs, for progress and metrics.
///
/// Events come in the order in which things happen, on a thread of the transport: an observer returns at once and does not
/// wait. A transport that can't tell something leaves it out. New cases may be added; a `switch` over them has a `default`.
public enum HTTPTransportEvent: Sendable {
    /// The exchange left the transport's queue and has, or is getting, a connection.
    case started
    /// The host's name was resolved.
    case resolved
    /// A connection was made.
    case connected
    /// The TLS handshake is over and the peer is trusted.
    case secured
    /// Octets of the request's body were sent: how many so far.
    case bodySent(Int)
    /// The response's header has come.
    case headReceived(status: Int)
    /// Octets of the response's body were received, after content decoding: how many so far.
    case bodyReceived(Int)
    /// The exchange is over, whether it succeeded or not. It is the last event.
    case finished(HTTPTransportMetrics)
}

/// What an exchange took.
///
/// Times count from the moment at which the transport was asked; a phase that did not happen, such as the handshake on a kept
/// connection, is `nil`.
public struct HTTPTransportMetrics: Sendable, Equatable {
    /// How long the exchange waited for a free connection.
    public var queueTime: Duration?
    /// When the host's name was resolved.
    public var nameLookupTime: Duration?
    /// When the connection was made.
    public var connectTime: Duration?
    /// When the TLS handshake was over.
    public var tlsTime: Duration?
    /// When the first octet of the response came.
    public var firstByteTime: Duration?
    /// When the exchange was over.
    public var totalTime: Duration
    /// Whether the connection was used before; `nil` if the transport can't tell or there was none.
    public var isConnectionReused: Bool?
    /// The protocol version, such as `HTTP/2`; empty if there was no response or the transport can't tell.
    public var version: String
    /// The peer's address; `nil` if the transport can't tell.
    public var remoteAddress: String?
    /// The octets of the request's body that were sent.
    public var bodyBytesSent: Int
    /// The octets of the response's body as they came over the wire, before content decoding.
    public var bodyBytesReceived: Int

    /// Makes metrics in which only the total is known.
    ///
    /// - Parameter totalTime: When the exchange was over.
    public init(totalTime: Duration) {
        self.totalTime = totalTime
        version = ""
        bodyBytesSent = 0
        bodyBytesReceived = 0
    }
}
