public import Foundation
internal import OpenSSLCrypto

/// An error of the client or its transport.
///
/// A response with a status that isn't accepted is a ``ServerError`` instead, and a cancelled task
/// gets a `CancellationError`.
///
/// The message says what failed and what to do. It never contains a header field's value, a token
/// or a body. Two errors are equal if their codes are.
public struct NetworkError: ErrorWithCode, Sendable, Equatable, CustomStringConvertible, LocalizedError {
    /// The kind of failure.
    public let code: Code
    /// A description of the failure and its remedy.
    public let message: String
    /// The underlying error, if another layer reported one.
    public let cause: (any Error)?
    /// The last component of the request's path, if the client knows it.
    public internal(set) var endpoint: String?
    /// The reason why TLS failed, if known; the code is `tls`.
    ///
    /// Only a change of a certificate or the configuration helps, so retry policies give up unless
    /// they retry everything. `URLSessionTransport` can't tell the reason.
    public internal(set) var tlsFailure: TLSFailure?
    /// The time limit that was exceeded, with the request's phase.
    ///
    /// The code is `timedOut`, or `cannotConnect` for the limit on establishing a connection.
    public let timeout: Timeout?
    /// A Boolean value that indicates whether it's certain that no server acted on the request.
    ///
    /// It's `true` if the request wasn't sent, or if the server said that it didn't process the
    /// request ([RFC 9113 §8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)). Such a
    /// request can be retried with any method. `false` means "perhaps", for example because a
    /// server answered an earlier request with a redirect.
    public internal(set) var isUnprocessed: Bool
    /// The response that the error is about, for the codes `decoding` and `noData`.
    public internal(set) var response: HTTPResponse?
    /// The operation's history: earlier failures, and the reason why the client didn't retry again.
    public internal(set) var retry: Retry.Outcome?

    /// Creates an error, whose message must not contain a secret.
    ///
    /// By default, `isUnprocessed` follows from the code and the timeout.
    public init(
        _ code: Code,
        _ message: String,
        timeout: Timeout? = nil,
        isUnprocessed: Bool? = nil,
        cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.timeout = timeout
        self.isUnprocessed = isUnprocessed ?? (code.isBeforeRequest || timeout?.phase.isBeforeRequest ?? false)
        self.cause = cause
    }

    /// The kind of a ``NetworkError``.
    @nonexhaustive
    public enum Code: String, Sendable, CustomStringConvertible {
        /// The request's URL, method or a header field is malformed; nothing was sent.
        case invalidRequest
        /// An interceptor or authenticator failed to prepare the request; nothing was sent.
        ///
        /// The error's ``NetworkError/cause`` has the reason.
        case requestNotMade
        /// A time limit was exceeded; see ``NetworkError/timeout``.
        case timedOut
        /// The host name couldn't be resolved.
        case cannotResolveHost
        /// The connection to the host or the proxy couldn't be established.
        case cannotConnect
        /// The proxy requires other credentials
        /// ([RFC 9110 §15.5.8](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.8)).
        case proxyAuthenticationRequired
        /// The connection closed before the response was complete.
        case connectionLost
        /// The TLS handshake failed or the peer isn't trusted; see ``NetworkError/tlsFailure``.
        case tls
        /// The peer's response isn't well-formed HTTP, or isn't the requested event stream.
        case invalidResponse
        /// The response's body exceeds the caller's limit.
        case bodyTooLarge
        /// The client has no ``AuthenticationProvider`` for an authorized request.
        case authenticationProviderNotPresent
        /// The transport isn't usable in this process; for example, libcurl is missing or too old.
        case transportUnavailable
        /// The client or transport was closed.
        case closed
        /// The response couldn't be decoded; the cause is a ``DecodingFailure``.
        case decoding
        /// The response has no body to decode a model from.
        case noData
        /// A ``ReplayTransport`` has no response for the request.
        case notRecorded
        /// A ``RateLimiter`` would delay the request past its deadline; nothing was sent.
        case rateLimited
        /// A ``CircuitBreaker`` blocks requests to a failing server; nothing was sent.
        case circuitOpen
        /// A transfer's file can't be read or written, as on a full disk; the cause is a
        /// `POSIXError`.
        case cannotUseFile
        /// The target file exists, and the download doesn't replace files.
        case fileExists
        /// Another transfer, possibly in another process, is writing the same file.
        case transferInProgress
        /// The server sent a different range of the resource than requested.
        case rangeMismatch
        /// The received bytes, or the bytes to send, don't match their digest.
        case digestMismatch
        /// A response lacks a required digest.
        case digestMissing
        /// A digest can't be verified, because the content was decoded while it was received.
        case digestUnverifiable
        /// An upload's source can be read only once and has already been read.
        case bodyNotReplayable
        /// A structured field is malformed, exceeds its limits or can't be serialized.
        case invalidField
        /// A failure of the transport without a more specific code; the message has the details.
        case unknown
        /// The redirects exceed the limit of the ``RedirectPolicy`` or form a loop.
        case tooManyRedirects
        /// The ``RedirectPolicy`` or a security rule forbids the redirect's target.
        case redirectRefused

