/// The time limits of an announced refresh, which add up by construction.
///
/// An attempt is valid for longer than the time to send plus the request's timeout, so a request
/// that is sent in time is over when another host may send the same token. The last quarter is
/// slack for a server that processes the request late.
struct RefreshDeadlines: Equatable {
    /// The time for which no other host sends the token.
    let validFor: Duration
    /// The maximum time between the moment before the announcement and sending the request.
    var sendWithin: Duration { validFor / 4 }
    /// The timeout of the request.
    var requestTimeout: Duration { validFor / 2 }

    init(_ timing: OAuth2Timing) {
        // Another host's attempt must arrive within the grace period.
        let grace = timing.rotation.grace.map { $0 * 0.8 }
        validFor = grace.map { min($0, timing.lostRequestDelay) } ?? timing.lostRequestDelay
    }

    /// The number of attempts with the same token after which hosts wait longer and longer, because
    /// the refresh may be what ends their processes.
    static let triesBeforeBackoff = 3
    private static let longestValidity = Duration.seconds(600)

    /// Returns the time for which a host respects another's attempt.
    static func validity(of attempt: RefreshAttempt) -> Duration {
        let validFor = min(attempt.validFor, TokenRecord.longestWait)
        guard attempt.tries >= triesBeforeBackoff else { return validFor }
        let factor = 2 << min(attempt.tries - triesBeforeBackoff, 9)
        return max(min(validFor * factor, longestValidity), validFor)
    }
}
