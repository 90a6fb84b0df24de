import OAuth2

/// A store that forwards the calls that it doesn't implement to another store.
protocol TokenStoreWrapper: TokenStore {
    associatedtype Base: TokenStore

    var store: Base { get }
}

extension TokenStoreWrapper {
    var outlivesProcess: Bool { store.outlivesProcess }

    func load(_ key: String) async throws -> VersionedTokenRecord? { try await store.load(key) }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        try await store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool {
        try await store.remove(key, ifVersion: version)
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await store.withExclusiveAccess(to: key, timeout: timeout, body)
    }
}
