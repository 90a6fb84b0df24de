public import Foundation

/// What moves bytes: one request in, one response out.
///
/// A transport knows nothing of retries, redirects' policy, authentication or decoding, and nothing above it may assume
/// an engine. It never follows a redirect, never answers an authentication challenge and keeps no cookies: the
/// response to *this* request is what it returns, whatever the status.
///
/// `CurlTransport` is the default; `URLSessionTransport` serves whoever brings a `URLSessionConfiguration`;
/// `MockTransport` in MockNetworking answers from a script.
public protocol HTTPTransport: Sendable {
    /// Sends a request and returns its response.
    ///
    /// Cancelling the task cancels the exchange, until this returns; afterwards the body does, see ``HTTPResponseBody``. There is
    /// exactly one outcome.
    ///
    /// The response comes whole or with a stream of its body. ``HTTPTransportLimits/streamsBody`` says which of them the caller would
    /// like; the client accepts both.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline and the size of body that the caller accepts. They hold until the body's end.
    /// - Returns: The final response (1xx responses are not final), whatever its status.
    /// - Throws: ``NetworkError`` with a code that says what failed; `cancelled` if the task was cancelled.
    func send(_ request: HTTPTransportRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse
}

/// A request as a transport sends it.
public struct HTTPTransportRequest: Sendable {
    /// The method.
    public var method: HTTPMethod
    /// The absolute `http` or `https` URL.
    public var url: URL
    /// The header fields, in order.
    public var headers: HTTPHeaders
    /// What is sent after the header.
    public var body: HTTPBody
    /// Is told what happens to the exchange, for progress and metrics.
    public var observer: (@Sendable (HTTPTransportEvent) -> Void)?

    /// Makes a request.
    ///
    /// - Parameters:
    ///   - method: The method.
    ///   - url: The absolute `http` or `https` URL.
    ///   - headers: The header fields, in order.
    ///   - body: What is sent after the header.
    ///   - observer: Is told what happens to the exchange.
    public init(
        method: HTTPMethod = .get,
        url: URL,
        headers: HTTPHeaders = [:],
        body: HTTPBody = .none,
        observer: (@Sendable (HTTPTransportEvent) -> Void)? = nil
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.observer = observer
    }
}

/// What a caller is ready to wait for and to receive.
public struct HTTPTransportLimits: Sendable {
    /// When the exchange must have ended, waiting for a connection included; `nil` for no deadline.
    public var deadline: ContinuousClock.Instant?
    /// The largest body accepted after content decoding, in octets.
    ///
    /// A larger one fails with ``NetworkError/Code/bodyTooLarge`` while it is received.
    public var maximumBodySize: Int
    /// The longest wait for the first octet of the response, counted from when the request was sent; `nil` for as long as it takes.
    public var firstByteTimeout: Duration?
    /// The longest time in which no octet is sent or received while a connection is in use; `nil` for as long as it takes.
    ///
    /// Time in which the caller does not read, or gives no more of the request's body, does not count.
    public var idleTimeout: Duration?
    /// A Boolean value that indicates whether the response should be returned as soon as its header is there, with
    /// ``HTTPTransportResponse/stream``; `false` by default.
    public var streamsBody = false
    /// What the deadline stems from, for the words of an error.
    package var deadlineSource = NetworkError.Timeout.Limit.deadline
    /// A Boolean value that indicates whether a redirect's body may be given up for its size or its duration; see ``RedirectBody``.
    package var cutsRedirects = false

    /// Makes limits.
    ///
    /// - Parameters:
    ///   - deadline: When the exchange must have ended; `nil` for no deadline.
    ///   - maximumBodySize: The largest body accepted after content decoding, in octets. 64 MiB by default.
    ///   - firstByteTimeout: The longest wait for the first octet of the response.
    ///   - idleTimeout: The longest time in which nothing moves.
    public init(
        deadline: ContinuousClock.Instant? = nil,
        maximumBodySize: Int = 64 << 20,
        firstByteTimeout: Duration? = nil,
        idleTimeout: Duration? = nil
    ) {
        self.deadline = deadline
        self.maximumBodySize = maximumBodySize
        self.firstByteTimeout = firstByteTimeout
        self.idleTimeout = idleTimeout
    }
}

/// A response as a transport received it: its head, and its body or a stream of it.
public struct HTTPTransportResponse: Sendable {
    /// The status code, 200…999.
    public var status: Int
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`; empty if the transport can't tell.
    public var version: String
    /// The header fields, in order, repeated ones apart.
    public var headers: HTTPHeaders
    /// The body after content decoding; empty if there is none, or a ``stream``.
    public var body: Data
    /// The fields that came after the ``body`` ([RFC 9110 §6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)).
    public var trailers: HTTPHeaders
    /// The body after content decoding, received while it is read; `nil` if it is in ``body``.
    public var stream: HTTPResponseBody?
    /// A Boolean value that indicates whether this is a redirect whose body was given up; ``body`` is empty then.
    package var isCut = false

    /// Makes a response.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - version: The protocol version.
    ///   - headers: The header fields, in order.
    ///   - body: The body after content decoding.
    ///   - trailers: The fields that came after the body.
    public init(
        status: Int,
        version: String = "HTTP/1.1",
        headers: HTTPHeaders = [:],
        body: Data = Data(),
        trailers: HTTPHeaders = [:]
    ) {
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body
        self.trailers = trailers
    }

    /// Makes a response whose body is received while it is read.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - version: The protocol version.
    ///   - headers: The header fields, in order.
    ///   - stream: The body after content decoding.
    public init(status: Int, version: String = "HTTP/1.1", headers: HTTPHeaders = [:], stream: HTTPResponseBody) {
        self.init(status: status, version: version, headers: headers)
        self.stream = stream
    }
}
