import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// The times in the life of a key, and the decisions that depend on them.
///
/// Let *p* be the poll interval of hosts, *c* the cache lifetime of verifiers and *d* the
/// difference between clocks. A key signs no earlier than 3*p* + *c* + *d* after it was added. In
/// this time, every host reads the set, also after a failure as long as *p*, and every document
/// without the key expires.
struct KeyRingRules: Sendable {
    static let maximumCount = 16

    let algorithm: JWSAlgorithm
    /// The longest time for which a host relies on one reading of the set.
    let poll: Duration
    /// The time from the addition of a key until all verifiers know it.
    let publicationDelay: Duration
    /// The lifetime that documents state.
    let maximumAge: Int
    let tokenLifetime: TimeInterval
    let clock: TimeInterval

    private let rotation: TimeInterval
    private let overlap: TimeInterval
    private let leeway: TimeInterval
    private let delay: TimeInterval
    /// The time from a key's last signature to its removal, in which hosts also read the set.
    private let retention: TimeInterval

    /// Throws `storeFailed` if the options can't work.
    init(_ options: SigningKeyRing.Options) throws(OAuth2Error) {
        guard !options.algorithm.isSymmetric, JWSAlgorithm.implemented.contains(options.algorithm) else {
            throw OAuth2Error(.storeFailed, "a ring can't have keys for \(options.algorithm); use ES256, for example")
        }
        let limits: [(name: String, value: Duration, range: ClosedRange<Duration>)] = [
            ("pollInterval", options.pollInterval, .seconds(1) ... .seconds(3_600)),
            ("clockDifference", options.clockDifference, .zero ... .seconds(3_600)),
            ("cacheLifetime", options.cacheLifetime, .seconds(60) ... .seconds(30 * 86_400)),
            ("leeway", options.leeway, .zero ... .seconds(86_400)),
            ("tokenLifetime", options.tokenLifetime, .seconds(1) ... .seconds(366 * 86_400)),
            ("rotationInterval", options.rotationInterval, .seconds(1) ... .seconds(3_660 * 86_400)),
        ]
        for limit in limits where !limit.range.contains(limit.value) {
            throw OAuth2Error(
                .storeFailed,
                "the ring's \(limit.name) must be from \(limit.range.lowerBound) to \(limit.range.upperBound)"
            )
        }
        algorithm = options.algorithm
        poll = options.pollInterval
        clock = Self.seconds(options.clockDifference)
        tokenLifetime = Self.seconds(options.tokenLifetime)
        leeway = Self.seconds(options.leeway)
        rotation = Self.seconds(options.rotationInterval)
        delay = Self.seconds(poll * 3 + options.cacheLifetime + options.clockDifference)
        publicationDelay = Duration(clampingSeconds: delay)
        retention = max(tokenLifetime + leeway, Self.seconds(poll * 3)) + 2 * clock
        overlap = max((rotation / 4).rounded(.up), 2 * delay)
        maximumAge = Int(clamping: Self.seconds(min(options.cacheLifetime, .seconds(300))))
        guard rotation >= 2 * delay else {
            throw OAuth2Error(
                .storeFailed,
                "the ring's rotationInterval must be at least \(publicationDelay * 2): verifiers learn of a key within half"
            )
        }
        // One key is published ahead, one may be due for removal, and one may be added.
        guard (overlap + retention + clock) / rotation + 4 <= Double(Self.maximumCount) else {
            throw OAuth2Error(
                .storeFailed,
                "the ring would have too many keys; use a longer rotationInterval or a shorter tokenLifetime"
            )
        }
    }

    private static func seconds(_ duration: Duration) -> TimeInterval { (duration / .seconds(1)).rounded(.up) }

    // MARK: Life of a key

    /// By all clocks.
    func isActive(_ key: RingKey, at now: Date) -> Bool { now > key.activeFrom + clock }

    /// If this host's tokens live longer than those of the host that made the key, it's earlier.
    func end(of key: RingKey) -> Date {
        min(key.signsUntil, key.verifiesUntil - tokenLifetime - leeway - 2 * clock)
    }

    func maySign(_ key: RingKey, at now: Date) -> Bool { isActive(key, at: now) && now < end(of: key) }

    func isPublic(_ key: RingKey, at now: Date) -> Bool { now <= key.verifiesUntil + clock }

    private func key(_ key: SigningKey, activeFrom: Date, at now: Date) -> RingKey {
        let id = key.keyID ?? key.verificationKey.thumbprint
        let signsUntil = activeFrom + rotation + overlap
        return RingKey(
            key: key.identified(by: id),
            id: id,
            publishedAt: now,
            activeFrom: activeFrom,
            signsUntil: signsUntil,
            verifiesUntil: signsUntil + retention
        )
    }

    /// Returns a time from which a key is active by all clocks.
    private func long(before now: Date) -> Date { now - 2 * clock - 1 }

    // MARK: Changes

