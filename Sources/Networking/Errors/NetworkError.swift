public import Foundation

/// What went wrong between asking for something and having it.
///
/// A response with a status that is not accepted is a ``ServerError`` instead.
///
/// The message says what failed and what to do; it never has a header's value, a token or a body in it. Two errors are
/// equal if their codes are.
public struct NetworkError: ErrorWithCode, Sendable {
    /// What kind of failure it is.
    public let code: Code
    /// What failed, and what to do about it.
    public let message: String
    /// The error that caused this one, if another layer reported it.
    public let cause: (any Error)?
    /// The last component of the request's path, where the client knows it.
    public internal(set) var endpoint: String?
    /// Why there is no TLS connection, if that is the failure and the reason is known.
    ///
    /// The code is `tls` then. Policies don't retry it unless they retry everything: only somebody who changes a certificate or a
    /// configuration can help. `URLSessionTransport` can't tell reasons.
    public internal(set) var tlsFailure: TLSFailure?
    /// Which limit of time was exceeded and when, if that is the failure.
    ///
    /// The code is `timedOut` then, or `cannotConnect` for the time that making a connection may take.
    public let timeout: Timeout?
    /// A Boolean value that indicates whether it is certain that no server has acted on the request.
    ///
    /// That is so if the request was not sent, or if the server said that it did not process it
    /// ([RFC 9113 §8.7](https://www.rfc-editor.org/rfc/rfc9113#section-8.7)).
    /// Such a request can be repeated with any method. False means "perhaps": after a redirect was followed, for example,
    /// when the request before it was answered.
    public internal(set) var isUnprocessed: Bool
    /// The response, if one came and this error is about it: with the codes `decoding` and `noData`.
    public internal(set) var response: HTTPResponse?
    /// How the operation came to its end: earlier failures, and why there was no further attempt.
    public internal(set) var retry: Retry.Outcome?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What kind of failure it is.
    ///   - message: What failed, and what to do about it. Put no secret into it.
    ///   - timeout: Which limit of time was exceeded and when, if that is the failure.
    ///   - isUnprocessed: Whether it is certain that no server has acted on the request; `nil` for what the code and the timeout say.
    ///   - cause: The error that caused this one.
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
}

