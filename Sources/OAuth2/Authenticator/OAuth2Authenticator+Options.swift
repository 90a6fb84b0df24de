public import Networking

extension OAuth2Authenticator {
    /// What an authenticator does by default.
    public struct Options: Sendable {
        /// How long getting a token may take, whatever the callers' own deadlines; 30 seconds by default.
        public var timeout: Duration
        /// How often a token endpoint is asked in that time that fails for the moment; three times by default.
        public var attempts: Int
        /// The time to wait before a refresh token whose response was lost is sent again; 20 seconds by default.
        ///
        /// See ``GrantTokenSource/Options/lostRequestDelay``.
        public var lostRequestDelay = Duration.seconds(20)
        /// The longest pause that a server's `Retry-After` can cause; 5 minutes by default.
        public var longestRetryAfter = Duration.seconds(300)
        /// How long a resource may take to learn of a new token; `nil`, the default, if it knows at once.
        ///
        /// A request that is refused within two seconds after its token was issued is sent again with the same token after this
        /// time, once.
        public var replicationDelay: Duration?
        /// Whether a 403 without a reason is answered by a refresh, as a 401 is; no by default.
        ///
        /// Only for servers that say 403 where they mean 401: others say it of what the token's owner must not do, and each such
        /// request would cost a token.
        public var insecurelyTreatsForbiddenAsInvalidToken = false
        /// What else has a token that meets a resource's demand for more scope or another authentication, where the grant has no
        /// answer of its own; `nil`, the default, if nothing has.
        ///
        /// It must not ask anybody who could keep a request waiting. The source that it has for a demand is kept, of sixteen demands at
        /// most; the request that was refused is repeated once with a token of it, apart from the other tokens
        /// ([RFC 9470 §4](https://www.rfc-editor.org/rfc/rfc9470#section-4)).
        public var stepUpSource: (@Sendable (ResourceDemand) -> (any TokenSource)?)?
        /// Where time comes from; the clients that the authenticator works with should have the same.
        public var timeSource: TimeSource
        /// Where the random numbers of 0…1 come from that spread the refreshes of many clients.
        public var random: @Sendable () -> Double

        /// Makes options.
        ///
        /// - Parameters:
        ///   - timeout: How long getting a token may take.
        ///   - attempts: How often a token endpoint is asked that fails for the moment; at least once.
        ///   - replicationDelay: How long a resource may take to learn of a new token.
        ///   - timeSource: Where time comes from.
        ///   - random: Where random numbers of 0…1 come from.
        public init(
            timeout: Duration = .seconds(30),
            attempts: Int = 3,
            replicationDelay: Duration? = nil,
            timeSource: TimeSource = .system,
            random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
        ) {
            self.timeout = timeout
            self.attempts = attempts
            self.replicationDelay = replicationDelay
            self.timeSource = timeSource
            self.random = random
        }
    }
}

extension OAuth2Authenticator.Options {
    /// The same for the source that keeps the token.
    var caching: CachedTokenSource.Options {
        CachedTokenSource.Options(
            timeout: timeout,
            replicationDelay: replicationDelay,
            longestRetryAfter: longestRetryAfter,
            timeSource: timeSource,
            random: random
        )
    }
}
