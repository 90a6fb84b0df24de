import Networking

/// The life of a token, as a value: events go in, decisions come out, and nothing else happens here.
///
/// Each token received has a generation. A request refused with an older generation's token is sent again with the
/// current one, without a refresh: the refusal says nothing of the current token.
struct TokenLifecycle: Sendable {
    /// What is to be done for a caller that needs a token.
    enum Acquisition {
        /// The token is good.
        case use(AccessToken)
        /// The token is good, but should be replaced before it expires: refresh it beside.
        case useAndRefresh(AccessToken)
        /// There is no good token: the caller waits for a new one.
        case wait
        /// There will be no token without somebody's help.
        case fail(OAuth2Error)
    }

    fileprivate struct Held {
        let token: AccessToken
        /// When to replace it ahead of its expiry.
        let soft: ContinuousClock.Instant
        /// When to stop using it; `nil` to use it until it is refused.
        let hard: ContinuousClock.Instant?
        var isRejected = false
    }

    fileprivate struct Issued {
        let fingerprint: [UInt8]
        let generation: Int
        /// When it was asked for; `nil` if somebody else did that.
        let requested: ContinuousClock.Instant?
        let expiry: ContinuousClock.Instant?
    }

    /// How many refreshes within ``stormWindow`` mean that tokens are refused as fast as they are issued.
    static let stormLimit = 5
    static let stormWindow = Duration.seconds(30)
    /// How long to leave the server alone after a refresh ahead of expiry has failed.
    static let backgroundPause = Duration.seconds(30)
    /// How often a request is sent again because others replaced its token while it was under way.
    static let supersededLimit = 3
    private static let rememberedTokens = 16

    /// The number of the current token; 0 before the first.
    private(set) var generation = 0
    private var held: Held?
    private var dead: OAuth2Error?
    private var backgroundGate: ContinuousClock.Instant?
    /// The latest tokens, oldest first, by which a refused request's token is recognized.
    private var issued: [Issued] = []
    private var refreshes: [ContinuousClock.Instant] = []

    /// Whether a caller can have the current token.
    func isUsable(at now: ContinuousClock.Instant) -> Bool {
        guard let held, !held.isRejected else { return false }
        return held.hard.map { now < $0 } ?? true
    }

    /// Whether a token is one of the latest that came here.
    func isKnown(_ fingerprint: [UInt8]) -> Bool {
        issued.contains { $0.fingerprint == fingerprint }
    }

    // MARK: Events

    /// A caller needs a token.
    func acquire(at now: ContinuousClock.Instant) -> Acquisition {
        guard let held, isUsable(at: now) else {
            return dead.map(Acquisition.fail) ?? .wait
        }
        let isPaused = backgroundGate.map { now < $0 } ?? false
        guard now >= held.soft, !isPaused, dead == nil else { return .use(held.token) }
        return .useAndRefresh(held.token)
    }

    /// A new token has come.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - now: The time.
    ///   - jitter: A random number of 0…1, by which refreshes of many clients are spread.
    ///   - isFound: Whether it was found in the store, where another had put it.
    mutating func received(
        _ token: AccessToken,
        at now: ContinuousClock.Instant,
        jitter: Double,
        isFound: Bool = false
    ) {
        generation += 1
        dead = nil
        backgroundGate = nil
        held = Held(token: token, at: now, jitter: jitter)
        issued.append(
            Issued(
                fingerprint: token.value.fingerprint,
                generation: generation,
                requested: isFound ? nil : token.requested,
                expiry: token.expiry
            )
        )
        if issued.count > Self.rememberedTokens { issued.removeFirst() }
        refreshes.removeAll { now - $0 > Self.stormWindow }
        if !isFound { refreshes.append(now) }
    }

    /// No new token could be had.
    mutating func failed(with error: OAuth2Error, at now: ContinuousClock.Instant) {
        backgroundGate = now + Self.backgroundPause
        if error.code == .reauthenticationRequired { dead = error }
    }

    /// A resource has refused a request with 401.
    ///
    /// - Parameters:
    ///   - fingerprint: That of the token the request carried.
    ///   - now: The time.
    ///   - retryState: What happened to the request before.
    /// - Returns: What should happen to the request.
    mutating func refused(
        _ fingerprint: [UInt8],
        at now: ContinuousClock.Instant,
        retryState: Retry.State
    ) -> Retry.Action {
        guard let sent = issued.last(where: { $0.fingerprint == fingerprint }) else { return .none }
        let earlier = retryState.authenticationErrors.count
        if sent.generation < generation, isUsable(at: now), earlier < Self.supersededLimit { return .retry }
        if earlier >= 2 || (earlier >= 1 && sent.isFresh(at: now, since: retryState.started)) {
            return .noRetry(
                .custom(
                    OAuth2Error(
                        .freshTokenRejected,
                        "the resource refuses a token that was issued for this request; check its audience and scope"
                    )
                )
            )
        }
        if let dead { return .noRetry(.custom(dead)) }
        if refreshes.count(where: { now - $0 <= Self.stormWindow }) >= Self.stormLimit {
            return .noRetry(
                .custom(
                    OAuth2Error(
                        .excessiveRefresh,
                        "\(Self.stormLimit) tokens within \(Self.stormWindow) were refused; no more are asked for now"
                    )
                )
            )
        }
        if sent.generation == generation { held?.isRejected = true }
        return .retry
    }
}

// MARK: Timing

extension TokenLifecycle.Held {
    fileprivate init(token: AccessToken, at now: ContinuousClock.Instant, jitter: Double) {
        self.token = token
        guard let lifetime = token.expiry.map({ $0 - token.requested }) else {
            soft = token.requested + .seconds(600)
            hard = nil
            return
        }
        guard lifetime >= .seconds(1) else {
            // A server that says 0 would otherwise be asked for every single request.
            soft = now + .seconds(1)
            hard = soft
            return
        }
        // Early enough for a refresh to be done in time, earlier by chance for some than for others, and never more than
        // a quarter of a short life.
        let share = 0.5 + 0.5 * min(max(jitter, 0), 1)
        soft = token.requested + lifetime - min(.seconds(300), lifetime / 4) * share
        // Early enough for a request to arrive before the token expires.
        hard = token.requested + lifetime - min(.seconds(30), lifetime / 10)
    }
}

extension TokenLifecycle.Issued {
    /// Whether the token was issued for an operation that began then, and is still valid: nothing newer can be had.
    fileprivate func isFresh(at now: ContinuousClock.Instant, since started: ContinuousClock.Instant?) -> Bool {
        guard let started, let requested, requested >= started else { return false }
        return expiry.map { now < $0 } ?? true
    }
}
