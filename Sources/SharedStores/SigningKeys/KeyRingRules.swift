import Foundation
import OAuth2
import OpenSSLCrypto
import TokenGeneration

/// The times in the life of a key, and the decisions that depend on them.
///
/// Let *p* be the poll interval of hosts, *c* the cache lifetime of verifiers and *d* the
/// difference between clocks. A key signs no earlier than 3*p* + *c* + *d* after it was added. In
/// this time, every host reads the set, also after a failure as long as *p*, and every document
/// without the key expires. A key stays in the document until the last token has expired that it
/// may have signed.
struct KeyRingRules: Sendable {
    /// The largest number of keys in a set.
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

    /// - Throws: `OAuth2Error` with the code `storeFailed` if the options can't work.
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

    /// Returns a Boolean value that indicates whether a key is active by all clocks.
    func isActive(_ key: RingKey, at now: Date) -> Bool { now > key.activeFrom + clock }

    /// Returns the time until which this host may sign with a key.
    ///
    /// If this host's tokens live longer than those of the host that made the key, it's earlier.
    func end(of key: RingKey) -> Date {
        min(key.signsUntil, key.verifiesUntil - tokenLifetime - leeway - 2 * clock)
    }

    func maySign(_ key: RingKey, at now: Date) -> Bool { isActive(key, at: now) && now < end(of: key) }

    /// Returns a Boolean value that indicates whether a key belongs in the document.
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
    /// a new key signs at once. Verifiers can't have a document of a new ring, or of one that no
    /// host has used for long. After a very long outage they may have one without the key, but no
    /// other key could sign.
    ///
    /// `share` is the share of the delay, from 0 to 1, that keeps hosts from writing at once.
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

    /// Returns the keys without one that must not sign any longer, and lets its successor sign;
    /// `nil` if none has the ID.
    ///
    /// The successor signs at once if verifiers know it, or if no other key can sign.
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
