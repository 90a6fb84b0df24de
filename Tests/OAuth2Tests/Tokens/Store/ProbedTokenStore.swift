import MockNetworking
import OAuth2
import Synchronization

/// An in-memory store that records its calls and fails on demand.
final class ProbedTokenStore: TokenStore {
    /// A call that fails.
    enum Fault: Equatable, Sendable {
        case load
        /// A write of tokens.
        case write
        /// A write that records that a refresh token is about to be sent.
        case mark
        /// A write that succeeds before the call fails.
        case writeThenFail
        case remove
        case enter
        /// A write that hangs until the task is cancelled.
        case hang
    }

    struct Failure: Error {}

    let outlivesProcess = false

    private struct State {
        var faults: [Fault] = []
        var written: [TokenRecord] = []
        var removals = 0
        var hanging = 0
    }

    private let store = InMemoryTokenStore()
    private let state = Mutex(State())
    private let onWrite: @Sendable (TokenRecord) -> Void

    init(onWrite: @escaping @Sendable (TokenRecord) -> Void = { _ in }) {
        self.onWrite = onWrite
    }

    /// The written records in order, except those with a refresh attempt.
    var written: [TokenRecord] { state.withLock { $0.written } }
    /// A Boolean value that indicates whether a call hangs until its task is cancelled.
    var isHanging: Bool { state.withLock { $0.hanging > 0 } }
    var removals: Int { state.withLock { $0.removals } }

    /// Makes the next calls of these kinds fail, once each.
    func fail(_ faults: Fault...) {
        state.withLock { $0.faults += faults }
    }

    func load(_ key: String) async throws -> VersionedTokenRecord? {
        if takes(.load) { throw Failure() }
        return store.load(key)
    }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        if record.refreshAttempt != nil {
            if takes(.mark) { throw Failure() }
            return store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
        }
        if takes(.write) { throw Failure() }
        if takes(.hang) {
            state.withLock { $0.hanging += 1 }
            defer { state.withLock { $0.hanging -= 1 } }
            try await ResponseGate().wait()
        }
        onWrite(record)
        let version = store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
        if version != nil { state.withLock { $0.written.append(record) } }
        if takes(.writeThenFail) { throw Failure() }
        return version
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool {
        if takes(.remove) { throw Failure() }
        state.withLock { $0.removals += 1 }
        return store.remove(key, ifVersion: version)
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        if takes(.enter) { throw Failure() }
        return try await store.withExclusiveAccess(to: key, timeout: timeout, body)
    }

    private func takes(_ fault: Fault) -> Bool {
        state.withLock { state in
            guard let index = state.faults.firstIndex(of: fault) else { return false }
            state.faults.remove(at: index)
            return true
        }
    }
}

extension TokenRecord {
    var access: String { accessToken.expose { $0 } }
    var refresh: String? { refreshToken?.expose { $0 } }
}
