import Synchronization

/// A store that lasts as long as the process; several authenticators may share one.
public final class InMemoryTokenStore: TokenStore {
    private let records = Mutex<(byKey: [String: VersionedTokenRecord], lastVersion: Int)>(([:], 0))
    private let sections = ExclusiveSections()

    /// Makes an empty store.
    public init() {}

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
    /// - Parameters:
    ///   - key: What the section is about.
    ///   - timeout: How long to wait for others to leave it.
    ///   - body: What is done in the section.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; ``OAuth2Error`` with the code `storeFailed` if the section is not free in time;
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
}

/// Sections that one task at a time is in, per key; the others wait in the order in which they came.
private final class ExclusiveSections: Sendable {
    private struct Waiter {
        let id: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        /// A key is here while somebody is in its section.
        var waiters: [String: [Waiter]] = [:]
        var abandoned: Set<Int> = []
        var nextID = 0
    }

    private let state = Mutex(State())

    func enter(_ key: String, timeout: Duration) async throws {
        let (id, isFree) = state.withLock { state in
            state.nextID += 1
            let isFree = state.waiters[key] == nil
            if isFree { state.waiters[key] = [] }
            return (state.nextID, isFree)
        }
        guard !isFree else { return }
        let timer = Task {
            do { try await Task.sleep(for: timeout) } catch { return }
            abandon(id, key, OAuth2Error(.storeFailed, "the token store was in use by others for \(timeout)"))
        }
        defer { timer.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Swift.Result<Void, any Error>? = state.withLock { state in
                    if state.abandoned.remove(id) != nil { return .failure(CancellationError()) }
                    guard state.waiters[key] != nil else {
                        state.waiters[key] = []
                        return .success(())
                    }
                    state.waiters[key]?.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            abandon(id, key, CancellationError())
        }
    }

    func leave(_ key: String) {
        let next = state.withLock { state -> Waiter? in
            guard let waiters = state.waiters[key], let next = waiters.first else {
                state.waiters[key] = nil
                return nil
            }
            state.waiters[key] = Array(waiters.dropFirst())
            return next
        }
        next?.continuation.resume()
    }

    private func abandon(_ id: Int, _ key: String, _ error: any Error) {
        let waiter = state.withLock { state -> Waiter? in
            guard let index = state.waiters[key]?.firstIndex(where: { $0.id == id }) else {
                // Cancelled before it had a continuation, or already let in; a stale mark is harmless.
                state.abandoned.insert(id)
                return nil
            }
            return state.waiters[key]?.remove(at: index)
        }
        waiter?.continuation.resume(throwing: error)
    }
}
