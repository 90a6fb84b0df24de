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
    /// Cancelling the task cancels the exchange. There is exactly one outcome.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline and the size of body that the caller accepts.
    /// - Returns: The final response (1xx responses are not final), whatever its status.
    /// - Throws: ``NetworkError`` with a code that says what failed; `cancelled` if the task was cancelled.
    func send(_ request: HTTPTransportRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse

    /// Sends a request and returns its response as soon as the header is there; the body is received while it is read.
    ///
    /// The deadline and the largest body hold until the body's end. Cancelling the task before this returns cancels the
    /// exchange; afterwards the body does, see ``HTTPResponseBody``.
    ///
    /// A transport that does not implement this receives the whole body first.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline and the size of body that the caller accepts.
    /// - Returns: The final response (1xx responses are not final), whatever its status.
    /// - Throws: ``NetworkError`` with a code that says what failed; `cancelled` if the task was cancelled.
    func open(_ request: HTTPTransportRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportStream
}

extension HTTPTransport {
    /// Sends a request and returns its response once the whole body is there.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - limits: The deadline and the size of body that the caller accepts.
    /// - Returns: The final response, whatever its status.
    /// - Throws: What ``send(_:limits:)`` throws.
    public func open(
        _ request: HTTPTransportRequest,
        limits: HTTPTransportLimits
    ) async throws -> HTTPTransportStream {
        let response = try await send(request, limits: limits)
        return HTTPTransportStream(
            status: response.status,
            version: response.version,
            headers: response.headers,
            body: HTTPResponseBody(response.body, trailers: response.trailers)
        )
    }
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

/// A response as a transport received it.
public struct HTTPTransportResponse: Sendable {
    /// The status code, 200…999.
    public var status: Int
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`; empty if the transport can't tell.
    public var version: String
    /// The header fields, in order, repeated ones apart.
    public var headers: HTTPHeaders
    /// The body after content decoding; empty if there is none.
    public var body: Data
    /// The fields that came after the body ([RFC 9110 §6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)).
    public var trailers: HTTPHeaders
    /// A Boolean value that indicates whether this is a redirect whose body was given up; ``body`` is empty then.
    package private(set) var isCut = false

    package init(
        status: Int,
        version: String,
        headers: HTTPHeaders,
        body: Data,
        trailers: HTTPHeaders,
        isCut: Bool
    ) {
        self.init(status: status, version: version, headers: headers, body: body, trailers: trailers)
        self.isCut = isCut
    }

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
}
