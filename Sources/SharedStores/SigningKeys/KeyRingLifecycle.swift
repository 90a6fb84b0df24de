import Foundation
import Networking
import OAuth2

/// The state machine of a ring in one process: when to read the set, and which key signs.
///
/// It has no side effects.
struct KeyRingLifecycle {
    enum Step {
        /// Use the set.
        case use
        /// Use the set, and start a refresh in the background.
        case useAndStart(refresh: Int)
        /// Wait for a refresh; until a time if there's a set to use afterwards.
        case wait(refresh: Int, until: ContinuousClock.Instant?)
        /// Fail: there's no set, and it's too early to read it.
        case fail(OAuth2Error)
    }

    /// The longest time that callers wait for a newer set while there's one in memory.
    static let patience = Duration.seconds(5)

    let rules: KeyRingRules
    /// The latest set.
    private(set) var set: KeyRingSet?
    /// The time at which the set was certainly the stored one.
    private(set) var readAt: ContinuousClock.Instant?
    /// The error of the latest attempt to read or change the set.
    private(set) var failure: OAuth2Error?
    /// The running refresh.
    private(set) var refresh: Int?
    /// A Boolean value that indicates whether this process has encrypted a set with its own key.
    ///
    /// While hosts are being given another key, each does so once, so that they don't alternate.
    var hasSealed = false

    private var refreshCount = 0
    private var startedAt: ContinuousClock.Instant?
    private var failureCount = 0
    private var nextAttempt: ContinuousClock.Instant?
    /// The times from which keys have been in the set, in readings without a gap.
    private var seen: [String: ContinuousClock.Instant] = [:]
    /// The IDs of keys that all verifiers know.
    private var proven: Set<String> = []
    /// The ID of the key that signed last.
    private(set) var current: String?

    init(rules: KeyRingRules) {
        self.rules = rules
    }

    /// Returns a Boolean value that indicates whether the set was read within the poll interval.
    func isFresh(at now: ContinuousClock.Instant) -> Bool { readAt.map { now - $0 <= rules.poll } ?? false }

    // MARK: Reading

    /// Returns the next step for a caller; it's urgent if no key in memory may sign.
    mutating func step(at now: ContinuousClock.Instant, isUrgent: Bool = false) -> Step {
        let isPausing = nextAttempt.map { now < $0 } ?? false
        guard let readAt else {
            if let failure, isPausing, refresh == nil { return .fail(failure) }
            return .wait(refresh: refresh ?? start(at: now), until: nil)
        }
        let age = now - readAt
        let isSlow = refresh != nil && startedAt.map { now >= $0 + Self.patience } ?? false
        // A refresh that has just read the set may be adding the key.
        if isUrgent, let refresh, !isSlow { return .wait(refresh: refresh, until: (startedAt ?? now) + Self.patience) }
        guard age >= (isUrgent ? min(.seconds(1), rules.poll / 2) : rules.poll / 2) else { return .use }
        let isNeeded = age > rules.poll && nextAttempt == nil || isUrgent && !isPausing
        if isNeeded, !isSlow {
            let refresh = refresh ?? start(at: now)
            return .wait(refresh: refresh, until: (startedAt ?? now) + Self.patience)
        }
        guard refresh == nil, !isPausing else { return .use }
        return .useAndStart(refresh: start(at: now))
    }

    private mutating func start(at now: ContinuousClock.Instant) -> Int {
        refreshCount += 1
        refresh = refreshCount
        startedAt = now
        return refreshCount
    }

    /// Takes the end of a refresh that has read the set, and the reason why it wasn't changed
    /// although it should be.
    mutating func landed(_ refresh: Int, _ failure: OAuth2Error?) {
        guard self.refresh == refresh else { return }
        self.refresh = nil
        self.failure = failure
        failureCount = 0
        nextAttempt = nil
    }

    /// Takes the failure of a refresh.
    mutating func failed(_ refresh: Int, _ error: OAuth2Error, random: Double, at now: ContinuousClock.Instant) {
        guard self.refresh == refresh else { return }
        self.refresh = nil
        failure = error
        failureCount += 1
        let pauses = Retry.Backoff.doubling(.seconds(1), to: max(rules.poll / 2, .seconds(1)), jitter: .equal)
        nextAttempt = now + pauses.delay(retry: failureCount, random: random)
    }

    /// Takes a set that was stored at a time, or later.
    ///
    /// A key is proven once this host has seen it for the publication delay without a gap: other
    /// hosts could read the set for as long, and documents without the key have expired.
    mutating func adopt(_ set: KeyRingSet, asOf: ContinuousClock.Instant, at now: ContinuousClock.Instant) {
        // A reading that began before a change.
        if let own = self.set, set.generation < own.generation { return }
        if let readAt, asOf - readAt > rules.poll { seen = [:] }
        self.set = set
        readAt = readAt.map { max($0, asOf) } ?? asOf
        let ids = Set(set.keys.map(\.id))
        seen = seen.filter { ids.contains($0.key) }
        proven.formIntersection(ids)
        for id in ids {
            let first = seen[id] ?? now
            seen[id] = first
            if asOf - first >= rules.publicationDelay { proven.insert(id) }
        }
    }

    // MARK: Signing

    /// Returns the key that signs.
    ///
    /// It's the newest that is proven. A host without one, which has just started or whose readings
    /// had a gap, uses the oldest: all hosts have known it for longest. While the set can't be
    /// read, such a host doesn't begin to use another.
    ///
    /// - Throws: `OAuth2Error` with the failure's code, or `storeFailed` if a clock is wrong.
    mutating func signer(at date: Date, _ now: ContinuousClock.Instant) throws(OAuth2Error) -> RingKey {
        let able = (set?.keys ?? []).filter { rules.maySign($0, at: date) }
        let found =
            able.last { proven.contains($0.id) }
            ?? (isFresh(at: now) ? able.first : able.first { $0.id == current })
        if let found {
            current = found.id
            return found
        }
        if isFresh(at: now), let failure {
            throw OAuth2Error(
                failure.code,
                "no key of the ring may sign, and no other could be added; repair the store",
                cause: failure
            )
        }
        guard !isFresh(at: now) else {
            throw OAuth2Error(
                .storeFailed,
                "no key of the ring may sign at this time; compare the hosts' clocks and their ring's options"
            )
        }
        throw OAuth2Error(
            failure?.code ?? .storeUnavailable,
            "no signing key is left: the ring's keys couldn't be read for longer than the last one may sign; "
                + "repair the store",
            cause: failure
        )
    }

    /// The time until which this host can sign without the store.
    var signsUntil: Date? {
        let keys = set?.keys.filter { proven.contains($0.id) || $0.id == current }
        return keys?.map(rules.end).max()
    }
}
