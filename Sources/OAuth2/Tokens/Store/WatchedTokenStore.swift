import Networking
import Synchronization

/// A token store that knows whether a call is pending, to tell its failures from a server's.
final class WatchedTokenStore: Sendable {
    /// A failure to get the lock, so that the closure didn't run.
    struct AccessFailure: Error {
        let cause: any Error
    }

    private struct Counts {
        /// The pending calls but those that take a lock.
        var calls = 0
        /// The calls that wait for a lock or release it.
        var locks = 0
        /// The closures that run with a lock.
        var closures = 0
    }

    let store: any TokenStore
    private let counts = Mutex(Counts())

    init(_ store: any TokenStore) {
        self.store = store
    }

    /// Waiting for the lock counts only if no closure of this process holds it.
    var isWaitedFor: Bool { counts.withLock { $0.calls > 0 || $0.locks > 0 && $0.closures == 0 } }

    /// A closure holds the lock and waits for something other than the store.
    var isHeldByRequest: Bool { counts.withLock { $0.calls == 0 && $0.closures > 0 } }

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

    /// Throws ``AccessFailure`` if the closure didn't run, unless the task was cancelled.
    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        let hasEntered = SharedValue(false)
        counts.withLock { $0.locks += 1 }
        defer { counts.withLock { $0.locks -= 1 } }
        do {
            return try await store.withExclusiveAccess(to: key, timeout: timeout) {
                hasEntered.replace(with: true)
                self.enter(1)
                defer { self.enter(-1) }
                return try await body()
            }
        } catch {
            guard !hasEntered.value, !(error is CancellationError) else { throw error }
            throw AccessFailure(cause: error)
        }
    }

    private func watching<Value>(_ call: () async throws -> Value) async throws -> Value {
        counts.withLock { $0.calls += 1 }
        defer { counts.withLock { $0.calls -= 1 } }
        return try await call()
    }

    private func enter(_ change: Int) {
        counts.withLock { counts in
            counts.locks -= change
            counts.closures += change
        }
    }
}

protocol StoreWaiting {
    var isWaitingForStore: Bool { get }
}
