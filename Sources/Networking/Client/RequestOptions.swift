/// The overrides of a client's defaults for one request, and settings that `URLRequest` can't hold.
///
/// ```swift
/// let options = RequestOptions(body: try .file(archive), redirects: .never)
/// let response = try await client.response(for: request, options: options)
/// ```
public struct RequestOptions: Sendable {
    /// The body, in place of the request's `httpBody`; `nil` to send `httpBody`.
    ///
    /// A body that can be sent only once prevents retries, and redirects that keep the body.
    public var body: HTTPBody?
    /// The redirect policy; `nil` for the client's.
    public var redirects: RedirectPolicy?
    /// The timeout of all attempts, delays and the body's transfer; `nil` for the client's.
    public var timeout: Duration?
    /// The largest response body accepted, in bytes after content decoding; `nil` for the client's.
    public var maximumBodySize: Int?
    /// The maximum time from the sent request to the first byte; `nil` for no limit.
    public var firstByteTimeout: Duration?
    /// The maximum time without any byte sent or received; `nil` for no limit.
    public var idleTimeout: Duration?
    /// The maximum average number of bytes of a response to receive per second, at least 1024;
    /// `nil` for no limit.
    ///
    /// A request with a limit has its own connection. Only ``CurlTransport`` supports limits.
    public var maximumDownloadRate: Int?
    /// The maximum average number of bytes of the body to send per second, at least 1024; `nil` for
    /// no limit.
    ///
    /// A request with a limit has its own connection. Only ``CurlTransport`` supports limits.
    public var maximumUploadRate: Int?
    /// The compression of the body; `nil` for the endpoint's or the client's.
    public var requestCompression: RequestCompression?
    /// Receives the events of every request of the operation, including redirects and retries.
    public var observer: (@Sendable (HTTPTransportEvent) -> Void)?
    /// The observers of the operation in addition to the client's.
    package var additionalObservers: [any ClientObserver] = []

    /// Creates options.
    ///
    /// - Parameters:
    ///   - body: The body, in place of the request's `httpBody`.
    ///   - redirects: The redirect policy.
    ///   - timeout: The timeout of the whole operation.
    ///   - maximumBodySize: The largest response body accepted, in bytes.
    ///   - firstByteTimeout: The maximum time to the first byte of the response.
    ///   - idleTimeout: The maximum time without any byte sent or received.
    ///   - observer: Receives the events of every request.
    ///   - maximumDownloadRate: The maximum number of bytes to receive per second.
    ///   - maximumUploadRate: The maximum number of bytes to send per second.
    ///   - requestCompression: The compression of the body.
    public init(
        body: HTTPBody? = nil,
        redirects: RedirectPolicy? = nil,
        timeout: Duration? = nil,
        maximumBodySize: Int? = nil,
        firstByteTimeout: Duration? = nil,
        idleTimeout: Duration? = nil,
        observer: (@Sendable (HTTPTransportEvent) -> Void)? = nil,
        maximumDownloadRate: Int? = nil,
        maximumUploadRate: Int? = nil,
        requestCompression: RequestCompression? = nil
    ) {
        self.body = body
        self.redirects = redirects
        self.timeout = timeout
        self.maximumBodySize = maximumBodySize
        self.firstByteTimeout = firstByteTimeout
        self.idleTimeout = idleTimeout
        self.observer = observer
        self.maximumDownloadRate = maximumDownloadRate
        self.maximumUploadRate = maximumUploadRate
        self.requestCompression = requestCompression
    }
}
