import Networking
import Synchronization

/// A store that knows whether it is waited for, so that its failures aren't taken for the server's.
final class WatchedTokenStore: TokenStore {
    /// A failure to get exclusive access: the body has not run.
    struct AccessFailure: Error {
        let cause: any Error
    }

    private let store: any TokenStore
    /// The number of calls under way.
    private let calls = Mutex(0)

    init(_ store: any TokenStore) {
        self.store = store
    }

    var outlivesProcess: Bool { store.outlivesProcess }

    /// A Boolean value that indicates whether a call of the store is under way.
    var isWaitedFor: Bool { calls.withLock { $0 > 0 } }

    func load(_ key: String) async throws -> VersionedTokenRecord? {
        try await watching { try await store.load(key) }
    }

    func compareAndSwap(_ key: String, expectedVersion: Int?, record: TokenRecord) async throws -> Bool {
        try await watching { try await store.compareAndSwap(key, expectedVersion: expectedVersion, record: record) }
    }

    func remove(_ key: String, ifVersion version: Int) async throws -> Bool {
        try await watching { try await store.remove(key, ifVersion: version) }
    }

    /// Runs a body with exclusive access.
    ///
    /// - Parameters:
    ///   - key: The key of the record.
    ///   - timeout: The maximum time to wait for others.
    ///   - body: The body; while it runs, the store isn't waited for.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; ``AccessFailure`` if it has not run, unless the task was cancelled.
    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        let hasEntered = Flag()
        do {
            return try await watching {
                try await store.withExclusiveAccess(to: key, timeout: timeout) {
                    hasEntered.set()
                    self.count(-1)
                    defer { self.count(1) }
                    return try await body()
                }
            }
        } catch {
            guard !hasEntered.isSet, !(error is CancellationError) else { throw error }
            throw AccessFailure(cause: error)
        }
    }

    private func watching<Value>(_ call: () async throws -> Value) async throws -> Value {
        count(1)
        defer { count(-1) }
        return try await call()
    }

    private func count(_ change: Int) { calls.withLock { $0 += change } }

    private final class Flag: Sendable {
        private let value = Mutex(false)
        var isSet: Bool { value.withLock { $0 } }
        func set() { value.withLock { $0 = true } }
    }
}

/// A source that may wait for a store.
protocol StoreWaiting {
    /// A Boolean value that indicates whether the source waits for its store at the moment.
    var isWaitingForStore: Bool { get }
}
