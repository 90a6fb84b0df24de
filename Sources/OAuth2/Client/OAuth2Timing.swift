public import Networking

/// The timeout of requests to an authorization server, the number of attempts, and the clock.
///
/// ```swift
/// let oauth = OAuth2Client(
///     server: server,
///     clientAuthentication: authentication,
///     timing: .init(timeout: .seconds(10))
/// )
/// ```
public struct OAuth2Timing: Sendable {
    /// The maximum time for a call or for getting a token, including all attempts.
    ///
    /// The default is 30 seconds. The callers' own deadlines don't change it.
    public var timeout: Duration
    /// The maximum number of attempts within the timeout.
    ///
    /// The default is 3; the minimum is 1.
    public var attempts: Int
    /// The time to wait before sending a refresh token again if its response was lost.
    ///
    /// The default is 20 seconds.
    ///
    /// The first request may still be on its way, and servers treat the reuse of a refresh token as
    /// theft. Use a shorter delay only for servers that tolerate reuse or don't rotate the tokens.
    ///
    /// If hosts share a token, no other host sends it for this long after one has announced a
    /// refresh. The announcing host sends within a quarter of it, with a request timeout of a half.
    public var lostRequestDelay: Duration
    /// The server's treatment of refresh tokens that are used twice.
    ///
    /// The default is ``RefreshTokenRotation/rotating(grace:)`` without a grace period, which is
    /// correct for every server.
    public var rotation: RefreshTokenRotation
    /// The time that a resource server may need to recognize a new token.
    ///
    /// The default is `nil`: it recognizes tokens immediately.
    ///
    /// If the resource server rejects a request within two seconds after its token was issued, the
    /// client sends the request once more with the same token after this time.
    public var replicationDelay: Duration?
    /// The longest pause that the client accepts from a token endpoint's `Retry-After`.
    ///
    /// The default is 5 minutes.
    public var longestRetryAfter: Duration
    /// The source of time.
    ///
    /// Use the same one for the network clients that send the requests.
    public var timeSource: TimeSource
    /// The source of random numbers from 0 through 1, which spread the load of many clients.
    public var random: @Sendable () -> Double

    /// Creates timing options.
    ///
    /// - Parameters:
    ///   - timeout: The maximum time for a call, including all attempts. The default is 30 seconds.
    ///   - attempts: The maximum number of attempts within the timeout. The default is 3.
    ///   - lostRequestDelay: The time to wait before sending a refresh token again if its response
    ///     was lost. The default is 20 seconds.
    ///   - rotation: The server's treatment of refresh tokens that are used twice.
    ///   - replicationDelay: The time that a resource server may need to recognize a new token.
    ///   - longestRetryAfter: The longest pause that the client accepts from a token endpoint's
    ///     `Retry-After`. The default is 5 minutes.
    ///   - timeSource: The source of time.
    ///   - random: The source of random numbers from 0 through 1.
    public init(
        timeout: Duration = .seconds(30),
        attempts: Int = 3,
        lostRequestDelay: Duration = .seconds(20),
        rotation: RefreshTokenRotation = .rotating(),
        replicationDelay: Duration? = nil,
        longestRetryAfter: Duration = .seconds(300),
        timeSource: TimeSource = .system,
        random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }
    ) {
        self.timeout = timeout
        self.attempts = attempts
        self.lostRequestDelay = lostRequestDelay
        self.rotation = rotation
        self.replicationDelay = replicationDelay
        self.longestRetryAfter = longestRetryAfter
        self.timeSource = timeSource
        self.random = random
    }
}
