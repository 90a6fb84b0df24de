public import Networking

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
    /// ``RefreshAttempt/validFor`` has passed.
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
    /// record's ``TokenRecord/refreshAttempt`` does that.
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
