import Networking

extension TokenLifecycle {
    /// A request that a resource has refused because of its token.
    struct RefusedRequest {
        /// That of the token the request carried.
        let fingerprint: [UInt8]
        /// Where it was refused.
        let origin: String
        /// How often it was refused before, for its token.
        let earlier: Int
        /// When the operation began.
        let started: ContinuousClock.Instant?
        /// How long the operation has been held back so far.
        let totalDelay: Duration
        /// Whether the resource has said only that something is wrong, in a code that is not known.
        var isUnclear = false

        init(_ fingerprint: [UInt8], origin: String, earlier: Int, state: Retry.State) {
            self.fingerprint = fingerprint
            self.origin = origin
            self.earlier = earlier
            started = state.started
            totalDelay = state.totalDelay
        }
    }

    /// A resource has refused a token: rows 13 and 14 of the decision table.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - now: The time.
    ///   - canReplace: Whether another token can be had at all.
    /// - Returns: What should happen to the request.
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
            // Another may have signed in: the next request looks, and does not go with a token that is known to be refused.
            if sent.generation == generation { held?.isRejected = true }
            return .noRetry(.custom(dead))
        }
        guard canReplace else {
            return .noRetry(
                .custom(
                    OAuth2Error(.reauthenticationRequired, "the token is refused, and its source has no other")
                )
            )
        }
        // The same resource has just refused the same token when it was new: another would fare no better.
        if sent.generation == generation, let until = held?.rejectedWhileFresh[request.origin], now < until {
            return .noRetry(.custom(Self.freshTokenRejected))
        }
        rejections.removeAll { now - $0.at > Self.stormWindow }
        // By origin: an API that refuses every token must not use up what the others may need.
        if rejections.count(where: { $0.origin == request.origin }) >= Self.stormLimit
            || rejections.count >= Self.totalStormLimit
        {
            return .noRetry(
                .custom(
                    OAuth2Error(
                        .excessiveRefresh,
                        "too many tokens were refused within \(Self.stormWindow); no more are asked for now because of it"
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
            "the resource refuses a token that was issued for this request; check its audience and scope"
        )
    }
}

extension TokenLifecycle.Issued {
    /// Whether the token was issued for an operation that began then, and is still valid: nothing newer can be had.
    fileprivate func isFresh(at now: ContinuousClock.Instant, since started: ContinuousClock.Instant?) -> Bool {
        guard let started, let requested, requested >= started else { return false }
        return expiry.map { now < $0 } ?? true
    }
}
