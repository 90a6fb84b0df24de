public import Foundation
public import FoundationNetworking

/// The HTTP client: sends requests through interceptors and a transport, repeats them where that is right, and returns
/// what the server answered.
///
/// ```swift
/// let client = NetworkClient()
/// let data = try await client.makeRequest(URLRequest(url: url))
/// ```
///
/// A client is made once and shared: it keeps connections open between requests. Cancelling the task of a request
/// cancels the exchange at once, and the error is ``NetworkError`` with the code `cancelled`.
///
/// Redirects are followed as ``RedirectPolicy`` says, without carrying credentials elsewhere; a redirect that is not followed
/// is a ``ServerError`` with its status.
public final class NetworkClient: Sendable {
    /// What moves the bytes.
    public let transport: any HTTPTransport
    /// What the client does by default.
    public let options: Options
    /// What hooks into every attempt, in order.
    public let interceptors: [any RequestInterceptor]

    let chain: InterceptorChain
    let authenticationProvider: (any AuthenticationProvider)?
    let serviceTokens: ServiceTokenCache
    let transferQueue: TransferQueue

    /// Makes a client on a transport.
    ///
    /// - Parameters:
    ///   - transport: What moves the bytes.
    ///   - interceptors: What hooks into every attempt, in order; authenticators and retry policies among them.
    ///   - authenticationProvider: Who has the token that
    ///     ``makeAuthorizedRequest(exchangeRequest:scope:request:)`` exchanges.
    ///   - options: What the client does by default.
    public init(
        transport: any HTTPTransport,
        interceptors: [any RequestInterceptor] = [],
        authenticationProvider: (any AuthenticationProvider)? = nil,
        options: Options = Options()
    ) {
        self.transport = transport
        self.interceptors = interceptors
        chain = InterceptorChain(interceptors)
        self.authenticationProvider = authenticationProvider
        self.options = options
        transferQueue = TransferQueue(limit: options.maximumTransfers)
        var policy = ServiceTokenCache.Policy(timeout: options.timeout ?? .seconds(60))
        policy.lifetime = { [timeSource = options.timeSource] in $0.expiry - timeSource.now() }
        serviceTokens = ServiceTokenCache(timeSource: options.timeSource, policy: policy)
    }

    /// Makes a client on libcurl, with connections of its own.
    ///
    /// Where libcurl can't be used, every request fails with ``NetworkError/Code/transportUnavailable``, and the message says what to
    /// install. The client never uses another engine instead.
    ///
    /// - Parameters:
    ///   - interceptors: What hooks into every attempt, in order.
    ///   - authenticationProvider: Who has the token that
    ///     ``makeAuthorizedRequest(exchangeRequest:scope:request:)`` exchanges.
    ///   - options: What the client does by default.
    public convenience init(
        interceptors: [any RequestInterceptor] = [],
        authenticationProvider: (any AuthenticationProvider)? = nil,
        options: Options = Options()
    ) {
        self.init(
            transport: UnavailableTransport.unless { () throws(NetworkError) in try CurlTransport() },
            interceptors: interceptors,
            authenticationProvider: authenticationProvider,
            options: options
        )
    }

    /// Makes a client on `URLSession`, for callers that need their own configuration, such as custom protocol classes.
    ///
    /// - Warning: A server can crash a process that uses `URLSession` on Linux; see ``URLSessionTransport``.
    ///
    /// The configuration is copied; its additional headers are kept, and its `User-Agent` wins over the options'.
    ///
    /// - Parameters:
    ///   - configuration: The session's configuration.
    ///   - interceptors: What hooks into every attempt, in order.
    ///   - authenticationProvider: Who has the token that
    ///     ``makeAuthorizedRequest(exchangeRequest:scope:request:)`` exchanges.
    ///   - options: What the client does by default.
    public convenience init(
        configuration: URLSessionConfiguration,
        interceptors: [any RequestInterceptor] = [],
        authenticationProvider: (any AuthenticationProvider)? = nil,
        options: Options = Options()
    ) {
        var options = options
        let additional = configuration.httpAdditionalHeaders ?? [:]
        if let own = additional.first(where: { ($0.key as? String)?.lowercased() == "user-agent" })?.value as? String {
            options.userAgent = own
        }
        self.init(
            transport: URLSessionTransport(configuration: configuration),
            interceptors: interceptors,
            authenticationProvider: authenticationProvider,
            options: options
        )
    }

    /// Sends a request and returns the response's body.
    ///
    /// An empty body, as of a 204, is empty data and not an error. ``data(for:options:)`` is another name for it.
    ///
    /// - Parameters:
    ///   - request: What to send. Its `timeoutInterval` bounds each attempt, in seconds.
    ///   - options: What it does otherwise than the client.
    /// - Returns: The body of a response with a status of 200…299.
    /// - Throws: What ``response(for:options:)`` throws.
    public func makeRequest(_ request: URLRequest, options: RequestOptions = RequestOptions()) async throws -> Data {
        try await response(for: request, options: options).body
    }

    /// Sends a request and returns the response's body, as ``makeRequest(_:options:)`` does.
    ///
    /// - Parameters:
    ///   - request: What to send. Its `timeoutInterval` bounds each attempt, in seconds.
    ///   - options: What it does otherwise than the client.
    /// - Returns: The body of a response with a status of 200…299.
    /// - Throws: What ``response(for:options:)`` throws.
    public func data(for request: URLRequest, options: RequestOptions = RequestOptions()) async throws -> Data {
        try await response(for: request, options: options).body
    }

    /// Sends a request and returns the whole response.
    ///
    /// - Parameters:
    ///   - request: What to send. Its `timeoutInterval` bounds each attempt, in seconds.
    ///   - options: What it does otherwise than the client.
    /// - Returns: A response with a status of 200…299.
    /// - Throws: ``ServerError`` for any other status; ``NetworkError`` if there was no response. If the body can be sent only once and
    ///   an interceptor asked for another attempt, the error's `retry` has the reason `bodyNotReplayable`.
    public func response(
        for request: URLRequest,
        options: RequestOptions = RequestOptions()
    ) async throws -> HTTPResponse {
        try await AttemptLoop(client: self, chain: chain, options: options).run { (request, nil) }
    }

    /// Sends a request and returns the response as soon as its header is there; the body is received while it is read.
    ///
    /// ```swift
    /// let response = try await client.stream(request)
    /// for try await part in response.stream { try file.write(contentsOf: part) }
    /// ```
    ///
    /// Interceptors see the response with an empty `body`, and attempts are repeated up to the header. What is lost later, the stream
    /// throws. The operation's timeout, the request's `timeoutInterval` and the largest body hold until the body's end: give
    /// ``RequestOptions`` for a long one. A response with another status than 200…299 is received whole before it is thrown.
    ///
    /// - Parameters:
    ///   - request: What to send.
    ///   - options: What it does otherwise than the client.
    /// - Returns: A response with a status of 200…299, whose body is read from its ``HTTPResponse/stream``.
    /// - Throws: What ``response(for:options:)`` throws.
    public func stream(_ request: URLRequest, options: RequestOptions = RequestOptions()) async throws -> HTTPResponse {
        var loop = AttemptLoop(client: self, chain: chain, options: options)
        loop.isStreamed = true
        return try await loop.run { (request, nil) }
    }
}
