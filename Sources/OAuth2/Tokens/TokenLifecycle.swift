import Networking

/// The life of a token, as a value: events go in, decisions come out, and nothing else happens here.
///
/// Each token received has a generation. A request refused with an older generation's token is sent again with the
/// current one, without a refresh: the refusal says nothing of the current token. Each sign-out begins an epoch; what a
/// refresh of an earlier epoch brings is not taken.
struct TokenLifecycle: Sendable {
    /// One way to a new token, from its start to its end or its deadline.
    struct RefreshID: Hashable, Sendable {
        let number: Int
        /// The generation that it is to replace.
        let replacing: Int
        let epoch: Int
        let deadline: ContinuousClock.Instant
        /// Whether it is made beside callers who have a token, rather than for those who wait.
        let isInBackground: Bool
        /// A Boolean value that indicates whether it only checks for a sign-in elsewhere, after the grant has ended.
        var isLook = false
    }

    /// What is to be done for a caller that needs a token.
    enum Acquisition {
        /// The token is good.
        case use(AccessToken)
        /// The token is good, but should be replaced before it expires: start this refresh beside.
        case useAndStart(AccessToken, RefreshID)
        /// There is no good token: start this refresh, and wait for it.
        case start(RefreshID)
        /// There is no good token: wait for the refresh that is under way.
        case join(RefreshID)
        /// There is no good token, and the server wants to be left alone until then.
        case pause(until: ContinuousClock.Instant, OAuth2Error)
        /// There will be no token without somebody's help.
        case fail(OAuth2Error)
    }

    /// What bounds the lifecycle's work.
    struct Limits: Sendable {
        /// How long a refresh may take.
        var refreshTimeout = Duration.seconds(30)
        /// How long a resource may take to learn of a new token; `nil` if it knows at once.
        var replicationDelay: Duration?
        /// How long a refused request may be held back altogether.
        var delayBudget = Duration.seconds(60)
        /// The longest time that a server is left alone if it asks for it.
        var longestRetryAfter = Duration.seconds(300)
        /// A Boolean value that indicates whether the source has a store in which a sign-in elsewhere is found after a grant has ended.
        var looksAgain = false
    }

    struct Held {
        let token: AccessToken
        let generation: Int
        /// When to replace it ahead of its expiry.
        let soft: ContinuousClock.Instant
        /// When to stop using it; `nil` to use it until it is refused.
        let hard: ContinuousClock.Instant?
        var isRejected = false
        /// Where it was refused although it was new, and until when that is believed.
        var rejectedWhileFresh: [String: ContinuousClock.Instant] = [:]
    }

    struct Issued {
        let fingerprint: [UInt8]
        let generation: Int
        let scope: String?
        /// When it was asked for; `nil` if somebody else did that.
        let requested: ContinuousClock.Instant?
        let expiry: ContinuousClock.Instant?
    }

    /// The number of refusals by one resource within ``stormWindow`` that mean that it refuses tokens as fast as they are issued.
    static let stormLimit = 5
    /// The same of all resources: what the token endpoint is spared, however many they are.
    static let totalStormLimit = 30
    static let stormWindow = Duration.seconds(30)
    /// How long to leave the server alone after a refresh ahead of expiry has failed.
    static let backgroundPause = Duration.seconds(30)
    /// How often the client may be refused in sequence before the server is left alone.
    static let clientRefusalLimit = 3
    static let clientRefusalPause = Duration.seconds(60)
    /// The longest pause after a transient failure, unless the server asks for a longer one.
    static let longestBackoff = Duration.seconds(60)
    /// The shortest time between two checks for a sign-in elsewhere.
    static let lookInterval = Duration.seconds(1)
    /// How often a request is sent again because others replaced its token while it was under way.
    static let supersededLimit = 3
    private static let rememberedTokens = 16

    let limits: Limits
    /// The number of the current token; 0 before the first.
    private(set) var generation = 0
    /// The number of sign-outs.
    private(set) var epoch = 0
    /// The refresh under way.
    private(set) var refresh: RefreshID?
    var held: Held?
    private(set) var dead: OAuth2Error?
    /// Until when the server is left alone, and why.
    private(set) var backoff: (until: ContinuousClock.Instant, error: OAuth2Error)?
    private var backgroundGate: ContinuousClock.Instant?
    /// How many refreshes in sequence have failed for the moment.
    private var failures = 0
    private var clientRefusals = 0
    private var refreshCount = 0
    /// The latest tokens, oldest first, by which a refused request's token is recognized.
    private(set) var issued: [Issued] = []
    /// The latest refusals that made a token unusable, and where they came from.
    var rejections: [(origin: String, at: ContinuousClock.Instant)] = []
    /// The time of the next check for a sign-in elsewhere; `nil` if none is planned.
    private var nextLook: ContinuousClock.Instant?

