extension NetworkError {
    /// Which limit of time an exchange exceeded, and what it was doing then.
    ///
    /// ```swift
    /// catch let error as NetworkError where error.timeout?.phase == .queued {
    ///     // All of the transport's connections were busy.
    /// }
    /// ```
    public struct Timeout: Hashable, Sendable {
        /// Which limit was exceeded.
        public let limit: Limit
        /// What the exchange was doing.
        public let phase: Phase

        /// Makes a description of a timeout, for transports.
        ///
        /// - Parameters:
        ///   - limit: Which limit was exceeded.
        ///   - phase: What the exchange was doing.
        public init(limit: Limit, phase: Phase) {
            self.limit = limit
            self.phase = phase
        }
    }
}

extension NetworkError.Timeout {
    /// A limit of time.
    public struct Limit: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case connect, firstByte, idle, deadline, attempt, operation, credential
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }

        /// The time for making a connection: ``CurlTransport/Configuration/connectTimeout``.
        ///
        /// The error's code is ``NetworkError/Code/cannotConnect``.
        public static var connect: Self { Self(.connect) }
        /// The wait for the first octet of the response: ``RequestOptions/firstByteTimeout``.
        public static var firstByte: Self { Self(.firstByte) }
        /// The time in which nothing moves: ``RequestOptions/idleTimeout``.
        public static var idle: Self { Self(.idle) }
        /// The deadline that a transport was given: ``HTTPTransportLimits/deadline``.
        public static var deadline: Self { Self(.deadline) }
        /// The time for one attempt: ``HTTPEndpoint/timeout``, or `timeoutInterval` of a `URLRequest`.
        public static var attempt: Self { Self(.attempt) }
        /// The time for all attempts together: ``RequestOptions/timeout`` or ``NetworkClient/Options/timeout``.
        public static var operation: Self { Self(.operation) }
        /// The time for getting a credential that many requests wait for.
        public static var credential: Self { Self(.credential) }

        /// What to change for more time.
        fileprivate var setting: String {
            switch wrapped {
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

    /// What an exchange does at some time, as far as the transport can tell.
    public struct Phase: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case preparing, queued, name, connecting, tlsHandshake, sending, firstByte, receiving
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }

        /// The request is being made: by its endpoint, by interceptors, by an authenticator that waits for a credential, or by its body.
        public static var preparing: Self { Self(.preparing) }
        /// The exchange waits in line for one of the transport's connections.
        public static var queued: Self { Self(.queued) }
        /// The name of the host, or of its proxy, is looked up.
        public static var name: Self { Self(.name) }
        /// A connection is made, through a proxy if there is one.
        public static var connecting: Self { Self(.connecting) }
        /// The TLS handshake.
        public static var tlsHandshake: Self { Self(.tlsHandshake) }
        /// The request is sent.
        public static var sending: Self { Self(.sending) }
        /// The wait for the first octet of the response.
        ///
        /// `URLSessionTransport` can't tell connecting and sending from it.
        public static var firstByte: Self { Self(.firstByte) }
        /// The response is received.
        public static var receiving: Self { Self(.receiving) }

        /// A Boolean value that indicates whether this phase precedes the sending of the request.
        var isBeforeRequest: Bool {
            switch wrapped {
            case .preparing, .queued, .name, .connecting, .tlsHandshake: true
            case .sending, .firstByte, .receiving: false
            }
        }

        /// When it was, as the end of a sentence.
        fileprivate var clause: String {
            switch wrapped {
            case .preparing: "while the request was made"
            case .queued: "while it waited for one of the transport's connections"
            case .name: "while the name was looked up"
            case .connecting: "while the connection was made"
            case .tlsHandshake: "in the TLS handshake"
            case .sending: "while the request was sent"
            case .firstByte: "before the first octet of the response"
            case .receiving: "while the response was received"
            }
        }

        /// What to do besides waiting longer.
        fileprivate var remedy: String? {
            switch wrapped {
            case .preparing: "look at what the interceptors, the authenticator or the body wait for"
            case .queued: "allow more connections, or send fewer requests at once"
            case .name: "check the name servers (/etc/resolv.conf)"
            case .connecting: "look whether the host, its port and any proxy can be reached"
            case .tlsHandshake: "look whether it is TLS that is spoken on that port"
            case .sending, .firstByte, .receiving: nil
            }
        }
    }

    /// When it was and what to do, as the end of a sentence.
    var clause: String {
        let more = "raise \(limit.setting)"
        return "\(phase.clause); \(phase.remedy.map { "\($0), or \(more)" } ?? more)"
    }
}

extension NetworkError {
    /// The error of an exchange that took too long, in the same words whichever transport it is.
    ///
    /// - Parameters:
    ///   - limit: Which limit was exceeded.
    ///   - limits: What the caller was ready to wait for.
    ///   - phase: What the exchange was doing.
    ///   - peer: Who did not do their part.
    /// - Returns: The error.
    package static func timedOut(
        _ limit: Timeout.Limit,
        of limits: HTTPTransportLimits,
        _ phase: Timeout.Phase,
        _ peer: some CustomStringConvertible
    ) -> Self {
        switch limit {
        case .firstByte:
            let time = limits.firstByteTimeout ?? .zero
            return Self(limit, phase, "\(peer) did not begin to answer within \(time) (firstByteTimeout)")
        case .idle:
            let time = limits.idleTimeout ?? .zero
            return Self(limit, phase, "nothing moved on the connection to \(peer) for \(time) (idleTimeout)")
        default:
            return Self(limits.deadlineSource, phase, "\(peer) gave no whole response before the deadline")
        }
    }

    /// The error of a limit of time.
    ///
    /// - Parameters:
    ///   - limit: Which one.
    ///   - phase: What the exchange was doing.
    ///   - message: What failed.
    ///   - code: `timedOut` unless it has been another one before there were timeouts in errors.
    package init(_ limit: Timeout.Limit, _ phase: Timeout.Phase, _ message: String, code: Code = .timedOut) {
        let timeout = Timeout(limit: limit, phase: phase)
        self.init(code, "\(message), \(timeout.clause)", timeout: timeout)
    }
}
