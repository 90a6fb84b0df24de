import MockNetworking
import OAuth2
import TestSupport
import Testing

/// The samples about custom token stores.
@Suite("Store samples", .limitedConcurrency)
struct StoreSnippets {
    @Test("Conforms a custom store, with a package's default settings")
    func ownStore() async throws {
        try await TokenStoreConformance {
            let database = Database()
            return (DatabaseTokenStore(database: database), DatabaseTokenStore(database: database))
        }.check()
    }
}

struct DatabaseTokenStore: TokenStore {
    let database: Database

    func load(_ key: String) async throws -> VersionedTokenRecord? {
        try await database.record(key)
    }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        try await database.write(key, over: expectedVersion, record)
    }

    func remove(
        _ key: String,
        ifVersion version: TokenRecordVersion
    ) async throws -> Bool {
        try await database.delete(key, version)
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: nonisolated(nonsending) @Sendable () async throws -> Result
    ) async throws -> Result {
        try await database.withAdvisoryLock(key, timeout, body)
    }
}

/// A stand-in for a service's database.
struct Database {
    private let memory = InMemoryTokenStore()

    func record(_ key: String) async throws -> VersionedTokenRecord? { memory.load(key) }

    func write(
        _ key: String,
        over version: TokenRecordVersion?,
        _ record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        memory.compareAndSwap(key, expectedVersion: version, record: record)
    }

    func delete(_ key: String, _ version: TokenRecordVersion) async throws -> Bool {
        memory.remove(key, ifVersion: version)
    }

    func withAdvisoryLock<Result: Sendable>(
        _ key: String,
        _ timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await memory.withExclusiveAccess(to: key, timeout: timeout, body)
    }
}
