public import Foundation
public import FoundationNetworking

/// An HTTP client that sends requests through interceptors and a transport.
///
/// ```swift
/// let client = NetworkClient()
/// let data = try await client.makeRequest(URLRequest(url: url))
/// ```
///
/// Create one client and share it: it keeps connections open. It retries only if an interceptor
/// asks for it. Cancelling a request's task ends the request at once with a `CancellationError`.
///
/// The client follows redirects according to its ``RedirectPolicy`` and never sends credentials to
/// another server. It throws a ``ServerError`` with the status of any other redirect.
public final class NetworkClient: Sendable {
    /// The transport that sends the requests.
    public let transport: any HTTPTransport
    /// The defaults of the client.
    public let options: Options
    /// The URL that the paths of ``get(_:query:headers:as:)`` and the other verbs are below.
    public let baseURL: URL?
    /// The interceptors, the outermost first.
    public let interceptors: [any Interceptor]

    let settings: AttemptLoop.Settings
    let transferQueue: TransferQueue
    let compressionRefusals = CompressionRefusals()
    let renewals = Renewals()

    /// Creates a client with a transport.
    ///
    /// - Parameters:
    ///   - baseURL: The URL that the verbs' paths are below. The default is `nil`.
    ///   - transport: The transport that sends the requests.
    ///   - interceptors: The interceptors, authenticators and retry policies, in the order they
    ///     run.
    ///   - options: The defaults of the client.
    public init(
        baseURL: URL? = nil,
        transport: any HTTPTransport,
        interceptors: [any Interceptor] = [],
        options: Options = Options()
    ) {
        self.baseURL = baseURL
        self.transport = transport
        self.interceptors = interceptors
        self.options = options
        settings = AttemptLoop.Settings(transport, options, InterceptorChain(interceptors))
        transferQueue = TransferQueue(limit: options.maximumTransfers)
        interceptors.report(to: options.observers)
    }

    /// Creates a libcurl client with its own connections.
    ///
    /// If libcurl can't be used, every request fails with
    /// ``NetworkError/Code/transportUnavailable``, and the message says what to install. The client
    /// never falls back to another engine.
    ///
    /// - Parameters:
    ///   - baseURL: The URL that the verbs' paths are below. The default is `nil`.
    ///   - interceptors: The interceptors, in the order they run.
    ///   - options: The defaults of the client.
    public convenience init(
        baseURL: URL? = nil,
        interceptors: [any Interceptor] = [],
        options: Options = Options()
    ) {
        self.init(
            baseURL: baseURL,
            transport: UnavailableTransport.unless { () throws(NetworkError) in try CurlTransport() },
            interceptors: interceptors,
            options: options
        )
    }

    /// Creates a `URLSession` client, for a custom configuration such as your own protocol classes.
    ///
    /// - Warning: A server can crash a process that uses `URLSession` on Linux; see
    ///   ``URLSessionTransport``.
    ///
    /// The configuration is copied. Its additional headers are kept, and its `User-Agent` overrides
    /// the one in the options.
    ///
    /// - Parameters:
    ///   - configuration: The session's configuration.
    ///   - interceptors: The interceptors, in the order they run.
    ///   - options: The defaults of the client.
    public convenience init(
        configuration: URLSessionConfiguration,
        interceptors: [any Interceptor] = [],
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
            options: options
        )
    }

    /// Sends a request and returns the response's body.
    ///
    /// An empty body, such as that of a 204, is empty data and not an error.
    ///
    /// - Parameters:
    ///   - request: The request. Its `timeoutInterval` limits each attempt, in seconds.
    ///   - options: The overrides of the client's defaults for this request. The default is `nil`.
    /// - Returns: The body of a response with a status of 200…299.
    /// - Throws: What ``response(for:options:)`` throws.
    public func makeRequest(_ request: URLRequest, options: RequestOptions? = nil) async throws -> Data {
        try await response(for: request, options: options).body
    }
}
