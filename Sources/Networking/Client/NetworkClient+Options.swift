extension NetworkClient {
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
        ///
        /// - Parameters:
        ///   - timeout: The timeout of a whole operation. The default is 60 seconds.
        ///   - maximumBodySize: The largest response body, in bytes. The default is 64 MiB.
        ///   - userAgent: The `User-Agent` of requests that don't set one.
        ///   - retryActionPriority: Chooses between the actions of two voters.
        ///   - timeSource: The clocks.
        ///   - redirects: The redirect policy.
        ///   - errorDecoding: The decoding of rejected responses' bodies.
        ///   - retryBudget: The retry budget shared by all operations.
        ///   - maximumTransfers: The maximum number of concurrent transfers. The default is 6.
        ///   - requestCompression: The compression of request bodies. The default is `.none`.
        ///   - observers: The observers of the client. The default is empty.
        ///   - authenticationProvider: The provider of tokens for
        ///     ``NetworkClient/makeAuthorizedRequest(exchangeRequest:scope:request:)``.
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
