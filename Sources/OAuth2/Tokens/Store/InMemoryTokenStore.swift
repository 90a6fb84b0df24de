public import Networking
import Synchronization

/// A store that lasts as long as the process; several authenticators may share one.
public final class InMemoryTokenStore: TokenStore {
    private let records = Mutex<(byKey: [String: VersionedTokenRecord], lastVersion: Int)>(([:], 0))
    private let sections: ExclusiveSections

    /// No.
    public var outlivesProcess: Bool { false }

    /// Makes an empty store.
    ///
    /// - Parameter timeSource: Where time comes from.
    public init(timeSource: TimeSource = .system) {
        sections = ExclusiveSections(timeSource: timeSource)
    }

    /// Reads a record.
    ///
    /// - Parameter key: What the record is kept under.
    /// - Returns: The record and its version, or `nil` if there is none.
    public func load(_ key: String) -> VersionedTokenRecord? {
        records.withLock { $0.byKey[key] }
    }

    /// Writes a record if nobody has written one since it was read.
    ///
    /// - Parameters:
    ///   - key: What the record is kept under.
    ///   - expectedVersion: The version to replace; `nil` if there must not be a record.
    ///   - record: The new record.
    /// - Returns: Whether the record was written.
    public func compareAndSwap(_ key: String, expectedVersion: Int?, record: TokenRecord) -> Bool {
        records.withLock { records in
            guard records.byKey[key]?.version == expectedVersion else { return false }
            records.lastVersion += 1
            records.byKey[key] = VersionedTokenRecord(record: record, version: records.lastVersion)
            return true
        }
    }

    /// Removes a record if nobody has written one since it was read.
    ///
    /// - Parameters:
    ///   - key: What the record is kept under.
    ///   - version: The version to remove.
    /// - Returns: Whether there was such a record.
    public func remove(_ key: String, ifVersion version: Int) -> Bool {
        records.withLock { records in
            guard records.byKey[key]?.version == version else { return false }
            records.byKey[key] = nil
            return true
        }
    }

    /// Runs a body while nobody else is in a body for the same key of this store.
    ///
    /// Those who wait get in one after the other, in the order in which they came. A body must not ask for access to its
    /// own key: it would wait for itself.
    ///
    /// - Parameters:
    ///   - key: What the section is about.
    ///   - timeout: How long to wait for others to leave it.
    ///   - body: What is done in the section.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; ``OAuth2Error`` with the code `storeBusy` if the section is not free in time;
    ///   `CancellationError` if the task is cancelled while it waits.
    public func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await sections.enter(key, timeout: timeout)
        defer { sections.leave(key) }
        return try await body()
    }

    /// How many wait for exclusive access.
    func waiterCount(for key: String) -> Int { sections.waiterCount(for: key) }
}
