extension NetworkClient {
    /// What a client does by default.
    public struct Options: Sendable {
        /// How long a whole operation may take, all attempts and delays included; `nil` for as long as it takes.
        ///
        /// 60 seconds by default.
        public var timeout: Duration?
        /// The largest response body accepted, in octets after content decoding; 64 MiB by default.
        public var maximumBodySize: Int
        /// Which redirects are followed; ``RedirectPolicy/follow`` by default.
        public var redirects: RedirectPolicy
        /// The `User-Agent` of requests that have none; the process's own by default.
        ///
        /// Some servers refuse requests without one.
        public var userAgent: String
        /// Which of two interceptors' actions wins; ``Retry/Action/highestPriority(_:_:)`` by default.
        public var retryActionPriority: @Sendable (Retry.Action, Retry.Action) -> Retry.Action
        /// What all operations together may spend on retries; a ``Retry/Budget`` of the client's own by default, `nil` for no limit.
        public var retryBudget: Retry.Budget?
        /// What the body of a response that is not accepted means; ``ErrorDecoding/problemDetails`` by default.
        public var errorDecoding: ErrorDecoding
        /// Where time comes from.
        public var timeSource: TimeSource
        /// How many downloads and uploads are in progress at once, at least 1, while the others wait for their turn; 6 by default.
        public var maximumTransfers: Int

        /// Makes options.
        ///
        /// - Parameters:
        ///   - timeout: How long a whole operation may take.
        ///   - maximumBodySize: The largest response body accepted, in octets.
        ///   - userAgent: The `User-Agent` of requests that have none.
        ///   - retryActionPriority: Which of two interceptors' actions wins.
        ///   - timeSource: Where time comes from.
        ///   - redirects: Which redirects are followed.
        ///   - errorDecoding: What the body of a response that is not accepted means.
        ///   - retryBudget: What all operations together may spend on retries.
        ///   - maximumTransfers: How many downloads and uploads are in progress at once.
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
            maximumTransfers: Int = 6
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
        }
    }
}
