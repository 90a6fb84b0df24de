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

    private struct Held {
        let token: AccessToken
        /// When to replace it ahead of its expiry.
        let soft: ContinuousClock.Instant
        /// When to stop using it; `nil` to use it until it is refused.
        let hard: ContinuousClock.Instant?
        var isRejected = false
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
    private var issued: [(fingerprint: [UInt8], generation: Int, requested: ContinuousClock.Instant)] = []
    private var refreshes: [ContinuousClock.Instant] = []

    /// The current token, good or not.
    var current: AccessToken? { held?.token }

    /// Whether a caller can have the current token.
    func isUsable(at now: ContinuousClock.Instant) -> Bool {
        guard let held, !held.isRejected else { return false }
        return held.hard.map { now < $0 } ?? true
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
    mutating func received(_ token: AccessToken, at now: ContinuousClock.Instant, jitter: Double) {
        generation += 1
        dead = nil
        backgroundGate = nil
        held = Held(
            token: token,
            soft: Self.softExpiry(of: token, jitter: jitter),
            hard: Self.hardExpiry(of: token, at: now)
        )
        issued.append((token.value.fingerprint, generation, token.requested))
        if issued.count > Self.rememberedTokens { issued.removeFirst() }
        refreshes.removeAll { now - $0 > Self.stormWindow }
        refreshes.append(now)
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
        let isFresh = retryState.started.map { sent.requested >= $0 } ?? false
        if earlier >= 2 || (earlier >= 1 && isFresh) {
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

    // MARK: Timing

    /// Early enough for a refresh to be done in time, earlier by chance for some than for others, and never more than a
    /// quarter of a short life.
    private static func softExpiry(of token: AccessToken, jitter: Double) -> ContinuousClock.Instant {
        guard let lifetime = token.lifetime else { return token.requested + .seconds(600) }
        let share = 0.5 + 0.5 * min(max(jitter, 0), 1)
        return token.requested + lifetime - min(.seconds(300), lifetime / 4) * share
    }

    /// Early enough for a request to arrive before the token expires.
    private static func hardExpiry(
        of token: AccessToken,
        at now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant? {
        guard let lifetime = token.lifetime else { return nil }
        // A server that says 0 would otherwise be asked for every single request.
        guard lifetime > .zero else { return now + .seconds(1) }
        return token.requested + lifetime - min(.seconds(30), lifetime / 10)
    }
}

extension AccessToken {
    /// How long the token lives from its request on, if the server said so.
    fileprivate var lifetime: Duration? { expiry.map { $0 - requested } }
}
