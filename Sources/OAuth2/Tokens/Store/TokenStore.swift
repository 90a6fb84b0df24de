public import Networking
internal import OpenSSLCrypto
import Synchronization

/// Storage for tokens, optionally shared between processes.
///
/// Each record has a version. A writer names the version that it replaces, so that it can't
/// overwrite what another writer has stored in the meantime.
///
/// A conforming type declares the closure of ``withExclusiveAccess(to:timeout:_:)`` as
/// `nonisolated(nonsending)`. Packages with default compiler settings must spell it out; with the
/// upcoming feature `NonisolatedNonsendingByDefault` it's implied:
///
/// ```swift
/// func withExclusiveAccess<Result: Sendable>(
///     to key: String,
///     timeout: Duration,
///     _ body: nonisolated(nonsending) @Sendable () async throws -> Result
/// ) async throws -> Result
/// ```
///
/// <doc:KeepingRefreshTokens> shows a complete type.
public protocol TokenStore: Sendable {
    /// A Boolean value that indicates whether records survive the end of the process. The default
    /// is `true`.
    ///
    /// In such a store, the end of a grant is a record too: later processes must not reuse the
    /// first token.
    var outlivesProcess: Bool { get }

    /// A Boolean value that indicates whether several hosts, whose clocks and connections differ,
    /// share the store's records. The default is `false`: tasks and processes of one machine do.
    ///
    /// On one machine, the exclusive lock ends with the process that holds it. A refresh attempt in
    /// a record that is read under the lock is therefore one whose process has ended, or whose
    /// response was lost. Between hosts, it belongs to a host that may still send the token, until
    /// ``OAuth2Timing/lostRequestDelay`` has passed.
    var isSharedByHosts: Bool { get }

    /// Reads a record.
    ///
    /// A store that hosts share returns the last record that any of them has written. A record from
    /// a cache or a replica that lags could be a token that was replaced.
    ///
    /// - Parameter key: The record's key.
    /// - Returns: The record and its version, or `nil` if there isn't one.
    /// - Throws: Any error of the store.
    func load(_ key: String) async throws -> VersionedTokenRecord?

    /// Writes a record if the stored version is the expected one.
    ///
    /// If records survive the process, this one must be durable when the method returns a version.
    ///
    /// After an error, the outcome is unknown: the record may have been written, or may still be. A
    /// store must not repeat a write whose outcome it doesn't know. The caller reads the record and
    /// recognizes its own by its contents.
    ///
    /// - Parameters:
    ///   - key: The record's key.
    ///   - expectedVersion: The version to replace; `nil` if there must not be a record.
    ///   - record: The new record.
    /// - Returns: The new version; `nil` if the record wasn't written because the stored version
    ///   is another.
    /// - Throws: Any error of the store.
    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion?

    /// Removes a record if the stored version is the expected one.
    ///
    /// - Parameters:
    ///   - key: The record's key.
    ///   - version: The version to remove.
    /// - Returns: `true` if the record was removed.
    /// - Throws: Any error of the store.
    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool

    /// Runs a closure while holding the exclusive lock for a key, among all processes that share
    /// the store.
    ///
    /// Reading a refresh token, using it and writing its successor happen under one such lock. In a
    /// store that hosts share, the lock excludes only the tasks of one process: between hosts, the
    /// announcement of a refresh in the record does that.
    ///
    /// - Parameters:
    ///   - key: The key to lock.
    ///   - timeout: The maximum time to wait for the lock.
    ///   - body: The closure.
    /// - Returns: The closure's result.
    /// - Throws: Any error of the closure; ``OAuth2Error`` with the code `storeBusy` if the lock
    ///   isn't available in time.
    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result

    /// Waits until the record's version differs from the given one, or for the given time.
    ///
    /// The default implementation polls. A store that learns of changes returns as soon as there is
    /// one. Returning early is correct, too, because the caller reads the record again.
    ///
    /// - Parameters:
    ///   - key: The record's key.
    ///   - version: The version that the caller has; `nil` if it found no record.
    ///   - timeout: The maximum time to wait.
    ///   - timeSource: The source of time.
    /// - Throws: Any error of the store, after which the caller polls.
    func waitForChange(
        of key: String,
        after version: TokenRecordVersion?,
        timeout: Duration,
        timeSource: TimeSource
    ) async throws
}

extension TokenStore {
    /// Unavailable: A store declares this function, with a `nonisolated(nonsending)` closure.
    @available(
        *,
        unavailable,
        message:
            "Declare withExclusiveAccess(to:timeout:_:) with the closure: _ body: nonisolated(nonsending) @Sendable () async throws -> Result"
    )
    public func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await body()
    }

    /// The default value, `true`.
    public var outlivesProcess: Bool { true }

    /// The default value, `false`.
    public var isSharedByHosts: Bool { false }

    /// Polls the record: after 50 milliseconds, then less often, up to twice a second.
    ///
    /// A read that fails is repeated, because a later one may succeed.
    public func waitForChange(
        of key: String,
        after version: TokenRecordVersion?,
        timeout: Duration,
        timeSource: TimeSource
    ) async throws {
        try await pollForChange(of: key, after: version, timeout: timeout, timeSource: timeSource)
    }

    /// Polls the record, for stores whose own way of noticing changes has failed.
    package func pollForChange(
        of key: String,
        after version: TokenRecordVersion?,
        timeout: Duration,
        timeSource: TimeSource
    ) async throws {
        let deadline = timeSource.now() + timeout
        let pauses = Retry.Backoff.doubling(.milliseconds(50), to: .milliseconds(500), jitter: .equal)
        var polls = 0
        while true {
            let left = deadline - timeSource.now()
            guard left > .zero else { return }
            polls += 1
            try await timeSource.sleep(min(left, pauses.delay(retry: polls)))
            do {
                guard try await load(key)?.version == version else { return }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                continue
            }
        }
    }
}

