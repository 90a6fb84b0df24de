extension NetworkError {
    /// The time limit that a request exceeded, and the phase it was in.
    ///
    /// ```swift
    /// catch let error as NetworkError where error.timeout?.phase == .queued {
    ///     // All of the transport's connections were busy.
    /// }
    /// ```
    public struct Timeout: Hashable, Sendable {
        /// The time limit that was exceeded.
        public let limit: Limit
        /// The phase of the request.
        public let phase: Phase

        /// Creates a description of a timeout, for use by transports.
        ///
        /// - Parameters:
        ///   - limit: The time limit that was exceeded.
        ///   - phase: The phase of the request.
        public init(limit: Limit, phase: Phase) {
            self.limit = limit
            self.phase = phase
        }
    }
}

extension NetworkError.Timeout {
    /// A time limit.
    @nonexhaustive
    public enum Limit: String, Sendable, CustomStringConvertible {
        /// The limit on establishing a connection: ``CurlTransport/Configuration/connectTimeout``.
        ///
        /// The error's code is ``NetworkError/Code/cannotConnect``.
        case connect
        /// The limit on the wait for the response's first byte:
        /// ``RequestOptions/firstByteTimeout``.
        case firstByte
        /// The limit on the time without any transfer: ``RequestOptions/idleTimeout``.
        case idle
        /// The deadline passed to the transport: ``HTTPTransportLimits/deadline``.
        case deadline
        /// The limit on one attempt: ``HTTPEndpoint/timeout`` or `URLRequest.timeoutInterval`.
        case attempt
        /// The limit on all attempts: ``RequestOptions/timeout`` or
        /// ``NetworkClient/Options/timeout``.
        case operation
        /// The limit on obtaining a credential that many requests wait for.
        case credential

        /// A name from a fixed set, suitable as a metric label.
        public var description: String { rawValue }

        /// The setting to raise for more time.
        fileprivate var setting: String {
            switch self {
            case .connect: "connectTimeout of CurlTransport.Configuration"
            case .firstByte: "firstByteTimeout of RequestOptions"
            case .idle: "idleTimeout of RequestOptions"
            case .deadline: "the deadline of HTTPTransportLimits"
            case .attempt: "the endpoint's timeout or the URLRequest's timeoutInterval"
            case .operation: "timeout of RequestOptions or NetworkClient.Options"
            case .credential: "the authenticator's timeout"
            }
        }
    }

    /// A phase of a request, as far as the transport can tell.
    @nonexhaustive
    public enum Phase: String, Sendable, CustomStringConvertible {
        /// The endpoint, interceptors, authenticator or body are preparing the request.
        case preparing
        /// The request waits for one of the transport's connections.
        case queued
        /// The name of the host, or of its proxy, is being resolved.
        case name
        /// A connection is being established, through a proxy if one is used.
        case connecting
        /// The TLS handshake is in progress.
        case tlsHandshake
        /// The request is being sent.
        case sending
        /// The request waits for the first byte of the response.
        ///
        /// `URLSessionTransport` reports connecting and sending as this phase, too.
        case firstByte
        /// The response is being received.
        case receiving

        /// A name from a fixed set, suitable as a metric label.
        public var description: String { rawValue }

        /// A Boolean value that indicates whether this phase precedes the sending of the request.
        var isBeforeRequest: Bool {
            switch self {
            case .preparing, .queued, .name, .connecting, .tlsHandshake: true
            case .sending, .firstByte, .receiving: false
            }
        }

        /// The phase as the end of a sentence.
        fileprivate var clause: String {
            switch self {
            case .preparing: "while preparing the request"
            case .queued: "while waiting for one of the transport's connections"
            case .name: "while resolving the host name"
            case .connecting: "while connecting"
            case .tlsHandshake: "during the TLS handshake"
            case .sending: "while sending the request"
            case .firstByte: "before the first byte of the response"
            case .receiving: "while receiving the response"
            }
        }

        /// The remedy other than a longer timeout.
        fileprivate var remedy: String? {
            switch self {
            case .preparing: "check what the interceptors, the authenticator or the body wait for"
            case .queued: "allow more connections, or send fewer requests at once"
            case .name: "check the name servers (/etc/resolv.conf)"
            case .connecting: "check that the host, its port and any proxy are reachable"
            case .tlsHandshake: "check that the port uses TLS"
            case .sending, .firstByte, .receiving: nil
            }
        }
    }

    /// The phase and the remedy as the end of a sentence.
    var clause: String {
        let more = "raise \(limit.setting)"
        return "\(phase.clause); \(phase.remedy.map { "\($0), or \(more)" } ?? more)"
    }
}

extension NetworkError {
    /// Returns the error of a request to a server or proxy that took too long, with the same text
    /// for all transports.
    package static func timedOut(
        _ limit: Timeout.Limit,
        of limits: HTTPTransportLimits,
        _ phase: Timeout.Phase,
        _ peer: some CustomStringConvertible
    ) -> Self {
        switch limit {
        case .firstByte:
            let time = limits.firstByteTimeout ?? .zero
            return Self(limit, phase, "\(peer) didn't start its response within \(time) (firstByteTimeout)")
        case .idle:
            let time = limits.idleTimeout ?? .zero
            return Self(limit, phase, "the connection to \(peer) was idle for \(time) (idleTimeout)")
        default:
            return Self(limits.deadlineSource, phase, "\(peer) didn't complete its response before the deadline")
        }
    }

    /// Creates the error of an exceeded time limit; some limits keep an older code.
    package init(_ limit: Timeout.Limit, _ phase: Timeout.Phase, _ message: String, code: Code = .timedOut) {
        let timeout = Timeout(limit: limit, phase: phase)
        self.init(code, "\(message), \(timeout.clause)", timeout: timeout)
    }
}