extension NetworkError {
    /// What kind of failure it is.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Wrapped: String {
            case invalidRequest, requestNotMade, cancelled, timedOut, cannotResolveHost, cannotConnect, connectionLost
            case tls, invalidResponse, bodyTooLarge, authenticationProviderNotPresent
            case unableToDecodeServiceTokenResponse, transportUnavailable, closed, unknown
            case proxyAuthenticationRequired
            case tooManyRedirects, redirectRefused
            case decoding, noData, notRecorded, rateLimited, circuitOpen
            case cannotUseFile, fileExists, transferInProgress, rangeMismatch, digestMismatch, bodyNotReplayable
        }

        private let wrapped: Wrapped

        private init(_ wrapped: Wrapped) {
            self.wrapped = wrapped
        }

        /// The code of a name that a recording has.
        init?(name: String) {
            guard let wrapped = Wrapped(rawValue: name) else { return nil }
            self.wrapped = wrapped
        }

        /// The number that ``NetworkError/errorCode`` has: Foundation's for the same failure where there is one.
        var number: Int {
            switch wrapped {
            case .invalidRequest: -1000
            case .requestNotMade: -1012
            case .cancelled: -999
            case .timedOut: -1001
            case .cannotResolveHost: -1003
            case .cannotConnect: -1004
            case .connectionLost: -1005
            case .tls: -1200
            case .invalidResponse: -1011
            case .bodyTooLarge: -1103
            case .authenticationProviderNotPresent: -1013
            case .unableToDecodeServiceTokenResponse: -1016
            case .transportUnavailable: -1
            case .closed: -998
            case .proxyAuthenticationRequired: 306
            case .unknown: -1
            case .tooManyRedirects: -1007
            case .redirectRefused: -1010
            case .decoding: -1017
            case .noData: -1014
            case .notRecorded: -1
            case .rateLimited: -1001
            case .circuitOpen: -1004
            case .cannotUseFile: -3003
            case .fileExists: -3000
            case .transferInProgress: -3002
            case .rangeMismatch: -1011
            case .digestMismatch: -1015
            case .bodyNotReplayable: -1021
            }
        }

        /// A Boolean value that indicates whether a failure of this kind ends an exchange before its request is sent.
        fileprivate var isBeforeRequest: Bool {
            switch wrapped {
            case .cannotResolveHost, .cannotConnect, .requestNotMade, .authenticationProviderNotPresent, .rateLimited,
                .circuitOpen:
                true
            default: false
            }
        }

        /// A bounded name, fit for a metric's label.
        public var description: String { wrapped.rawValue }

        /// The request can't be sent as it is: its URL, method or a header field is malformed, and nothing was sent.
        public static var invalidRequest: Self { Self(.invalidRequest) }
        /// An interceptor or authenticator could not make the request; the cause says why, and nothing was sent.
        public static var requestNotMade: Self { Self(.requestNotMade) }
        /// The task was cancelled.
        public static var cancelled: Self { Self(.cancelled) }
        /// A limit of time was exceeded; ``NetworkError/timeout`` says which and when.
        public static var timedOut: Self { Self(.timedOut) }
        /// The host's name has no address.
        public static var cannotResolveHost: Self { Self(.cannotResolveHost) }
        /// No connection could be made to the host or the proxy.
        public static var cannotConnect: Self { Self(.cannotConnect) }
        /// The proxy wants credentials, or others ([RFC 9110 §15.5.8](https://www.rfc-editor.org/rfc/rfc9110#section-15.5.8)).
        public static var proxyAuthenticationRequired: Self { Self(.proxyAuthenticationRequired) }
        /// The connection ended before the response was whole.
        public static var connectionLost: Self { Self(.connectionLost) }
        /// The TLS handshake failed or the peer is not trusted; ``NetworkError/tlsFailure`` says why.
        public static var tls: Self { Self(.tls) }
        /// The peer did not answer with a well-formed HTTP response.
        public static var invalidResponse: Self { Self(.invalidResponse) }
        /// The response's body is larger than the caller accepts.
        public static var bodyTooLarge: Self { Self(.bodyTooLarge) }
        /// An authorized request was asked of a client that has no ``AuthenticationProvider``.
        public static var authenticationProviderNotPresent: Self { Self(.authenticationProviderNotPresent) }
        /// The token-exchange endpoint answered 2xx with something that is not a token response.
        public static var unableToDecodeServiceTokenResponse: Self { Self(.unableToDecodeServiceTokenResponse) }
        /// The transport can't work in this process, for example because libcurl is missing or too old.
        public static var transportUnavailable: Self { Self(.transportUnavailable) }
        /// The client or transport was closed.
        public static var closed: Self { Self(.closed) }
        /// The response could not be decoded; ``NetworkError/cause`` is a ``DecodingFailure`` that names the place.
        public static var decoding: Self { Self(.decoding) }
        /// The response has no content where a model must come from it.
        public static var noData: Self { Self(.noData) }
        /// A ``ReplayTransport`` has no answer to the request, or not all of its answers were asked for.
        public static var notRecorded: Self { Self(.notRecorded) }
        /// A ``RateLimiter`` would let the request wait past its deadline; nothing was sent.
        public static var rateLimited: Self { Self(.rateLimited) }
        /// A ``CircuitBreaker`` keeps requests from a server that fails; nothing was sent.
        public static var circuitOpen: Self { Self(.circuitOpen) }
        /// A file of a transfer can't be read or written: the disk is full, the folder is read-only; the cause is a `POSIXError`.
        public static var cannotUseFile: Self { Self(.cannotUseFile) }
        /// There is a file of the target's name, and the download is not to replace it.
        public static var fileExists: Self { Self(.fileExists) }
        /// Another transfer, perhaps of another process, is writing the same file.
        public static var transferInProgress: Self { Self(.transferInProgress) }
        /// The server sent another part of the resource than it was asked for.
        public static var rangeMismatch: Self { Self(.rangeMismatch) }
        /// What was received has not the digest that it should have.
        public static var digestMismatch: Self { Self(.digestMismatch) }
        /// An upload's source can be read only once, and has been.
        public static var bodyNotReplayable: Self { Self(.bodyNotReplayable) }
        /// A failure of the transport that fits no other code; the message has its words.
        public static var unknown: Self { Self(.unknown) }
        /// There were more redirects than the ``RedirectPolicy`` allows, or they went round in a circle.
        public static var tooManyRedirects: Self { Self(.tooManyRedirects) }
        /// A redirect leads to where the request must not be sent; see ``RedirectPolicy``.
        public static var redirectRefused: Self { Self(.redirectRefused) }
    }
}

extension NetworkError {
    /// The failure as a number: Foundation's for the same failure where there is one, such as -1001 for a timeout.
    public var errorCode: Int { code.number }
}

extension NetworkError: Equatable {
    /// Whether two errors have the same code; messages and causes don't count.
    ///
    /// - Parameters:
    ///   - left: One error.
    ///   - right: The other.
    /// - Returns: Whether the codes are equal.
    public static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension NetworkError: CustomStringConvertible, LocalizedError {
    /// The code, the message and the cause, for a person to read.
    public var description: String {
        var text = "\(code): \(message)"
        if let cause { text += " (\(cause))" }
        if let reason = retry?.reason { text += "; \(reason)" }
        return text
    }

    /// The same text for APIs that ask Foundation.
    public var errorDescription: String? { description }
}
