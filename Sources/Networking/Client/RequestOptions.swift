/// What one request does otherwise than its client, and what a `URLRequest` has no room for.
///
/// ```swift
/// let options = RequestOptions(body: try .file(archive), redirects: .never)
/// let response = try await client.response(for: request, options: options)
/// ```
public struct RequestOptions: Sendable {
    /// The body, instead of the request's `httpBody`; `nil` to send that.
    ///
    /// A request whose body can be sent only once is not repeated, and follows no redirect that keeps the body.
    public var body: HTTPBody?
    /// Which redirects are followed; `nil` for what the client's options say.
    public var redirects: RedirectPolicy?
    /// How long the whole operation may take, all attempts and delays and the receiving of the body included; `nil` for what the
    /// client's options say.
    public var timeout: Duration?
    /// The largest response body accepted, in octets after content decoding; `nil` for what the client's options say.
    public var maximumBodySize: Int?
    /// The longest wait for the first octet of a response, counted from when the request was sent; `nil` for as long as it takes.
    public var firstByteTimeout: Duration?
    /// The longest time in which nothing is sent or received; `nil` for as long as it takes.
    public var idleTimeout: Duration?
    /// Is told what happens to each exchange of the operation, redirects and further attempts included.
    public var observer: (@Sendable (HTTPTransportEvent) -> Void)?

    /// Makes options.
    ///
    /// - Parameters:
    ///   - body: The body, instead of the request's `httpBody`.
    ///   - redirects: Which redirects are followed.
    ///   - timeout: How long the whole operation may take.
    ///   - maximumBodySize: The largest response body accepted, in octets.
    ///   - firstByteTimeout: The longest wait for the first octet of a response.
    ///   - idleTimeout: The longest time in which nothing is sent or received.
    ///   - observer: Is told what happens to each exchange.
    public init(
        body: HTTPBody? = nil,
        redirects: RedirectPolicy? = nil,
        timeout: Duration? = nil,
        maximumBodySize: Int? = nil,
        firstByteTimeout: Duration? = nil,
        idleTimeout: Duration? = nil,
        observer: (@Sendable (HTTPTransportEvent) -> Void)? = nil
    ) {
        self.body = body
        self.redirects = redirects
        self.timeout = timeout
        self.maximumBodySize = maximumBodySize
        self.firstByteTimeout = firstByteTimeout
        self.idleTimeout = idleTimeout
        self.observer = observer
    }
}
