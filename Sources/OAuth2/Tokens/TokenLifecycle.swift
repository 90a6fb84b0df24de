import Networking

/// A token's life as a value type that takes events and returns decisions, without side effects.
///
/// Each received token has a generation. A request rejected with an older generation's token is
/// retried with the current one, without a refresh. Each sign-out or sign-in begins an epoch;
/// results of refreshes from earlier epochs are ignored.
struct TokenLifecycle: Sendable {
    struct RefreshID: Hashable, Sendable {
        let number: Int
        let replacing: Int
        let epoch: Int
        let deadline: ContinuousClock.Instant
        /// A Boolean value that indicates whether callers use the old token during the refresh.
        let isInBackground: Bool
        /// A Boolean value that indicates whether the refresh only checks for a sign-in elsewhere,
        /// after the end of a grant.
        var isLook = false
    }

    enum Acquisition {
        case use(AccessToken)
        /// Use the valid token, and start this background refresh because the token expires soon.
        case useAndStart(AccessToken, RefreshID)
        /// Start this refresh, and wait for it.
        case start(RefreshID)
        /// Wait for the pending refresh.
        case join(RefreshID)
        /// Back off from the server until this time.
        case pause(until: ContinuousClock.Instant, OAuth2Error)
        /// Fail: the user must sign in again.
        case fail(OAuth2Error)
    }

    struct Limits: Sendable {
        var refreshTimeout = Duration.seconds(30)
        /// The maximum time that a resource takes to learn of a new token; `nil` for none.
        var replicationDelay: Duration?
        /// The maximum total delay of a rejected request.
        var delayBudget = Duration.seconds(60)
        var longestRetryAfter = Duration.seconds(300)
        /// A Boolean value that indicates whether the source has a store that shows a sign-in
        /// elsewhere after the end of a grant.
        var looksAgain = false
    }

    struct Held {
        let token: AccessToken
        let generation: Int
        /// The time to replace the token ahead of its expiry.
        let soft: ContinuousClock.Instant
        /// The time to stop using the token; `nil` to use it until it's rejected.
        let hard: ContinuousClock.Instant?
        var isRejected = false
        /// The origins that rejected the token when it was new, and how long that counts.
        var rejectedWhileFresh: [String: ContinuousClock.Instant] = [:]
    }

    struct Issued {
        let fingerprint: [UInt8]
        let generation: Int
        /// The time when the token was requested; `nil` if another process did that.
        let requested: ContinuousClock.Instant?
        let expiry: ContinuousClock.Instant?
    }

    /// The number of rejections by one resource within ``stormWindow`` that stops refreshes for it.
    static let stormLimit = 5
    /// The same for all resources together, to spare the token endpoint.
    static let totalStormLimit = 30
    static let stormWindow = Duration.seconds(30)
    /// The delay after a failed refresh ahead of expiry.
    static let backgroundPause = Duration.seconds(30)
    /// The number of successive `invalidClient` errors before the longer delay.
    static let clientRefusalLimit = 3
    static let clientRefusalPause = Duration.seconds(60)
    /// The maximum delay after a transient failure, unless the server requests a longer one.
    static let longestBackoff = Duration.seconds(60)
    /// The minimum interval between two checks for a sign-in elsewhere.
    static let lookInterval = Duration.seconds(1)
    /// The maximum number of retries of a request whose token was replaced while it was pending.
    static let supersededLimit = 3
    private static let rememberedTokens = 16

    let limits: Limits
    private(set) var generation = 0
    private(set) var epoch = 0
    private(set) var refresh: RefreshID?
    var held: Held?
    private(set) var dead: OAuth2Error?
    private(set) var backoff: (until: ContinuousClock.Instant, error: OAuth2Error)?
    private var backgroundGate: ContinuousClock.Instant?
    private var failures = 0
    private var clientRefusals = 0
    private var refreshCount = 0
    /// The latest tokens, oldest first, to recognize the token of a rejected request.
    private(set) var issued: [Issued] = []
    /// The latest rejections that made a token unusable, with their origins.
    var rejections: [(origin: String, at: ContinuousClock.Instant)] = []
    /// The time of the next check for a sign-in elsewhere; `nil` if none is planned.
    private var nextLook: ContinuousClock.Instant?

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    func isUsable(at now: ContinuousClock.Instant) -> Bool {
        guard let held, !held.isRejected else { return false }
        return held.hard.map { now < $0 } ?? true
    }

