public import Networking
public import TokenGeneration

extension RemoteKeySet {
    /// The lifetime of the keys and the limits of requests.
    public struct Options: Sendable {
        /// The lifetime of the keys if the server doesn't state one.
        ///
        /// The default is 5 minutes.
        public var lifetime: Duration
        /// The bounds of the lifetime that a server can set with `Cache-Control` or `Expires`.
        ///
        /// The default is 1 minute to 1 hour.
        ///
        /// A withdrawn key is accepted until the lifetime ends.
        public var lifetimeBounds: ClosedRange<Duration>
        /// The time before the end of the lifetime when the keys are refreshed, at most half the
        /// lifetime.
        ///
        /// The default is 30 seconds.
        public var refreshAhead: Duration
        /// The minimum time between two requests caused by tokens with unknown keys.
        ///
        /// The default is 30 seconds.
        public var cooldown: Duration
        /// The time that the last valid keys stay in use after their lifetime while the server
        /// fails.
        ///
        /// The default is 1 hour.
        public var staleIfError: Duration
        /// The timeout of a request.
        ///
        /// The default is 5 seconds.
        public var timeout: Duration
        /// The maximum size of a key set in bytes.
        ///
        /// The default is 256 KiB, the maximum 1 MiB.
        public var maximumSize: Int
        /// The maximum size of a key's RSA modulus in bits.
        ///
        /// The default is 4096, the maximum 8192.
        public var maximumRSAKeySize: Int
        /// The source of time, which should be the client's.
        public var timeSource: TimeSource
        /// The value of `Accept`.
        package var accept = "application/jwk-set+json, application/json"
        /// A closure that reads the keys in a response; `nil` for JSON of the type of a key set.
        package var read: (@Sendable (HTTPResponse) throws -> JWKSet)?

        /// Creates options.
        ///
        /// - Parameters:
        ///   - lifetime: The lifetime of the keys if the server doesn't state one. The default is 5
        ///     minutes.
        ///   - lifetimeBounds: The bounds of the lifetime that a server can set. The default is 1
        ///     minute to 1 hour.
        ///   - refreshAhead: The time before the end of the lifetime when the keys are refreshed.
        ///     The default is 30 seconds.
        ///   - cooldown: The minimum time between two requests caused by tokens with unknown keys.
        ///     The default is 30 seconds.
        ///   - staleIfError: The time that the last valid keys stay in use after their lifetime
        ///     while the server fails. The default is 1 hour.
        ///   - timeout: The timeout of a request. The default is 5 seconds.
        ///   - maximumSize: The maximum size of a key set in bytes. The default is 256 KiB.
        ///   - maximumRSAKeySize: The maximum size of a key's RSA modulus in bits. The default is
        ///     4096.
        ///   - timeSource: The source of time.
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

    /// The status of a remote key set, for a health check.
    public struct Status: Sendable {
        /// The latest keys, regardless of their age; `nil` before the first fetch.
        ///
        /// Use `unusableKeys(_:)` and `rejections` of the set to find keys that can't be used.
        public let keys: JWKSet?
        /// The number of successful fetches.
        public let loadCount: Int
        /// A Boolean value that indicates whether the keys have exceeded their lifetime.
        public let isStale: Bool
        /// The error of the latest request; `nil` if it succeeded.
        public let failure: OAuth2Error?
    }
}
