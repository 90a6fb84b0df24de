import Networking
import Synchronization

/// A token store that knows whether a call is pending, to tell its failures from a server's.
final class WatchedTokenStore: TokenStore {
    /// A failure to get the lock, so that the closure didn't run.
    struct AccessFailure: Error {
        let cause: any Error
    }

    private let store: any TokenStore
    private let calls = Mutex(0)

    init(_ store: any TokenStore) {
        self.store = store
    }

    var outlivesProcess: Bool { store.outlivesProcess }
    var isSharedByHosts: Bool { store.isSharedByHosts }

    /// A Boolean value that indicates whether a call of the store is pending.
    var isWaitedFor: Bool { calls.withLock { $0 > 0 } }

    func load(_ key: String) async throws -> VersionedTokenRecord? {
        try await watching { try await store.load(key) }
    }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        try await watching { try await store.compareAndSwap(key, expectedVersion: expectedVersion, record: record) }
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool {
        try await watching { try await store.remove(key, ifVersion: version) }
    }

    /// Waits for a change, which doesn't count as a pending call.
    func waitForChange(
        of key: String,
        after version: TokenRecordVersion?,
        timeout: Duration,
        timeSource: TimeSource
    ) async throws {
        try await store.waitForChange(of: key, after: version, timeout: timeout, timeSource: timeSource)
    }

    /// Runs a closure while holding the exclusive lock for a key.
    ///
    /// While it runs, the lock call doesn't count as pending.
    ///
    /// - Throws: Any error of the closure; ``AccessFailure`` if it didn't run, unless the task was
    ///   cancelled.
    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        let hasEntered = SharedValue(false)
        do {
            return try await watching {
                try await store.withExclusiveAccess(to: key, timeout: timeout) {
                    hasEntered.replace(with: true)
                    self.count(-1)
                    defer { self.count(1) }
                    return try await body()
                }
            }
        } catch {
            guard !hasEntered.value, !(error is CancellationError) else { throw error }
            throw AccessFailure(cause: error)
        }
    }

    private func watching<Value>(_ call: () async throws -> Value) async throws -> Value {
        count(1)
        defer { count(-1) }
        return try await call()
    }

    private func count(_ change: Int) { calls.withLock { $0 += change } }
}

/// A token source that may wait for a store.
protocol StoreWaiting {
    /// A Boolean value that indicates whether the source is waiting for its store.
    var isWaitingForStore: Bool { get }
}