/// A record and the version that a writer must name to replace it.
public struct VersionedTokenRecord: Sendable, Hashable {
    /// The record.
    public let record: TokenRecord
    /// The version, which differs from that of every other record with the same key.
    public let version: TokenRecordVersion

    /// Creates a versioned record.
    public init(record: TokenRecord, version: TokenRecordVersion) {
        self.record = record
        self.version = version
    }
}

/// The version of a stored record: a text that only the store understands, such as an entity tag or
/// a revision number.
public struct TokenRecordVersion: Sendable, Hashable, CustomStringConvertible {
    private let compared: ByteComparedString

    /// Creates a version.
    ///
    /// - Parameter text: The store's text, which is compared byte by byte.
    public init(_ text: String) {
        compared = ByteComparedString(text)
    }

    /// The store's text.
    public var description: String { compared.text }
}

/// A token store in memory, which several authenticators can share.
public final class InMemoryTokenStore: TokenStore {
    private let records = Mutex<(byKey: [ByteComparedString: VersionedTokenRecord], lastVersion: Int)>(([:], 0))
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
        records.withLock { $0.byKey[ByteComparedString(key)] }
    }

    /// Writes a record if the stored version is the expected one.
    public func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) -> TokenRecordVersion? {
        let key = ByteComparedString(key)
        return records.withLock { records in
            guard records.byKey[key]?.version == expectedVersion else { return nil }
            records.lastVersion += 1
            let version = TokenRecordVersion(String(records.lastVersion))
            records.byKey[key] = VersionedTokenRecord(record: record, version: version)
            return version
        }
    }

    /// Removes a record if the stored version is the expected one.
    public func remove(_ key: String, ifVersion version: TokenRecordVersion) -> Bool {
        let key = ByteComparedString(key)
        return records.withLock { records in
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

    func waiterCount(for key: String) -> Int { sections.waiterCount(for: key) }
}

/// Exclusive locks by key, which waiting tasks get in the order of their arrival.
package final class ExclusiveSections: Sendable {
    private typealias Waiter = (id: Int, continuation: CheckedContinuation<Void, any Error>)

    private struct State {
        var waiters: [String: [Waiter]] = [:]
        /// The tasks that have arrived without a continuation yet, with an error if they gave up.
        var arrivals: [Int: (any Error)?] = [:]
        var nextID = 0
    }

    private let state = Mutex(State())
    private let timeSource: TimeSource

    package init(timeSource: TimeSource) {
        self.timeSource = timeSource
    }

    func waiterCount(for key: String) -> Int {
        state.withLock { $0.waiters[key]?.count ?? 0 }
    }

    /// Throws `storeBusy` after the timeout.
    package func withAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await enter(key, timeout: timeout)
        defer { leave(key) }
        return try await body()
    }

    private func enter(_ key: String, timeout: Duration) async throws {
        let id = state.withLock { state -> Int? in
            guard state.waiters[key] != nil else {
                state.waiters[key] = []
                return nil
            }
            state.nextID += 1
            state.arrivals[state.nextID] = .some(nil)
            return state.nextID
        }
        guard let id else { return }
        let timer = Task {
            do { try await timeSource.sleep(timeout) } catch { return }
            abandon(id, key, OAuth2Error(.storeBusy, "the token store was locked by other tasks for \(timeout)"))
        }
        defer { timer.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if let error = state.arrivals.removeValue(forKey: id) ?? nil { return .failure(error) }
                    guard state.waiters[key] != nil else {
                        state.waiters[key] = []
                        return .success(())
                    }
                    state.waiters[key]?.append((id, continuation))
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            abandon(id, key, CancellationError())
        }
    }

    private func leave(_ key: String) {
        let next = state.withLock { state -> Waiter? in
            guard let next = state.waiters[key]?.first else {
                state.waiters[key] = nil
                return nil
            }
            state.waiters[key]?.removeFirst()
            return next
        }
        next?.continuation.resume()
    }

    private func abandon(_ id: Int, _ key: String, _ error: any Error) {
        let waiter = state.withLock { state -> Waiter? in
            if state.arrivals[id] != nil { state.arrivals[id] = .some(error) }
            guard let index = state.waiters[key]?.firstIndex(where: { $0.id == id }) else { return nil }
            return state.waiters[key]?.remove(at: index)
        }
        waiter?.continuation.resume(throwing: error)
    }
}
