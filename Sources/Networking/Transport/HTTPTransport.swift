public import Foundation

/// A type that sends a single HTTP request and returns its response.
///
/// A transport isn't concerned with retries, redirects, authentication or decoding, and its callers
/// don't depend on a particular engine. It never follows a redirect, answers an authentication
/// challenge or stores cookies. It returns the response to the given request with any status.
///
/// `CurlTransport` is the default. `URLSessionTransport` takes a `URLSessionConfiguration`.
/// `MockTransport` in MockNetworking returns scripted responses.
public protocol HTTPTransport: Sendable {
    /// Sends a request and returns its response.
    ///
    /// Cancelling the task cancels the request until this method returns. After that, cancel the
    /// body; see ``HTTPResponseBody``. Each request has exactly one outcome.
    ///
    /// The response contains either the whole body or a stream of it.
    /// ``HTTPTransportLimits/streamsBody`` states the caller's preference; the client accepts both.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - limits: The deadline and the maximum body size. They apply until the end of the body,
    ///     except for ``HTTPTransportLimits/deadlineEndsWithHeader``.
    /// - Returns: The final response (not a 1xx response), with any status.
    /// - Throws: ``NetworkError`` with a code for the failure; `CancellationError` if the task was
    ///   cancelled.
    func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse
}

/// The limits on a request's duration and on the size of its response.
public struct HTTPTransportLimits: Sendable {
    /// The time by which the request must end, including the wait for a connection; `nil`, the
    /// default, for no deadline.
    public var deadline: ContinuousClock.Instant? {
        get { end?.instant }
        set { end = newValue.map(Moment.init) }
    }
    var end: Moment?
    /// The maximum size of the body in bytes, after content decoding; the default is 64 MiB.
    ///
    /// A larger body fails with ``NetworkError/Code/bodyTooLarge`` while it's received.
    public var maximumBodySize: Int
    /// The maximum time from sending the request to receiving the response's first byte; `nil`, the
    /// default, for no limit.
    public var firstByteTimeout: Duration?
    /// The maximum time without sending or receiving a byte while a connection is in use, or `nil`
    /// for no limit.
    ///
    /// Time spent waiting for the caller to read the response's body, or to supply more of the
    /// request's body, doesn't count.
    public var idleTimeout: Duration?
    /// The maximum average number of bytes of the response to receive per second, at least 1024, or
    /// `nil` for no limit.
    ///
    /// It counts the body before content decoding. A request with a limit has its own connection
    /// while it runs. Only ``CurlTransport`` supports limits; others reject the request.
    public var maximumDownloadRate: Int?
    /// The maximum average number of bytes of the request's body to send per second, as for
    /// ``maximumDownloadRate``.
    public var maximumUploadRate: Int?
    /// A Boolean value that indicates whether to return the response as soon as its header arrives,
    /// with ``HTTPTransportResponse/stream``; the default is `false`.
    public var streamsBody = false
    /// A Boolean value that indicates whether the deadline applies only until the response's header
    /// arrives, as for a streamed body that may last for hours.
    ///
    /// The default is `false`. It has no effect unless ``streamsBody`` is `true`.
    public var deadlineEndsWithHeader = false
    /// The setting that the deadline comes from, for error messages.
    package var deadlineSource = NetworkError.Timeout.Limit.deadline
    /// A redirect's body may be abandoned because of its size or duration; see ``RedirectBody``.
    package var cutsRedirects = false

    /// Creates limits, of which all but the size are absent by default.
    public init(
        deadline: ContinuousClock.Instant? = nil,
        maximumBodySize: Int = 64 << 20,
        firstByteTimeout: Duration? = nil,
        idleTimeout: Duration? = nil,
        maximumDownloadRate: Int? = nil,
        maximumUploadRate: Int? = nil
    ) {
        end = deadline.map(Moment.init)
        self.maximumBodySize = maximumBodySize
        self.firstByteTimeout = firstByteTimeout
        self.idleTimeout = idleTimeout
        self.maximumDownloadRate = maximumDownloadRate
        self.maximumUploadRate = maximumUploadRate
    }

    var hasRates: Bool { maximumDownloadRate != nil || maximumUploadRate != nil }

    func validateRates() throws(NetworkError) {
        let rates = [("maximumDownloadRate", maximumDownloadRate), ("maximumUploadRate", maximumUploadRate)]
        for case (let name, let rate?) in rates where rate < 1024 {
            throw NetworkError(.invalidRequest, "\(name) must be at least 1024 bytes per second, not \(rate)")
        }
    }
}

/// A response received by a transport: its head, and its body or a stream of it.
public struct HTTPTransportResponse: Sendable {
    /// The status code, 200…999.
    public var status: Int
    /// The protocol version, such as `HTTP/1.1` or `HTTP/2`; empty if the transport can't tell.
    public var version: String
    /// The header fields, in order, with repeated fields kept separate.
    public var headers: HTTPHeaders
    /// The body after content decoding; empty if the response has no body or a ``stream``.
    public var body: Data
    /// The trailer fields, received after the ``body``
    /// ([RFC 9110 §6.5](https://www.rfc-editor.org/rfc/rfc9110#section-6.5)).
    public var trailers: HTTPHeaders
    /// The body after content decoding, received as it's read, or `nil` if it's in ``body``.
    public var stream: HTTPResponseBody?
    package var hasCombinedFields = false
    /// The redirect's body was abandoned, and ``body`` is therefore empty.
    package var isCut = false
    /// A Boolean value that indicates whether the transport removed a content coding from the body,
    /// so that the response's digests aren't about these bytes.
    package var isDecoded = false

    /// Creates a response.
    public init(
        status: Int,
        version: String = "HTTP/1.1",
        headers: HTTPHeaders = [:],
        body: Data = Data(),
        trailers: HTTPHeaders = [:],
        stream: HTTPResponseBody? = nil
    ) {
        self.status = status
        self.version = version
        self.headers = headers
        self.body = body
        self.trailers = trailers
        self.stream = stream
    }
}

extension HTTPHeaders {
    var withoutCoding: Self {
        Self(filter { !["Content-Encoding", "Content-Length"].contains(where: $0.name.equalsIgnoringASCIICase) })
    }
}

extension NetworkError {
    static func tooLarge(_ origin: HTTPOrigin, _ limit: Int) -> Self {
        Self(
            .bodyTooLarge,
            "the response body from \(origin) exceeds \(limit) bytes; raise maximumBodySize or request less data"
        )
    }
}

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
    /// The protocol version, such as `HTTP/2`; empty without a response or if the transport
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
    public init(totalTime: Duration) {
        self.totalTime = totalTime
    }
}

/// A transport that fails every request, for a client whose engine isn't available in this process.
struct UnavailableTransport: HTTPTransport {
    let reason: NetworkError

    static func unless(_ make: () throws(NetworkError) -> any HTTPTransport) -> any HTTPTransport {
        do throws(NetworkError) {
            return try make()
        } catch {
            var reason = error
            reason.isUnprocessed = true
            return Self(reason: reason)
        }
    }

    func send(_ request: HTTPRequest, limits: HTTPTransportLimits) async throws -> HTTPTransportResponse {
        throw reason
    }
}
