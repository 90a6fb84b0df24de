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
    ///
    /// - Parameter key: The record's key.
    /// - Returns: The record and its version, or `nil` if there isn't one.
    public func load(_ key: String) -> VersionedTokenRecord? {
        records.withLock { $0.byKey[key] }
    }

    /// Writes a record if the stored version is the expected one.
    ///
    /// - Parameters:
    ///   - key: The record's key.
    ///   - expectedVersion: The version to replace; `nil` if there must not be a record.
    ///   - record: The new record.
    /// - Returns: The new version; `nil` if the record wasn't written.
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
    ///
    /// - Parameters:
    ///   - key: The record's key.
    ///   - version: The version to remove.
    /// - Returns: `true` if the record was removed.
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
    ///
    /// - Parameters:
    ///   - key: The key to lock.
    ///   - timeout: The maximum time to wait for the lock.
    ///   - body: The closure.
    /// - Returns: The closure's result.
    /// - Throws: Any error of the closure; ``OAuth2Error`` with the code `storeBusy` if the lock
    ///   isn't available in time; `CancellationError` if the task is cancelled while it waits.
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
