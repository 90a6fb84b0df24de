import Networking
import TokenGeneration

/// Fetched keys, shared by reference among verifiers.
final class LoadedKeys: Sendable {
    let keys: JWKSet
    /// The number of the distinct set, for reuse of values derived from it.
    let version: Int
    /// The number of the fetch.
    let load: Int

    init(_ keys: JWKSet, version: Int, load: Int) {
        self.keys = keys
        self.version = version
        self.load = load
    }
}

/// The state machine of a key set: when to fetch it, and which keys callers get meanwhile.
///
/// It has no side effects.
struct KeySetLifecycle {
    struct Limits {
        var refreshAhead: Duration
        var cooldown: Duration
        var staleIfError: Duration
    }

    enum Step {
        /// Use these valid keys.
        case use(LoadedKeys)
        /// Use these valid keys, and start a refresh in the background.
        case useAndStart(LoadedKeys, refresh: Int)
        /// Start a refresh, and wait for it.
        case start(refresh: Int)
        /// Wait for the pending refresh.
        case join(refresh: Int)
        /// Fail: keys are missing, and it's too early for another request.
        case fail(OAuth2Error)
    }

    private struct Hold {
        var keys: LoadedKeys
        /// The time to refresh the keys while callers still use them.
        var aheadFrom: ContinuousClock.Instant
        /// The time from which callers wait for new keys.
        var freshUntil: ContinuousClock.Instant
        /// The time from which these keys aren't valid under any circumstances.
        var goodUntil: ContinuousClock.Instant
    }

    let limits: Limits
    private var hold: Hold?
    private(set) var refresh: Int?
    private var refreshCount = 0
    private var attempted: ContinuousClock.Instant?
    /// The error of the latest attempt, if it failed.
    private(set) var failure: OAuth2Error?
    private var failureCount = 0

    init(limits: Limits) {
        self.limits = limits
    }

    var keys: LoadedKeys? { hold?.keys }

    func isStale(at now: ContinuousClock.Instant) -> Bool { hold.map { now >= $0.freshUntil } ?? false }

    /// Returns the next step for a caller that needs keys.
    mutating func step(at now: ContinuousClock.Instant) -> Step {
        guard let hold, now < hold.goodUntil else {
            if let refresh { return .join(refresh: refresh) }
            if let failure, isPausing(at: now) { return .fail(failure) }
            return .start(refresh: takeOff())
        }
        guard now >= hold.aheadFrom else { return .use(hold.keys) }
        // While the issuer fails, callers use the existing keys without waiting.
        if now >= hold.freshUntil, failure == nil {
            return refresh.map { .join(refresh: $0) } ?? .start(refresh: takeOff())
        }
        guard refresh == nil, failure == nil || !isPausing(at: now) else { return .use(hold.keys) }
        return .useAndStart(hold.keys, refresh: takeOff())
    }

    /// Returns the next step for a caller whose token needs a key that the given load doesn't
    /// contain.
    mutating func step(at now: ContinuousClock.Instant, beyond load: Int) -> Step {
        if let hold, hold.keys.load > load { return .use(hold.keys) }
        if let refresh { return .join(refresh: refresh) }
        guard isPausing(at: now) else { return .start(refresh: takeOff()) }
        if let failure { return .fail(failure) }
        return hold.map { .use($0.keys) } ?? .start(refresh: takeOff())
    }

    /// Takes the keys of a refresh.
    ///
    /// `isSame` indicates whether they are those of the previous refresh.
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

    /// Takes the failure of a refresh; returns `false` if the refresh isn't the pending one.
    @discardableResult
    mutating func failed(_ refresh: Int, _ error: OAuth2Error, at now: ContinuousClock.Instant) -> Bool {
        guard self.refresh == refresh else { return false }
        self.refresh = nil
        attempted = now
        failure = error
        failureCount += 1
        return true
    }

    private mutating func takeOff() -> Int {
        refreshCount += 1
        refresh = refreshCount
        return refreshCount
    }

    /// Returns `true` if the latest attempt is too recent for another.
    ///
    /// After failures the delay grows from one second to the cooldown, unless the server requests a
    /// longer one.
    private func isPausing(at now: ContinuousClock.Instant) -> Bool {
        guard let attempted else { return false }
        guard let failure else { return now < attempted + limits.cooldown }
        let backoff = Retry.Backoff.doubling(.seconds(1), to: limits.cooldown)
        let asked = min(failure.retryAfter ?? .zero, max(limits.cooldown, .seconds(300)))
        return now < attempted + backoff.delay(retry: failureCount, atLeast: asked)
    }
}
