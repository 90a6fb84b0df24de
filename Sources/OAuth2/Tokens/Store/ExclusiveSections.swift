package import Networking
import Synchronization

/// Exclusive locks by key, which waiting tasks get in the order of their arrival.
package final class ExclusiveSections: Sendable {
    private typealias Waiter = (id: Int, continuation: CheckedContinuation<Void, any Error>)

    private struct State {
        /// The waiting tasks of each lock that is held.
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

    /// Runs a closure while it has the lock of a key.
    ///
    /// - Throws: Any error of the closure; ``OAuth2Error`` with the code `storeBusy` after the
    ///   timeout; `CancellationError` if the task is cancelled while it waits.
    package func withAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await enter(key, timeout: timeout)
        defer { leave(key) }
        return try await body()
    }

    /// Takes the lock of a key.
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

    /// Releases the lock of a key.
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