        /// The value of ``NetworkError/errorCode``.
        var number: Int {
            switch self {
            case .invalidRequest: -1000
            case .requestNotMade: -1012
            case .timedOut, .rateLimited: -1001
            case .cannotResolveHost: -1003
            case .cannotConnect, .circuitOpen: -1004
            case .connectionLost: -1005
            case .tls: -1200
            case .invalidResponse, .rangeMismatch: -1011
            case .bodyTooLarge: -1103
            case .authenticationProviderNotPresent: -1013
            case .closed: -998
            case .proxyAuthenticationRequired: 306
            case .tooManyRedirects: -1007
            case .redirectRefused: -1010
            case .decoding, .invalidField: -1017
            case .noData: -1014
            case .cannotUseFile: -3003
            case .fileExists: -3000
            case .transferInProgress: -3002
            case .digestMismatch, .digestMissing, .digestUnverifiable: -1015
            case .bodyNotReplayable: -1021
            case .transportUnavailable, .notRecorded, .unknown: -1
            }
        }

        fileprivate var isBeforeRequest: Bool {
            switch self {
            case .cannotResolveHost, .cannotConnect, .requestNotMade, .authenticationProviderNotPresent, .rateLimited,
                .circuitOpen:
                true
            default: false
            }
        }

        /// A name from a fixed set, suitable as a metric label.
        public var description: String { rawValue }
    }

    /// The code as a number: Foundation's for the same failure, such as -1001 for a timeout.
    public var errorCode: Int { code.number }

    /// Returns whether two errors have the same code, ignoring messages and causes.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }

    /// The code, the message and the cause in readable form.
    public var description: String {
        var text = "\(code): \(message)"
        if let cause { text += " (\(cause))" }
        if let reason = retry?.reason { text += "; \(reason)" }
        return text
    }

    /// The same text as ``description``, for Foundation APIs.
    public var errorDescription: String? { description }
}

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
        public init(limit: Limit, phase: Phase) {
            self.limit = limit
            self.phase = phase
        }
    }
}

extension NetworkError.Timeout {
    /// A time limit; its raw value is a name that suits as a metric label.
    @nonexhaustive
    public enum Limit: String, Sendable {
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

    /// A phase of a request, as far as the transport can tell; its raw value is a name that suits
    /// as a metric label.
    @nonexhaustive
    public enum Phase: String, Sendable {
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

        var isBeforeRequest: Bool {
            switch self {
            case .preparing, .queued, .name, .connecting, .tlsHandshake: true
            case .sending, .firstByte, .receiving: false
            }
        }

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

    var clause: String {
        let more = "raise \(limit.setting)"
        return "\(phase.clause); \(phase.remedy.map { "\($0), or \(more)" } ?? more)"
    }
}

extension NetworkError {
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

    package init(_ limit: Timeout.Limit, _ phase: Timeout.Phase, _ message: String, code: Code = .timedOut) {
        let timeout = Timeout(limit: limit, phase: phase)
        self.init(code, "\(message), \(timeout.clause)", timeout: timeout)
    }
}