    init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// Whether a caller can have the current token.
    func isUsable(at now: ContinuousClock.Instant) -> Bool {
        guard let held, !held.isRejected else { return false }
        return held.hard.map { now < $0 } ?? true
    }

    /// Whether a token is one of the latest that came here.
    func isKnown(_ fingerprint: [UInt8]) -> Bool {
        issued.contains { $0.fingerprint == fingerprint }
    }

    /// The current token, if it will do as it is and nothing else is to be done: what ``acquire(at:)`` would come to.
    func current(at now: ContinuousClock.Instant) -> AccessToken? {
        guard let held, !held.isRejected, now < held.soft, held.hard.map({ now < $0 }) ?? true else { return nil }
        return held.token
    }

    // MARK: Events

    /// A caller needs a token.
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

    /// A caller can't use a token that it has got.
    mutating func reject(_ fingerprint: [UInt8]) {
        guard held?.token.value.fingerprint == fingerprint else { return }
        held?.isRejected = true
    }

    /// A refresh has brought a token.
    ///
    /// - Returns: Whether the token is the current one now; not if the refresh is another's by now, or of another epoch.
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

    /// A refresh has brought none.
    ///
    /// - Returns: Whether the failure counts; see ``landed(_:with:at:jitter:)``.
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
            // Only a token is news. A server that was asked with what was found there is not asked every second.
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

    /// A new token has come.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - now: The time.
    ///   - jitter: A random number of 0…1, by which refreshes of many clients are spread.
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
                scope: token.scope,
                requested: token.isFound ? nil : token.requested,
                expiry: token.expiry
            )
        )
        if issued.count > Self.rememberedTokens { issued.removeFirst() }
    }

    /// No new token could be had.
    ///
    /// - Parameters:
    ///   - error: Why.
    ///   - now: The time.
    ///   - jitter: A random number of 0…1, by which the next attempts of many clients are spread.
    mutating func failed(with error: OAuth2Error, at now: ContinuousClock.Instant, jitter: Double) {
        let requested = error.retryAfter.map { min($0, limits.longestRetryAfter) }
        backgroundGate = now + max(Self.backgroundPause, requested ?? .zero)
        guard error.code != .reauthenticationRequired else {
            dead = error
            nextLook = limits.looksAgain ? now + Self.lookInterval : nil
            return
        }
        clientRefusals = error.code == .invalidClient ? clientRefusals + 1 : 0
        guard !error.isOfStore else { return }
        failures += 1
        // A transient failure may be over in a moment; a refusal lasts until something changes.
        let delays = Retry.Backoff.doubling(
            .seconds(1),
            to: Self.longestBackoff,
            jitter: error.isRetryable ? .full : .equal
        )
        let isRefusedForLong = clientRefusals >= Self.clientRefusalLimit
        let pause = isRefusedForLong ? Self.clientRefusalPause : delays.delay(retry: failures, random: jitter)
        backoff = (now + (requested ?? pause), error)
    }

    /// The user has signed out: nothing that was asked for before may come back.
    mutating func signedOut(with error: OAuth2Error) {
        forget()
        dead = error
        nextLook = nil
    }

    /// Plans a check of the store, which has no tokens from before the sign-out: any that it finds come from a new sign-in.
    mutating func lookAgain(at now: ContinuousClock.Instant) {
        guard limits.looksAgain, dead != nil else { return }
        nextLook = now + Self.lookInterval
    }

    /// The user has signed in again.
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
        // The generations go on, so that a request of an earlier epoch is recognized as such.
        generation += 1
        issued = []
    }

    // MARK: Refreshing

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

    /// Counts a refresh as failed at its deadline; its work may go on, and store what it gets.
    ///
    /// The server has been left alone for long enough by then: whoever needs a token may ask at once.
    private mutating func endOverdueRefresh(at now: ContinuousClock.Instant) {
        guard let refresh, now >= refresh.deadline else { return }
        self.refresh = nil
        backgroundGate = now + Self.backgroundPause
    }
}

extension OAuth2Error {
    /// A Boolean value that indicates whether the failure says nothing about a server, so that a pause would spare none.
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
