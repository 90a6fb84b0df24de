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

    /// Returns the limit that was exceeded first, or the time of the next check, if it's needed
    /// before something else happens.
    func check(
        at now: ContinuousClock.Instant,
        limits: HTTPTransportLimits,
        deadline: ContinuousClock.Instant? = nil,
        isCallersTurn: Bool = false
    ) -> (expired: NetworkError.Timeout.Limit?, next: ContinuousClock.Instant?) {
        var first: (limit: NetworkError.Timeout.Limit, end: ContinuousClock.Instant)? = deadline.map { (.deadline, $0) }
        func add(_ limit: NetworkError.Timeout.Limit, _ end: ContinuousClock.Instant) {
            if first.map({ end < $0.end }) ?? true { first = (limit, end) }
        }
        if let timeout = limits.firstByteTimeout, let requestSent, !hasFirstByte {
            add(.firstByte, requestSent + timeout)
        }
        if let timeout = limits.idleTimeout, let activity { add(.idle, (isCallersTurn ? now : activity) + timeout) }
        guard let first, first.end <= now else { return (nil, first?.end) }
        return (first.limit, nil)
    }
}
