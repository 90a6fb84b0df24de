/// The times of the events that a request's timeouts count from.
struct ExchangeTiming {
    /// The time of the last data transfer, or `nil` without a connection.
    private(set) var activity: ContinuousClock.Instant?
    /// The time at which the whole request was passed on, as far as the engine reports it.
    var requestSent: ContinuousClock.Instant?
    /// The time of the response's first byte.
    private(set) var firstByte: ContinuousClock.Instant?

    var hasFirstByte: Bool { firstByte != nil }

    /// Records that the request is about to be sent on a connection.
    mutating func begin(at now: ContinuousClock.Instant, isWhole: Bool) {
        activity = now
        requestSent = isWhole ? now : nil
    }

    /// Records that data was sent, or the end of a wait for the caller, which doesn't count.
    mutating func move(at now: ContinuousClock.Instant) {
        activity = now
    }

    mutating func receive(at now: ContinuousClock.Instant) {
        activity = now
        if firstByte == nil { firstByte = now }
    }

    /// Returns the timeout that has expired, or the time of the next check, if it's needed before
    /// something else happens.
    func check(
        at now: ContinuousClock.Instant,
        limits: HTTPTransportLimits,
        isCallersTurn: Bool = false
    ) -> (expired: NetworkError.Timeout.Limit?, next: ContinuousClock.Instant?) {
        var next: ContinuousClock.Instant?
        if let timeout = limits.firstByteTimeout, let requestSent, !hasFirstByte {
            guard requestSent + timeout > now else { return (.firstByte, nil) }
            next = requestSent + timeout
        }
        if let timeout = limits.idleTimeout, let activity {
            let end = (isCallersTurn ? now : activity) + timeout
            guard end > now else { return (.idle, nil) }
            next = min(next ?? end, end)
        }
        return (nil, next)
    }
}
