public import Foundation
import Networking
import OAuth2
import OpenSSLCrypto
import Synchronization
public import TokenGeneration

/// A replay cache in an etcd cluster, which any number of hosts share.
///
/// ```swift
/// let cache = EtcdReplayCache(cluster)
/// let verifier = DPoPVerifier(replayCache: cache)
/// ```
///
/// Each identifier costs one write of the cluster, and takes about 100 bytes until it has expired.
/// etcd sees its digest. Once a minute, each host removes the identifiers that have expired, all
/// with one request.
///
/// The same request stores the time up to which identifiers were removed. Each later identifier is
/// compared with it, so a host whose clock is slow doesn't accept what another has removed. A clock
/// that is fast by more than the retention makes all hosts reject tokens that are still valid.
///
/// Without a fallback, no token is accepted while etcd can't remember it: verifiers throw
/// `replayCacheFailed`. With a fallback in memory, a token that was used before can be accepted
/// once by each other host while etcd is out of reach, but never again by the same process.
public final class EtcdReplayCache: ReplayCache {
    private let retention: Duration
    private let cluster: EtcdCluster
    private let prefix: String
    private let fallback: InMemoryReplayCache?
    /// The last minute that this process has removed.
    private let removed = Mutex<Int64>(0)

    /// Creates a cache.
    ///
    /// - Parameters:
    ///   - cluster: The cluster.
    ///   - prefix: The prefix of the keys. The default is `/replay/`.
    ///   - fallback: The cache in memory that decides alone while etcd is out of reach. The default
    ///     is `nil`: tokens are rejected then.
    ///   - retention: The time for which identifiers are kept after they expire: the tolerated
    ///     difference between the clocks of hosts. The default is five minutes.
    public init(
        _ cluster: EtcdCluster,
        prefix: String = "/replay/",
        fallback: InMemoryReplayCache? = nil,
        retention: Duration = .seconds(300)
    ) {
        self.cluster = cluster
        self.prefix = prefix
        self.fallback = fallback
        self.retention = max(retention, .zero)
    }

    /// Remembers an identifier if it is certainly new.
    ///
    /// The cache takes an identifier with another expiration for that of another token. It rejects
    /// an identifier if it has removed others that expire as late.
    ///
    /// - Throws: `OAuth2Error` with the code `storeUnavailable` or `storeFailed` if etcd can't
    ///   remember the identifier and a fallback is missing; `TokenError` with the code
    ///   `replayCacheFull` if the fallback is full; `CancellationError` if the task is cancelled.
    public func remember(
        _ identifier: String,
        signedBy thumbprint: String,
        until expiration: Date,
        at now: Date
    ) async throws -> Bool {
        // Always asked, so that it knows what etcd won't know after an outage.
        if let fallback, try !fallback.remember(identifier, signedBy: thumbprint, until: expiration, at: now) {
            return false
        }
        guard let minute = Self.minute(expiration) else { return false }
        do {
            let isNew = try await insert(Secret(identifier).fingerprint.hexadecimal, minute)
            try? await removeExpired(at: now)
            return isNew
        } catch {
            guard fallback != nil, !Task.isCancelled else { throw error }
            return true
        }
    }

    // MARK: Identifiers

    private var horizon: String { prefix + "removed" }

    private func key(_ name: String, _ minute: String) -> String { "\(prefix)until/\(minute)/\(name)" }

    private func insert(_ name: String, _ minute: String) async throws -> Bool {
        let key = key(name, minute)
        let own = try StoreRandom.bytes(count: 16)
        // The second round follows the creation of the horizon by this or another host.
        for _ in 1...2 {
            do {
                let response = try await cluster.response(
                    to: .transaction(
                        if: [.absent(key), .less(horizon, than: Array(minute.utf8))],
                        then: [.put(key, own)],
                        otherwise: [.get(horizon)]
                    )
                )
                if response.succeeded { return true }
                guard try await mustCreateHorizon(after: response) else { return false }
            } catch let error as OAuth2Error where error.code == .storeUnavailable {
                // The write may have happened; if it hasn't, it still may.
                guard let found = try? await cluster.response(to: .range(key)).entry(), found.value == own else {
                    throw error
                }
                return true
            }
        }
        return false
    }

    /// Creates the horizon in an empty cluster.
    private func mustCreateHorizon(after response: EtcdResponse) async throws -> Bool {
        let found = try response.entries()
        guard found.count == 1 else { throw EtcdFailure.malformed.error }
        guard found[0] == nil else { return false }
        _ = try await cluster.response(
            to: .transaction(
                if: [.absent(horizon)],
                then: [.put(horizon, Array(Self.text(0).utf8))]
            )
        )
        return true
    }

    private func removeExpired(at now: Date) async throws {
        let last = now.addingTimeInterval(-(retention / .seconds(1)) - 60)
        guard let text = Self.minute(last), let minute = Int64(text) else { return }
        let isDue = removed.withLock { removed in
            guard minute > removed else { return false }
            removed = minute
            return true
        }
        guard isDue else { return }
        _ = try await cluster.response(
            to: .transaction(
                if: [.less(horizon, than: Array(text.utf8))],
                then: [
                    .put(horizon, Array(text.utf8)),
                    .deleteRange("\(prefix)until/", "\(prefix)until/\(Self.text(minute + 1))"),
                ]
            )
        )
    }

    // MARK: Minutes

    /// Returns the minute of a time as text that sorts like the time; `nil` if it's out of range.
    private static func minute(_ date: Date) -> String? {
        let minute = (date.timeIntervalSince1970 / 60).rounded(.down)
        guard minute >= 1, minute < 9_999_999_999 else { return nil }
        return text(Int64(clamping: minute))
    }

    private static func text(_ minute: Int64) -> String {
        let digits = String(minute)
        return String(repeating: "0", count: max(10 - digits.count, 0)) + digits
    }
}
