/// The failures in a row of an event stream, and the decision about the next connection.
struct Reconnection {
    /// The duration of a connection after which the server counts as working, even without events.
    private static let healthyDuration = Duration.seconds(60)
    /// The longest delay, because adding more to a clock's instant traps.
    private static let maximumDelay = Duration.seconds(86_400 * 365)

    private var failureCount = 0
    private var totalDelay: Duration = .zero
    private var lastDelay: Duration?

    /// Notes the end of a connection.
    mutating func noteEnd(of duration: Duration, hasEvents: Bool) {
        if hasEvents || duration >= Self.healthyDuration { self = Self() }
    }

    /// Returns the history for the policy.
    ///
    /// It contains the last error repeatedly, so that bodies of earlier responses aren't kept.
    func state(_ error: any Error) -> Retry.State {
        Retry.State(
            errors: Array(repeating: error, count: failureCount),
            delays: lastDelay.map { [$0] } ?? [],
            totalDelay: totalDelay
        )
    }

    /// Counts a failure, and returns the delay before the next connection: the policy's, added to
    /// the reconnection time from the options or the server.
    mutating func delay(_ own: Duration, after time: Duration) -> Duration {
        let own = min(max(own, .zero), Self.maximumDelay)
        let delay = own + min(max(time, .zero), ServerSentEventParser.maximumRetry)
        failureCount += 1
        totalDelay = min(totalDelay, Self.maximumDelay) + delay
        lastDelay = own
        return delay
    }
}
