public import Networking
public import TokenGeneration

extension CachedStatusLists {
    /// The handling of tokens while their list can't be renewed.
    public struct OutageRule: Sendable, Hashable {
        let staleLifetime: Duration

        /// Tokens are rejected when the list has exceeded its lifetime.
        public static let reject = Self(staleLifetime: .zero)

        /// The last valid list stays in use, but never after its own expiry.
        ///
        /// A token that is revoked during an outage is accepted for that time. An attacker who can
        /// block requests to the issuer can cause an outage.
        ///
        /// - Parameter duration: The maximum time after the list's lifetime.
        /// - Returns: The rule.
        public static func acceptStale(for duration: Duration) -> Self {
            // Longer times would exceed the clock's range.
            Self(staleLifetime: min(max(duration, .zero), .seconds(315_360_000)))
        }
    }

    /// The accepted statuses, the lifetime of lists and the limits of requests.
    public struct Options: Sendable {
        /// The statuses with which a token is accepted.
        ///
        /// The default is `TokenStatus.valid` alone, so undefined statuses are rejected.
        public var acceptedStatuses: Set<TokenStatus> = [.valid]
        /// A Boolean value that indicates whether a token without a status is rejected.
        ///
        /// The default is `true`.
        public var requiresStatus = true
        /// The bounds of the lifetime that an issuer can set with `ttl`.
        ///
        /// The default is 1 minute to 1 hour. A revocation is noticed after the lifetime. Without
        /// `ttl`, the lifetime is 5 minutes within these bounds. `exp` always ends it.
        public var lifetimeBounds: ClosedRange<Duration> = .seconds(60) ... .seconds(3600)
        /// The time between requests for a list that can't be fetched, and the minimum age of a
        /// list that is fetched again because it has no entry for a token.
        ///
        /// The default is 10 seconds. The server can ask for up to 5 minutes with `Retry-After`.
        public var retryInterval: Duration = .seconds(10)
        /// The timeout of a request.
        ///
        /// The default is 5 seconds.
        public var timeout: Duration = .seconds(5)
        /// The maximum size of a status list token in bytes.
        ///
        /// The default is 1 MiB.
        public var maximumTokenSize = 1_048_576
        /// The maximum size of a decompressed list in bytes.
        ///
        /// The default is 4 MiB.
        public var maximumListSize = 4_194_304
        /// The maximum number of cached lists.
        ///
        /// The default is 100.
        public var capacity = 100
        /// The redirects that are followed.
        ///
        /// The default is those to the same origin.
        public var redirects: RedirectPolicy = .sameOrigin
        /// The source of time, which should be the client's.
        public var timeSource: TimeSource = .system

        /// Creates options with their defaults.
        public init() {}
    }
}
