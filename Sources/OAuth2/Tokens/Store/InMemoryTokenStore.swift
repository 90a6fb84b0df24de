public import Networking
import Synchronization

/// A token store in memory, which several authenticators can share.
public final class InMemoryTokenStore: TokenStore {
    private let records = Mutex<(byKey: [String: VersionedTokenRecord], lastVersion: Int)>(([:], 0))
    private let sections: ExclusiveSections

    /// Always `false`.
    public var outlivesProcess: Bool { false }

    /// Creates an empty store.
    ///
    /// - Parameter timeSource: The source of time.
    public init(timeSource: TimeSource = .system) {
        sections = ExclusiveSections(timeSource: timeSource)
    }

    /// Reads a record.
    public func load(_ key: String) -> VersionedTokenRecord? {
        records.withLock { $0.byKey[key] }
    }

    /// Writes a record if the stored version is the expected one.
    public func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) -> TokenRecordVersion? {
        records.withLock { records in
            guard records.byKey[key]?.version == expectedVersion else { return nil }
            records.lastVersion += 1
            let version = TokenRecordVersion(String(records.lastVersion))
            records.byKey[key] = VersionedTokenRecord(record: record, version: version)
            return version
        }
    }

    /// Removes a record if the stored version is the expected one.
    public func remove(_ key: String, ifVersion version: TokenRecordVersion) -> Bool {
        records.withLock { records in
            guard records.byKey[key]?.version == version else { return false }
            records.byKey[key] = nil
            return true
        }
    }

    /// Runs a closure while holding the exclusive lock for a key of this store.
    ///
    /// Tasks get the lock in the order of their calls. The closure must not request the lock of its
    /// own key, which would deadlock.
    public func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await sections.withAccess(to: key, timeout: timeout, body)
    }

    /// The number of tasks that wait for the lock.
    func waiterCount(for key: String) -> Int { sections.waiterCount(for: key) }
}
