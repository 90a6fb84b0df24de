import Networking
import TokenGeneration

/// Keys as they were fetched; whoever verifies shares one reference.
final class LoadedKeys: Sendable {
    let keys: JWKSet
    /// Counts the sets that differ: what was made of the same version need not be made anew.
    let version: Int
    /// Counts the times that keys came.
    let load: Int

    init(_ keys: JWKSet, version: Int, load: Int) {
        self.keys = keys
        self.version = version
        self.load = load
    }
}

/// When a key set is fetched, and what callers get meanwhile.
///
/// It does nothing itself: it says what to do, and is told what came of it.
struct KeySetLifecycle {
    struct Limits {
        var refreshAhead: Duration
        var cooldown: Duration
        var staleIfError: Duration
    }

    enum Step {
        /// These keys are good.
        case use(LoadedKeys)
        /// These keys are good, and somebody has to fetch new ones.
        case useAndStart(LoadedKeys, refresh: Int)
        /// The caller has to fetch keys and to wait for them.
        case start(refresh: Int)
        /// The caller has to wait for keys that are being fetched.
        case join(refresh: Int)
        /// There are no keys, and it is too early to ask for them again.
        case fail(OAuth2Error)
    }

    private struct Hold {
        var keys: LoadedKeys
        /// From then on new keys are fetched while callers go on with these.
        var aheadFrom: ContinuousClock.Instant
        /// From then on callers wait for new keys.
        var freshUntil: ContinuousClock.Instant
        /// From then on these keys are not good, whatever happens.
        var goodUntil: ContinuousClock.Instant
    }

    let limits: Limits
    private var hold: Hold?
    /// The refresh under way.
    private(set) var refresh: Int?
    private var refreshCount = 0
    /// When the latest attempt ended.
    private var attempted: ContinuousClock.Instant?
    /// Why it failed, if it did.
    private(set) var failure: OAuth2Error?
    private var failureCount = 0

    init(limits: Limits) {
        self.limits = limits
    }

    /// The latest keys, however old.
    var keys: LoadedKeys? { hold?.keys }

    /// Whether the latest keys are older than their issuer meant them to be used.
    func isStale(at now: ContinuousClock.Instant) -> Bool { hold.map { now >= $0.freshUntil } ?? false }

    /// What a caller does who needs keys.
    mutating func step(at now: ContinuousClock.Instant) -> Step {
        guard let hold, now < hold.goodUntil else {
            if let refresh { return .join(refresh: refresh) }
            if let failure, isPausing(at: now) { return .fail(failure) }
            return .start(refresh: takeOff())
        }
        guard now >= hold.aheadFrom else { return .use(hold.keys) }
        // While the issuer fails, nobody waits for it who has keys.
        if now >= hold.freshUntil, failure == nil {
            return refresh.map { .join(refresh: $0) } ?? .start(refresh: takeOff())
        }
        guard refresh == nil, failure == nil || !isPausing(at: now) else { return .use(hold.keys) }
        return .useAndStart(hold.keys, refresh: takeOff())
    }

    /// What a caller does who has a token of a key that these keys don't have.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - load: The load of the keys that the caller has tried.
    /// - Returns: What to do; to use the same keys again if newer ones can't be had now.
    mutating func step(at now: ContinuousClock.Instant, beyond load: Int) -> Step {
        if let hold, hold.keys.load > load { return .use(hold.keys) }
        if let refresh { return .join(refresh: refresh) }
        guard isPausing(at: now) else { return .start(refresh: takeOff()) }
        if let failure { return .fail(failure) }
        return hold.map { .use($0.keys) } ?? .start(refresh: takeOff())
    }

    /// Takes the keys that a refresh has brought.
    ///
    /// - Parameters:
    ///   - refresh: The refresh.
    ///   - keys: The keys.
    ///   - isSame: Whether they are those of the refresh before.
    ///   - lifetime: How long they are to be used.
    ///   - now: The time.
    /// - Returns: The keys.
    mutating func landed(
        _ refresh: Int,
        _ keys: JWKSet,
        isSame: Bool,
        lifetime: Duration,
        at now: ContinuousClock.Instant
    ) -> LoadedKeys {
        let latest = hold?.keys
        let load = (latest?.load ?? 0) + 1
        let loaded =
            if isSame, let latest {
                LoadedKeys(latest.keys, version: latest.version, load: load)
            } else {
                LoadedKeys(keys, version: load, load: load)
            }
        guard self.refresh == refresh else { return loaded }
        let freshUntil = now + lifetime
        hold = Hold(
            keys: loaded,
            aheadFrom: freshUntil - min(limits.refreshAhead, lifetime / 2),
            freshUntil: freshUntil,
            goodUntil: freshUntil + limits.staleIfError
        )
        self.refresh = nil
        attempted = now
        failure = nil
        failureCount = 0
        return loaded
    }

    /// Notes that a refresh has brought nothing.
    mutating func failed(_ refresh: Int, _ error: OAuth2Error, at now: ContinuousClock.Instant) {
        guard self.refresh == refresh else { return }
        self.refresh = nil
        attempted = now
        failure = error
        failureCount += 1
    }

    private mutating func takeOff() -> Int {
        refreshCount += 1
        refresh = refreshCount
        return refreshCount
    }

    /// Whether the latest attempt is too recent for another.
    ///
    /// After a failure the pause grows from a second to the cooldown, unless the server asks for a longer one.
    private func isPausing(at now: ContinuousClock.Instant) -> Bool {
        guard let attempted else { return false }
        guard let failure else { return now < attempted + limits.cooldown }
        let backoff = Retry.Backoff.doubling(.seconds(1), to: limits.cooldown)
        let asked = min(failure.retryAfter ?? .zero, max(limits.cooldown, .seconds(300)))
        return now < attempted + backoff.delay(retry: failureCount, atLeast: asked)
    }
}
