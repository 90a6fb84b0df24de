public import Networking

/// The time that calls of an authorization server may take, how often they are repeated, and the clock they go by.
///
/// ```swift
/// let oauth = OAuth2Client(server: server, clientAuthentication: authentication, timing: .init(timeout: .seconds(10)))
/// ```
public struct OAuth2Timing: Sendable {
    /// The maximum time for one call or for getting a token, all attempts included, whatever the callers' own deadlines; 30 seconds
    /// by default.
    public var timeout: Duration
    /// How often a failing endpoint is asked in that time; three times by default, and at least once.
    public var attempts: Int
    /// The time to wait before a refresh token whose response was lost is sent again; 20 seconds by default.
    ///
    /// The first request may still be on its way, and servers take the second use of a refresh token for theft. Take less only for a
    /// server that forgives it, or does not replace refresh tokens.
    public var lostRequestDelay: Duration
    /// The time that a resource may take to learn of a new token; `nil`, the default, if it knows at once.
    ///
    /// A request that is refused within two seconds after its token was issued is sent again with the same token after this
    /// time, once.
    public var replicationDelay: Duration?
    /// The longest pause that a token endpoint's `Retry-After` can cause; 5 minutes by default.
    public var longestRetryAfter: Duration
    /// The source of time; the clients that send the requests should have the same.
    public var timeSource: TimeSource
    /// The source of the random numbers of 0…1 that spread the requests of many clients.
    public var random: @Sendable () -> Double

    /// Makes a set of options.
    ///
    /// - Parameters:
    ///   - timeout: The maximum time for one call, all attempts included.
    ///   - attempts: How often a failing endpoint is asked in that time.
    ///   - lostRequestDelay: The time to wait before a refresh token whose response was lost is sent again.
    ///   - replicationDelay: The time that a resource may take to learn of a new token.
    ///   - longestRetryAfter: The longest pause that a token endpoint's `Retry-After` can cause.
    ///   - timeSource: The source of time.
    ///   - random: The source of random numbers of 0…1.
    public init(
        timeout: Duration = .seconds(30),
        attempts: Int = 3,
        lostRequestDelay: Duration = .seconds(20),
        replicationDelay: Duration? = nil,
        longestRetryAfter: Duration = .seconds(300),
        timeSource: TimeSource = .system,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.timeout = timeout
        self.attempts = attempts
        self.lostRequestDelay = lostRequestDelay
        self.replicationDelay = replicationDelay
        self.longestRetryAfter = longestRetryAfter
        self.timeSource = timeSource
        self.random = random
    }
}