    func isKnown(_ fingerprint: [UInt8]) -> Bool {
        issued.contains { $0.fingerprint == fingerprint }
    }

    /// Returns the current token if ``acquire(at:)`` would return it without any other action.
    func current(at now: ContinuousClock.Instant) -> AccessToken? {
        guard let held, !held.isRejected, now < held.soft, held.hard.map({ now < $0 }) ?? true else { return nil }
        return held.token
    }

    // MARK: Events

    mutating func acquire(at now: ContinuousClock.Instant) -> Acquisition {
        endOverdueRefresh(at: now)
        if let held, isUsable(at: now) {
            let isPaused = backgroundGate.map { now < $0 } ?? false
            guard now >= held.soft, !isPaused, refresh == nil, dead == nil || isLookDue(at: now) else {
                return .use(held.token)
            }
            return .useAndStart(held.token, startRefresh(at: now, isInBackground: true))
        }
        if let dead {
            guard refresh == nil, isLookDue(at: now) else { return .fail(dead) }
            return .start(startRefresh(at: now, isInBackground: false))
        }
        if let refresh { return .join(refresh) }
        if let backoff, now < backoff.until { return .pause(until: backoff.until, backoff.error) }
        return .start(startRefresh(at: now, isInBackground: false))
    }

    mutating func reject(_ fingerprint: [UInt8]) {
        guard held?.token.value.fingerprint == fingerprint else { return }
        held?.isRejected = true
    }

    /// Returns `false` if another refresh or epoch began.
    mutating func landed(
        _ refresh: RefreshID,
        with token: AccessToken,
        at now: ContinuousClock.Instant,
        jitter: Double
    ) -> Bool {
        guard self.refresh == refresh, refresh.epoch == epoch else { return false }
        self.refresh = nil
        received(token, at: now, jitter: jitter)
        return true
    }

    /// Returns `true` if the failure counts; see ``landed(_:with:at:jitter:)``.
    @discardableResult
    mutating func failed(
        _ refresh: RefreshID,
        with error: OAuth2Error,
        at now: ContinuousClock.Instant,
        jitter: Double
    ) -> Bool {
        guard self.refresh == refresh, refresh.epoch == epoch else { return false }
        guard now < refresh.deadline else {
            endOverdueRefresh(at: now)
            return true
        }
        self.refresh = nil
        if refresh.isLook, dead != nil {
            // Only a token matters. After a check that reached a server, the next one waits longer.
            if !error.isOfStore, error.code != .reauthenticationRequired {
                nextLook =
                    now
                    + min(max(error.retryAfter ?? Self.backgroundPause, Self.lookInterval), limits.longestRetryAfter)
            }
            return true
        }
        failed(with: error, at: now, jitter: jitter)
        return true
    }

    /// Takes a new token; a random number of 0…1 spreads the refreshes of many clients.
    mutating func received(_ token: AccessToken, at now: ContinuousClock.Instant, jitter: Double) {
        generation += 1
        dead = nil
        backoff = nil
        backgroundGate = nil
        failures = 0
        clientRefusals = 0
        held = Held(token: token, generation: generation, at: now, jitter: jitter)
        issued.append(
            Issued(
                fingerprint: token.value.fingerprint,
                generation: generation,
                requested: token.isFound ? nil : token.requested,
                expiry: token.expiry
            )
        )
        if issued.count > Self.rememberedTokens { issued.removeFirst() }
    }

