import Networking

extension TokenLifecycle {
    /// A request that a resource rejected because of its token.
    struct RefusedRequest {
        let fingerprint: [UInt8]
        let origin: String
        /// The number of earlier rejections because of the token.
        let earlier: Int
        /// The time when the operation began.
        let started: ContinuousClock.Instant?
        /// The total delay of the operation so far.
        let totalDelay: Duration
        /// A Boolean value that indicates whether the resource gave only an unknown error code.
        var isUnclear = false

        init(_ fingerprint: [UInt8], origin: String, earlier: Int, state: Retry.State) {
            self.fingerprint = fingerprint
            self.origin = origin
            self.earlier = earlier
            started = state.started
            totalDelay = state.totalDelay
        }
    }

    /// Returns the action for a request whose token was rejected.
    mutating func refused(
        _ request: RefusedRequest,
        at now: ContinuousClock.Instant,
        canReplace: Bool = true
    ) -> Retry.Action {
        guard let sent = issued.last(where: { $0.fingerprint == request.fingerprint }) else { return .none }
        if request.isUnclear {
            guard let hard = held?.hard, now >= hard else { return .none }
            return .retry
        }
        if sent.generation < generation, isUsable(at: now), request.earlier < Self.supersededLimit { return .retry }
        let wasFresh = sent.isFresh(at: now, since: request.started)
        if request.earlier >= 2 || (request.earlier >= 1 && wasFresh) {
            if sent.generation == generation { held?.rejectedWhileFresh[request.origin] = now + Self.stormWindow }
            return .noRetry(.custom(Self.freshTokenRejected))
        }
        if let dead {
            // Another process may have signed in. The next request checks for that, and doesn't
            // carry a token that is known to be rejected.
            if sent.generation == generation { held?.isRejected = true }
            return .noRetry(.custom(dead))
        }
        guard canReplace else {
            return .noRetry(
                .custom(
                    OAuth2Error(.reauthenticationRequired, "the token was rejected, and its source can't replace it")
                )
            )
        }
        // The same resource rejected the same token when it was new, so another wouldn't help.
        if sent.generation == generation, let until = held?.rejectedWhileFresh[request.origin], now < until {
            return .noRetry(.custom(Self.freshTokenRejected))
        }
        rejections.removeAll { now - $0.at > Self.stormWindow }
        // Counted by origin: an API that rejects every token must not use up others' refreshes.
        if rejections.count(where: { $0.origin == request.origin }) >= Self.stormLimit
            || rejections.count >= Self.totalStormLimit
        {
            return .noRetry(
                .custom(
                    OAuth2Error(
                        .excessiveRefresh,
                        "too many tokens were rejected within \(Self.stormWindow); refreshes are paused"
                    )
                )
            )
        }
        if let delay = limits.replicationDelay, request.earlier == 0, let requested = sent.requested,
            sent.generation == generation, isUsable(at: now), now - requested < .seconds(2)
        {
            return .retryAfter(delay)
        }
        if sent.generation == generation, held?.isRejected == false {
            held?.isRejected = true
            rejections.append((request.origin, now))
        }
        guard !isUsable(at: now), let backoff, now < backoff.until else { return .retry }
        let delay = backoff.until - now
        guard request.totalDelay + delay <= limits.delayBudget else {
            return .noRetry(.delay(limits.delayBudget))
        }
        return .retryAfter(delay)
    }

    private static var freshTokenRejected: OAuth2Error {
        OAuth2Error(
            .freshTokenRejected,
            "the resource rejects a token that was issued for this request; check its audience and scope"
        )
    }
}

extension TokenLifecycle.Issued {
    /// Returns a Boolean value that indicates whether the token was issued during the operation and
    /// is still valid, so that a newer one isn't available.
    fileprivate func isFresh(at now: ContinuousClock.Instant, since started: ContinuousClock.Instant?) -> Bool {
        guard let started, let requested, requested >= started else { return false }
        return expiry.map { now < $0 } ?? true
    }
}
