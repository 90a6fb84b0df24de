public import FoundationEssentials
internal import Synchronization

/// A store of used one-time tokens, such as DPoP proofs and client assertions.
///
/// ``InMemoryReplayCache`` serves a single process. Servers behind a load balancer need a shared
/// cache, such as a database in which inserting an existing key fails.
///
/// A cache accepts an identifier only if it is certainly new. If entries expire by a clock other
/// than the caller's, such as with a database's time to live, reject an identifier once its
/// expiration has passed on either clock. Otherwise, after the caller's clock is set back, a token
/// whose entry is gone would be accepted again.
///
/// Verifiers that share a cache need the same maximum age and leeway, so that a token has the same
/// expiration in all of them.
public protocol ReplayCache: Sendable {
    /// Remembers an identifier if it is certainly new.
    ///
    /// Of several calls with the same identifier, even concurrent ones, only one may return `true`.
    ///
    /// - Parameters:
    ///   - identifier: The identifier of the token.
    ///   - thumbprint: The thumbprint of the key that signed the token, for a quota per key. For an
    ///     introspected token, it's the issuer.
    ///   - expiration: The time until which the cache must remember the identifier. It is later
    ///     than the last time at which a verifier accepts the token, and depends on the token
    ///     alone.
    ///   - now: The verifier's reading of the clock for this token.
    /// - Returns: `true` if the identifier is new; `false` if it is known, or may have been known
    ///   and forgotten.
    /// - Throws: An error if the cache can't answer. The verifier then rejects the token. It passes
    ///   a ``TokenError`` on, and makes any other error the cause of `replayCacheFailed`.
    func remember(
        _ identifier: String,
        signedBy thumbprint: String,
        until expiration: Date,
        at now: Date
    ) async throws -> Bool
}

/// A ``ReplayCache`` of bounded size in the memory of this process.
///
/// Expired identifiers make room for new ones. If none has expired, the cache rejects new
/// identifiers, because forgetting one too early would allow its token to be replayed. After the
/// clock is set back, identifiers that the cache has forgotten can become valid again. The cache
/// can't tell whether they were used, so it rejects every identifier that expires no later than a
/// forgotten one.
///
/// Each key has a quota, so that a client that floods the server with proofs affects only itself.
public final class InMemoryReplayCache: ReplayCache {
    package let capacity: Int
    package let quotaPerKey: Int

    /// Greater than 1, so that a backlog shrinks.
    private static let removalsPerCall = 8

    private let state = Mutex(State())

    private struct State {
        /// Bytes, because Unicode considers some different identifiers equal.
        var known: Set<[UInt8]> = []
        var countByKey: [[UInt8]: Int] = [:]
        var byExpiration = ExpirationHeap()
        var horizon = Date.distantPast

        func isFull(_ capacity: Int) -> Bool { known.count >= capacity }

        func hasUsedUp(_ quota: Int, _ key: [UInt8]) -> Bool { countByKey[key] ?? 0 >= quota }

        mutating func insert(_ entry: ExpirationHeap.Entry) {
            known.insert(entry.identifier)
            countByKey[entry.key, default: 0] += 1
            byExpiration.insert(entry)
        }

        mutating func removeFirst() {
            guard let entry = byExpiration.removeFirst() else { return }
            known.remove(entry.identifier)
            let left = (countByKey[entry.key] ?? 1) - 1
            countByKey[entry.key] = left > 0 ? left : nil
            horizon = max(horizon, entry.expiration)
        }
    }

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of identifiers. The default is 100,000, which take about 30
    ///     MB.
    ///   - quotaPerKey: The maximum number of identifiers per key. The default is a tenth of the
    ///     capacity. With 100,000 identifiers and the default window of a ``DPoPVerifier``, each
    ///     client can send 55 proofs per second.
    public init(capacity: Int = 100_000, quotaPerKey: Int? = nil) {
        self.capacity = max(capacity, 0)
        self.quotaPerKey = max(quotaPerKey ?? max(self.capacity / 10, 1), 0)
    }

    /// The number of identifiers in the cache, including expired ones.
    public var count: Int { state.withLock { $0.known.count } }

    /// Remembers an identifier if it is certainly new.
    ///
    /// - Throws: ``TokenError`` with the code `replayCacheFull` if the cache is full or the key has
    ///   used up its quota.
    public func remember(
        _ identifier: String,
        signedBy thumbprint: String,
        until expiration: Date,
        at now: Date
    ) throws(TokenError) -> Bool {
        let entry = ExpirationHeap.Entry(
            expiration: expiration,
            identifier: Array(identifier.utf8),
            key: Array(thumbprint.utf8)
        )
        return try state.withLock { state throws(TokenError) in
            var removals = 0
            while let first = state.byExpiration.first, first.expiration < now,
                removals < Self.removalsPerCall || state.isFull(capacity) || state.hasUsedUp(quotaPerKey, entry.key)
            {
                state.removeFirst()
                removals += 1
            }
            guard entry.expiration > state.horizon, !state.known.contains(entry.identifier) else { return false }
            guard !state.hasUsedUp(quotaPerKey, entry.key) else {
                throw TokenError(
                    .replayCacheFull,
                    "the replay cache already has \(quotaPerKey) identifiers of this key, its quota; send fewer proofs or "
                        + "raise the quota"
                )
            }
            guard !state.isFull(capacity) else {
                throw TokenError(
                    .replayCacheFull,
                    "the replay cache is full with \(capacity) identifiers; shorten the window or raise the capacity"
                )
            }
            state.insert(entry)
            return true
        }
    }
}

private struct ExpirationHeap {
    struct Entry {
        let expiration: Date
        let identifier: [UInt8]
        let key: [UInt8]
    }

    private var entries: [Entry] = []

    var first: Entry? { entries.first }

    mutating func insert(_ entry: Entry) {
        entries.append(entry)
        var child = entries.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard entries[child].expiration < entries[parent].expiration else { return }
            entries.swapAt(child, parent)
            child = parent
        }
    }

    mutating func removeFirst() -> Entry? {
        guard let last = entries.popLast() else { return nil }
        guard let first = entries.first else { return last }
        entries[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < entries.count {
                if entries[child].expiration < entries[least].expiration { least = child }
            }
            guard least != parent else { return first }
            entries.swapAt(least, parent)
            parent = least
        }
    }
}