    /// A random number of 0…1 spreads the next attempts of many clients.
    mutating func failed(with error: OAuth2Error, at now: ContinuousClock.Instant, jitter: Double) {
        let requested = error.retryAfter.map { min($0, limits.longestRetryAfter) }
        backgroundGate = now + (error.isOthersTurn ? Self.lookInterval : max(Self.backgroundPause, requested ?? .zero))
        guard error.code != .reauthenticationRequired else {
            dead = error
            nextLook = limits.looksAgain ? now + Self.lookInterval : nil
            return
        }
        clientRefusals = error.code == .invalidClient ? clientRefusals + 1 : 0
        guard !error.isOfStore else { return }
        failures += 1
        // A transient failure may be over in a moment; a denial lasts until something changes.
        let delays = Retry.Backoff.doubling(
            .seconds(1),
            to: Self.longestBackoff,
            jitter: error.isRetryable ? .full : .equal
        )
        let isRefusedForLong = clientRefusals >= Self.clientRefusalLimit
        let pause = isRefusedForLong ? Self.clientRefusalPause : delays.delay(retry: failures, random: jitter)
        backoff = (now + (requested ?? pause), error)
    }

    mutating func signedOut(with error: OAuth2Error) {
        forget()
        dead = error
        nextLook = nil
    }

    /// Plans a check of the store, whose tokens from now on come from a new sign-in.
    mutating func lookAgain(at now: ContinuousClock.Instant) {
        guard limits.looksAgain, dead != nil else { return }
        nextLook = now + Self.lookInterval
    }

    mutating func signedIn() {
        forget()
    }

    private mutating func forget() {
        epoch += 1
        refresh = nil
        held = nil
        dead = nil
        backoff = nil
        backgroundGate = nil
        failures = 0
        clientRefusals = 0
        // Generations continue, so that a request of an earlier epoch is recognized.
        generation += 1
        issued = []
    }

    // MARK: Refresh

    private func isLookDue(at now: ContinuousClock.Instant) -> Bool { nextLook.map { now >= $0 } ?? false }

    private mutating func startRefresh(at now: ContinuousClock.Instant, isInBackground: Bool) -> RefreshID {
        refreshCount += 1
        if dead != nil { nextLook = now + Self.lookInterval }
        let refresh = RefreshID(
            number: refreshCount,
            replacing: generation,
            epoch: epoch,
            deadline: now + limits.refreshTimeout,
            isInBackground: isInBackground,
            isLook: dead != nil
        )
        self.refresh = refresh
        return refresh
    }

    // The refresh may continue and store its result. The next caller may send a request at once,
    // because the timeout was enough of a backoff.
    private mutating func endOverdueRefresh(at now: ContinuousClock.Instant) {
        guard let refresh, now >= refresh.deadline else { return }
        self.refresh = nil
        backgroundGate = now + Self.backgroundPause
    }

    struct RefusedRequest {
        let fingerprint: [UInt8]
        let origin: String
        /// The number of earlier rejections because of the token.
        let earlier: Int
        let started: ContinuousClock.Instant?
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

extension OAuth2Error {
    /// A backoff is pointless if the failure isn't a server's.
    fileprivate var isOfStore: Bool {
        [
            .storeFailed, .storeBusy, .storeUnavailable, .storeDamaged, .storeTooNew, .malformedRequest,
            .insecureTransport,
            .endpointMissing,
        ].contains(code)
    }
}

// MARK: Timing

extension TokenLifecycle.Held {
    init(token: AccessToken, generation: Int, at now: ContinuousClock.Instant, jitter: Double) {
        self.token = token
        self.generation = generation
        guard let lifetime = token.expiry.map({ $0 - token.requested }) else {
            soft = token.requested + .seconds(600)
            hard = nil
            return
        }
        guard lifetime >= .seconds(1) else {
            // Otherwise a lifetime of 0 would cause a token request for every single request.
            soft = now + .seconds(1)
            hard = soft
            return
        }
        // Early enough for a refresh to finish, with jitter, and at most a quarter of the lifetime.
        let share = 0.5 + 0.5 * min(max(jitter, 0), 1)
        let early = token.requested + lifetime - min(.seconds(300), lifetime / 4) * share
        soft = token.renewal.map { min($0, early) } ?? early
        // Early enough for a request to arrive before the token expires.
        hard = token.requested + lifetime - min(.seconds(30), lifetime / 10)
    }
}

extension TokenLifecycle.Issued {
    /// The token was issued during the operation and is still valid: a newer one isn't available.
    fileprivate func isFresh(at now: ContinuousClock.Instant, since started: ContinuousClock.Instant?) -> Bool {
        guard let started, let requested, requested >= started else { return false }
        return expiry.map { now < $0 } ?? true
    }
}
