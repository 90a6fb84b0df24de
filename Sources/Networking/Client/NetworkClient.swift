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
    /// The URL that the paths of ``get(_:query:headers:as:)`` and the other verbs are below; `nil`
    /// by default.
    public let baseURL: URL?
    /// The interceptors, authenticators and retry policies, the outermost first; none by default.
    public let interceptors: [any Interceptor]

    let settings: AttemptLoop.Settings
    let transferQueue: TransferQueue
    let compressionRefusals = CompressionRefusals()
    let renewals = Renewals()

    /// Creates a client with a transport.
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
    /// The `configuration` is copied. Its additional headers are kept, and its `User-Agent`
    /// overrides the one in the options.
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

    /// Creates a libcurl client with a TLS configuration.
    ///
    /// The configuration, `tls`, has the trusted servers and the client's own certificate. The
    /// client never falls back to `URLSession`, which can't enforce it.
    ///
    /// - Throws: ``NetworkError`` with the code `transportUnavailable` if this process can't
    ///   enforce the configuration: libcurl is missing, too old, or doesn't use the same OpenSSL as
    ///   the process.
    public convenience init(
        baseURL: URL? = nil,
        tls: TLSConfiguration,
        interceptors: [any Interceptor] = [],
        options: Options = Options()
    ) throws(NetworkError) {
        self.init(
            baseURL: baseURL,
            transport: try CurlTransport(configuration: CurlTransport.Configuration(tls: tls)),
            interceptors: interceptors,
            options: options
        )
    }

    /// The defaults of a client.
    public struct Options: Sendable {
        /// The timeout of a whole operation, including all attempts and delays.
        ///
        /// The default is 60 seconds; `nil` means no limit.
        public var timeout: Duration?
        /// The largest response body accepted, in decoded bytes; the default is 64 MiB.
        public var maximumBodySize: Int
        /// The redirect policy; the default is ``RedirectPolicy/follow``.
        public var redirects: RedirectPolicy
        /// The `User-Agent` of requests that don't set one; the default names the process.
        ///
        /// Some servers reject requests without one.
        public var userAgent: String
        /// Chooses between the actions of two voters; the default is
        /// ``Retry/Action/highestPriority(_:_:)``.
        public var retryActionPriority: @Sendable (Retry.Action, Retry.Action) -> Retry.Action
        /// The retry budget shared by all operations.
        ///
        /// By default every client has its own ``Retry/Budget``; `nil` means no limit.
        public var retryBudget: Retry.Budget?
        /// The decoding of rejected responses' bodies; the default is
        /// ``ErrorDecoding/problemDetails``.
        public var errorDecoding: ErrorDecoding
        /// The clocks.
        public var timeSource: TimeSource
        /// The maximum number of concurrent downloads and uploads, at least 1; the default is 6.
        ///
        /// Further transfers wait in a queue.
        public var maximumTransfers: Int
        /// The compression of request bodies; the default is ``RequestCompression/none``.
        ///
        /// ``RequestOptions/requestCompression`` and ``HTTPEndpoint/requestCompression`` override
        /// it.
        public var requestCompression: RequestCompression
        /// The observers of the client, for logs, metrics and traces; none by default.
        public var observers: [any ClientObserver]
        /// The provider of tokens for
        /// ``NetworkClient/makeAuthorizedRequest(exchangeRequest:scope:request:)``; the default is
        /// `nil`.
        public var authenticationProvider: (any AuthenticationProvider)?

        /// Creates options.
        public init(
            timeout: Duration? = .seconds(60),
            maximumBodySize: Int = 64 << 20,
            userAgent: UserAgent = UserAgent(),
            retryActionPriority: @escaping @Sendable (Retry.Action, Retry.Action) -> Retry.Action = {
                Retry.Action.highestPriority($0, $1)
            },
            timeSource: TimeSource = .system,
            redirects: RedirectPolicy = .follow,
            errorDecoding: ErrorDecoding = .problemDetails,
            retryBudget: Retry.Budget? = Retry.Budget(),
            maximumTransfers: Int = 6,
            requestCompression: RequestCompression = .none,
            observers: [any ClientObserver] = [],
            authenticationProvider: (any AuthenticationProvider)? = nil
        ) {
            self.timeout = timeout
            self.maximumBodySize = maximumBodySize
            self.userAgent = userAgent.description
            self.retryActionPriority = retryActionPriority
            self.timeSource = timeSource
            self.redirects = redirects
            self.errorDecoding = errorDecoding
            self.retryBudget = retryBudget
            self.maximumTransfers = maximumTransfers
            self.requestCompression = requestCompression
            self.observers = observers
            self.authenticationProvider = authenticationProvider
        }
    }
}

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

    /// Creates options; each is `nil` by default.
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