    /// Returns the keys that should replace others, or `nil` if these are right.
    ///
    /// There is always a key that signs and one that will: its successor. If the former is missing,
    /// a new key signs at once: verifiers can't have a document of a new ring, or of one that no
    /// host has used for long. `share`, from 0 to 1, keeps hosts from writing at once.
    func maintained(
        _ keys: [RingKey],
        at now: Date,
        share: Double,
        make: () throws -> SigningKey
    ) throws -> [RingKey]? {
        let now = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        let late = share * min(rotation / 10, 3_600)
        var kept = keys.filter { isPublic($0, at: now - late) }
        let isIdle = !kept.contains { now < end(of: $0) }
        if isIdle { kept.append(key(try make(), activeFrom: long(before: now), at: now)) }
        if let last = kept.last, isIdle || now > last.activeFrom + clock + late {
            let next = key(try make(), activeFrom: max(last.activeFrom + rotation, now + delay), at: now)
            // After hosts were idle, the last key signs for longer: verifiers don't know the next.
            let index = kept.endIndex - 1
            kept[index].signsUntil = max(last.signsUntil, next.activeFrom + overlap)
            kept[index].verifiesUntil = max(last.verifiesUntil, kept[index].signsUntil + retention)
            kept.append(next)
        }
        guard kept.map(\.id) != keys.map(\.id) else { return nil }
        guard kept.count <= Self.maximumCount, Set(kept.map(\.id)).count == kept.count else {
            throw OAuth2Error(.storeFailed, "the ring has too many keys, or two with one ID")
        }
        return kept
    }

    // Returns `nil` if no key has the ID. The successor signs at once if verifiers know it, or if
    // no other key can sign.
    func retired(_ id: String, from keys: [RingKey], at now: Date) -> [RingKey]? {
        let now = Date(timeIntervalSince1970: now.timeIntervalSince1970.rounded(.down))
        guard let index = keys.firstIndex(where: { $0.id == id }) else { return nil }
        var kept = keys
        let removed = kept.remove(at: index)
        // By any clock, hosts may sign with it.
        let hasBegun = removed.activeFrom <= now + clock
        let isNewest = !kept.contains { isActive($0, at: now) && $0.activeFrom > removed.activeFrom }
        if hasBegun, isNewest, let next = kept.firstIndex(where: { !isActive($0, at: now) }) {
            let known = kept[next].publishedAt + delay
            let isNeeded = !kept.contains { maySign($0, at: now) }
            kept[next].activeFrom = isNeeded || known + clock < now ? long(before: now) : known
        }
        return kept
    }
}

struct RingKey: Sendable {
    /// The private key, the only copy of this set in memory.
    let key: SigningKey
    let id: String
    let publishedAt: Date
    /// The time from which the key signs, apart from the difference between clocks.
    var activeFrom: Date
    var signsUntil: Date
    var verifiesUntil: Date
}

struct KeyRingSet: Sendable {
    /// The number of the set, which grows with each change.
    let generation: Int
    /// The random text that tells this change from all others.
    let attempt: String
    let keys: [RingKey]
    /// The stored form, if the set was read or written; `nil` for one that is about to be.
    var record: [UInt8]?
    /// A Boolean value that indicates whether the set must be encrypted with the current key.
    var needsSealing = false

    init(generation: Int, attempt: String, keys: [RingKey]) {
        self.generation = generation
        self.attempt = attempt
        self.keys = keys.sorted { ($0.activeFrom, $0.id) < ($1.activeFrom, $1.id) }
    }
}

/// The state machine of a ring in one process, without side effects.
struct KeyRingLifecycle {
    enum Step {
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
    private(set) var set: KeyRingSet?
    /// The time at which the set was certainly the stored one.
    private(set) var readAt: ContinuousClock.Instant?
    private(set) var failure: OAuth2Error?
    private(set) var refresh: Int?
    /// While hosts are being given another key, each encrypts once, so that they don't alternate.
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

    /// A Boolean value that indicates whether the set was read within the poll interval.
    func isFresh(at now: ContinuousClock.Instant) -> Bool { readAt.map { now - $0 <= rules.poll } ?? false }

    // MARK: Reading

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

    /// The failure is the reason why the set wasn't changed although it should be.
    mutating func landed(_ refresh: Int, _ failure: OAuth2Error?) {
        guard self.refresh == refresh else { return }
        self.refresh = nil
        self.failure = failure
        failureCount = 0
        nextAttempt = nil
    }

    mutating func failed(_ refresh: Int, _ error: OAuth2Error, random: Double, at now: ContinuousClock.Instant) {
        guard self.refresh == refresh else { return }
        self.refresh = nil
        failure = error
        failureCount += 1
        let pauses = Retry.Backoff.doubling(.seconds(1), to: max(rules.poll / 2, .seconds(1)), jitter: .equal)
        nextAttempt = now + pauses.delay(retry: failureCount, random: random)
    }

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

    /// Returns the newest key that is proven.
    ///
    /// A host without one, which has just started or whose readings had a gap, uses the oldest: all
    /// hosts have known it for longest. While the set can't be read, it doesn't begin to use
    /// another.
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

    var signsUntil: Date? {
        let keys = set?.keys.filter { proven.contains($0.id) || $0.id == current }
        return keys?.map(rules.end).max()
    }
}
