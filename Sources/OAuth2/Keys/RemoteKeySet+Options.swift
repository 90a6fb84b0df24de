public import Networking
public import TokenGeneration

extension RemoteKeySet {
    /// How long keys are used, and how often they are fetched.
    public struct Options: Sendable {
        /// How long keys are used if the server does not say; 5 minutes by default.
        public var lifetime: Duration
        /// The shortest and the longest time that a server's `Cache-Control` or `Expires` can ask for; 1 minute to 1 hour by default.
        ///
        /// A key that the issuer has withdrawn is accepted here for as long as the keys are used.
        public var lifetimeBounds: ClosedRange<Duration>
        /// How long before their time is over keys are fetched anew, at most half of that time; 30 seconds by default.
        public var refreshAhead: Duration
        /// The time between two requests that tokens of unknown keys cause; 30 seconds by default.
        public var cooldown: Duration
        /// How long the last good keys are used after their time while the server fails; 1 hour by default.
        public var staleIfError: Duration
        /// How long a request may take; 5 seconds by default.
        public var timeout: Duration
        /// The largest key set accepted, in octets; 256 KiB by default, and 1 MiB at most.
        public var maximumSize: Int
        /// The largest RSA modulus, in bits, that a key may have to verify; 4096 by default, and 8192 at most.
        public var maximumRSAKeySize: Int
        /// Where time comes from; the client should have the same.
        public var timeSource: TimeSource

        /// Makes options.
        ///
        /// - Parameters:
        ///   - lifetime: How long keys are used if the server does not say.
        ///   - lifetimeBounds: The shortest and the longest time that a server can ask for.
        ///   - refreshAhead: How long before their time is over keys are fetched anew.
        ///   - cooldown: The time between two requests that tokens of unknown keys cause.
        ///   - staleIfError: How long the last good keys are used after their time while the server fails.
        ///   - timeout: How long a request may take.
        ///   - maximumSize: The largest key set accepted, in octets.
        ///   - maximumRSAKeySize: The largest RSA modulus, in bits, that a key may have to verify.
        ///   - timeSource: Where time comes from.
        public init(
            lifetime: Duration = .seconds(300),
            lifetimeBounds: ClosedRange<Duration> = .seconds(60) ... .seconds(3600),
            refreshAhead: Duration = .seconds(30),
            cooldown: Duration = .seconds(30),
            staleIfError: Duration = .seconds(3600),
            timeout: Duration = .seconds(5),
            maximumSize: Int = 256 << 10,
            maximumRSAKeySize: Int = 4_096,
            timeSource: TimeSource = .system
        ) {
            self.lifetime = lifetime
            self.lifetimeBounds = lifetimeBounds
            self.refreshAhead = refreshAhead
            self.cooldown = cooldown
            self.staleIfError = staleIfError
            self.timeout = timeout
            self.maximumSize = maximumSize
            self.maximumRSAKeySize = maximumRSAKeySize
            self.timeSource = timeSource
        }
    }

    /// How a remote key set is, for a health check.
    public struct Status: Sendable {
        /// The latest keys, however old; `nil` if none have come yet.
        ///
        /// `unusableKeys(_:)` and `rejections` of the set say what can't be used.
        public let keys: JWKSet?
        /// How often keys have come.
        public let loadCount: Int
        /// Whether the keys are older than they were meant to be used.
        public let isStale: Bool
        /// Why the latest request brought no keys; `nil` if it brought some.
        public let failure: OAuth2Error?
    }
}
