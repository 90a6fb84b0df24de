/// The times of the events that a request's timeouts count from.
struct ExchangeTiming {
    /// The state of the timeouts at a given time.
    enum Verdict: Equatable {
        /// Neither timeout can expire before something else happens.
        case content
        /// The timeouts must be checked again at this time.
        case ask(ContinuousClock.Instant)
        case missedFirstByte
        case idle
    }

    /// The time of the last data transfer, or `nil` without a connection.
    private(set) var activity: ContinuousClock.Instant?
    /// The time at which the whole request was passed to libcurl.
    var requestSent: ContinuousClock.Instant?
    private(set) var hasFirstByte = false

    /// Records that the request is about to be sent on a connection.
    mutating func begin(at now: ContinuousClock.Instant, isWhole: Bool) {
        activity = now
        requestSent = isWhole ? now : nil
    }

    mutating func send(at now: ContinuousClock.Instant) {
        activity = now
    }

    mutating func receive(at now: ContinuousClock.Instant) {
        activity = now
        hasFirstByte = true
    }

    /// Records the end of a wait for the caller, which doesn't count.
    mutating func resume(at now: ContinuousClock.Instant) {
        activity = now
    }

    /// Compares the times with the limits.
    func verdict(at now: ContinuousClock.Instant, limits: HTTPTransportLimits, isCallersTurn: Bool) -> Verdict {
        var next: ContinuousClock.Instant?
        if let timeout = limits.firstByteTimeout, let requestSent, !hasFirstByte {
            guard requestSent + timeout > now else { return .missedFirstByte }
            next = requestSent + timeout
        }
        if let timeout = limits.idleTimeout, let activity {
            let start = isCallersTurn ? now : activity
            guard start + timeout > now else { return .idle }
            next = min(next ?? start + timeout, start + timeout)
        }
        return next.map(Verdict.ask) ?? .content
    }
}

extension CurlTransfer {
    var hasTimeouts: Bool { exchange.limits.firstByteTimeout != nil || exchange.limits.idleTimeout != nil }

    /// Returns the error of an expired timeout, and the time of the next check.
    func timeout(at now: ContinuousClock.Instant) -> (failure: NetworkError?, next: ContinuousClock.Instant?) {
        let (failure, next) = exchangeTimeout(at: now)
        let answerTime = answerTime
        if failure == nil, let answerTime, answerTime <= now { return (.lostAnswer(origin), nil) }
        return (failure, [next, cutTime, answerTime].compactMap(\.self).min())
    }

    private func exchangeTimeout(
        at now: ContinuousClock.Instant
    ) -> (failure: NetworkError?, next: ContinuousClock.Instant?) {
        if let end = nameDeadline {
            guard end > now else { return (.connectTimedOut(configuration.connectTimeout, .name, origin), nil) }
            return (nil, end)
        }
        return switch timing.verdict(at: now, limits: exchange.limits, isCallersTurn: !heldBack.isEmpty) {
        case .content: (nil, nil)
        case .ask(let next): (nil, next)
        case .missedFirstByte: (.timedOut(.firstByte, of: exchange.limits, phase, origin), nil)
        case .idle: (.timedOut(.idle, of: exchange.limits, phase, origin), nil)
        }
    }

    var phase: NetworkError.Timeout.Phase {
        if nameLookup.isWaiting { return .name }
        if !isDriven { return .queued }
        if timing.hasFirstByte { return .receiving }
        // libcurl before 7.80 doesn't report when it starts to send, only when it's connected.
        let isConnected = requestCount > 0 || (handle?.connectedTime(isSecure: origin.scheme == "https") ?? 0) > 0
        guard isConnected else { return handshake == nil ? .connecting : .tlsHandshake }
        return timing.requestSent == nil && request.body.isReadWhileSent ? .sending : .firstByte
    }
}
