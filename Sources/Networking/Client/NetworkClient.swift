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
    /// An empty body, as of a 204, is empty data and not an error.
    ///
    /// - Parameter request: What to send. Its `timeoutInterval` bounds each attempt, in seconds.
    /// - Returns: The body of a response with a status of 200…299.
    /// - Throws: ``ServerError`` for any other status; ``NetworkError`` if there was no response.
    public func makeRequest(_ request: URLRequest) async throws -> Data {
        try await response(for: request).body
    }

    /// Sends a request and returns the whole response.
    ///
    /// - Parameter request: What to send. Its `timeoutInterval` bounds each attempt, in seconds.
    /// - Returns: A response with a status of 200…299.
    /// - Throws: ``ServerError`` for any other status; ``NetworkError`` if there was no response.
    public func response(for request: URLRequest) async throws -> HTTPResponse {
        try await AttemptLoop(client: self, chain: chain).run { request }
    }
}
