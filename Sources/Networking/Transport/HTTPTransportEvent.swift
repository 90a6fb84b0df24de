/// An event during a request, for progress and metrics.
///
/// Events arrive in the order they occur, on a thread of the transport. An observer must return at
/// once without blocking. A transport omits events that it can't detect. Future versions may add
/// cases, so a `switch` over events needs a `default`.
public enum HTTPTransportEvent: Sendable {
    /// The request left the transport's queue and has a connection or is getting one.
    case started
    /// The host name was resolved.
    case resolved
    /// A connection was made.
    case connected
    /// The TLS handshake completed and the peer is trusted.
    case secured
    /// Part of the request's body was sent, with the total number of bytes so far.
    case bodySent(Int)
    /// The response's header arrived.
    case headReceived(status: Int)
    /// Part of the response's body was received, with the total bytes after content decoding.
    case bodyReceived(Int)
    /// The request ended, successfully or not; always the last event.
    case finished(HTTPTransportMetrics)
}

/// The timings and byte counts of a request.
///
/// Times count from the call to the transport. A phase that didn't happen, such as the handshake on
/// a kept connection, is `nil`.
public struct HTTPTransportMetrics: Sendable, Equatable {
    /// The time that the request waited for a free connection.
    public var queueTime: Duration?
    /// The time at which the host name was resolved.
    public var nameLookupTime: Duration?
    /// The time at which the connection was made.
    public var connectTime: Duration?
    /// The time at which the TLS handshake completed.
    public var tlsTime: Duration?
    /// The time at which the first byte of the response arrived.
    public var firstByteTime: Duration?
    /// The time at which the request ended.
    public var totalTime: Duration
    /// A Boolean value that indicates whether the connection was used before, or `nil` if the
    /// transport can't tell or made no connection.
    public var isConnectionReused: Bool?
    /// The protocol version, such as `HTTP/2`; empty if there was no response or the transport
    /// can't tell.
    public var version = ""
    /// The TLS version, or `nil` without TLS or if the transport can't tell.
    public var tlsVersion: TLSVersion?
    /// The peer's address, or `nil` if the transport can't tell.
    public var remoteAddress: String?
    /// The number of bytes of the request's body that were sent.
    public var bodyBytesSent = 0
    /// The number of bytes of the response's body that were received, before content decoding.
    public var bodyBytesReceived = 0

    /// Creates metrics in which only the total time is known.
    ///
    /// - Parameter totalTime: The time at which the request ended.
    public init(totalTime: Duration) {
        self.totalTime = totalTime
    }
}
