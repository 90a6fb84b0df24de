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
        // While the transfer waits for a name, the time to connect elapses.
        if let begun = nameLookup.begun {
            let end = begun + (configuration.connectTimeout - nameLookup.spent)
            guard end > now else { return (.connectTimedOut(configuration.connectTimeout, .name, origin), nil) }
            return (nil, end)
        }
        let (expired, next) = timing.check(at: now, limits: exchange.limits, isCallersTurn: !heldBack.isEmpty)
        return (expired.map { .timedOut($0, of: exchange.limits, phase, origin) }, next)
    }

    var phase: NetworkError.Timeout.Phase {
        if nameLookup.begun != nil { return .name }
        if !isDriven { return .queued }
        if timing.hasFirstByte { return .receiving }
        // libcurl before 7.80 doesn't report when it starts to send, only when it's connected.
        let isConnected = requestCount > 0 || (handle?.connectedTime(isSecure: origin.scheme == "https") ?? 0) > 0
        guard isConnected else { return handshake == nil ? .connecting : .tlsHandshake }
        return timing.requestSent == nil && request.body.isReadWhileSent ? .sending : .firstByte
    }
}
