import MockNetworking
import OAuth2
import Synchronization

/// A store whose calls fail according to a plan.
final class FaultyStore<Base: TokenStore>: TokenStore {
    struct Failure: Error {}

    private struct State {
        var plan: [Int: StoreFault] = [:]
        var count = 0
        var hanging = 0
        var busy = 0
    }

    let base: Base
    private let state = Mutex(State())
    private let cancelCaller: @Sendable () -> Void

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - base: The store of the records.
    ///   - cancelCaller: A closure that cancels the task that needs a token.
    init(_ base: Base, cancelCaller: @escaping @Sendable () -> Void) {
        self.base = base
        self.cancelCaller = cancelCaller
    }

    var outlivesProcess: Bool { base.outlivesProcess }
    /// A Boolean value that indicates whether a call hangs. A call that hangs does so until its
    /// task is cancelled.
    var isHanging: Bool { state.withLock { $0.hanging > 0 } }
    /// A Boolean value that indicates whether the base store is working on a call, possibly on
    /// another thread.
    var isBusy: Bool { state.withLock { $0.busy > 0 } }
    /// The number of calls since the plan was set.
    var callCount: Int { state.withLock { $0.count } }

    /// Makes the following calls fail by their numbers, starting at 1.
    func plan(_ plan: [Int: StoreFault]) {
        state.withLock { state in
            state.plan = plan
            state.count = 0
        }
    }

    func load(_ key: String) async throws -> VersionedTokenRecord? {
        try await troubled { try await busy { try await base.load(key) } }
    }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        try await troubled {
            try await busy { try await base.compareAndSwap(key, expectedVersion: expectedVersion, record: record) }
        }
    }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool {
        try await troubled { try await busy { try await base.remove(key, ifVersion: version) } }
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await troubled { try await base.withExclusiveAccess(to: key, timeout: timeout, body) }
    }

    private func troubled<Result>(_ call: () async throws -> Result) async throws -> Result {
        let fault = state.withLock { state in
            state.count += 1
            return state.plan[state.count]
        }
        switch fault {
        case .failsBefore: throw Failure()
        case .isCancelledBefore: throw CancellationError()
        case .hangsBefore: try await hang()
        case .cancelsCaller: cancelCaller()
        default: break
        }
        let result = try await call()
        switch fault {
        case .failsAfter: throw Failure()
        case .isCancelledAfter: throw CancellationError()
        case .hangsAfter: try await hang()
        default: return result
        }
        return result
    }

    private func busy<Result>(_ call: () async throws -> Result) async rethrows -> Result {
        state.withLock { $0.busy += 1 }
        defer { state.withLock { $0.busy -= 1 } }
        return try await call()
    }

    private func hang() async throws {
        state.withLock { $0.hanging += 1 }
        defer { state.withLock { $0.hanging -= 1 } }
        try await ResponseGate().wait()
    }
}

/// A fault of one store call.
enum StoreFault: CaseIterable {
    case failsBefore, failsAfter, isCancelledBefore, isCancelledAfter, hangsBefore, hangsAfter, cancelsCaller
}
