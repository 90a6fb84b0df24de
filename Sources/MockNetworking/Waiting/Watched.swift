import Synchronization

/// A lock-protected value that tasks can wait on until it satisfies a condition.
final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        let condition: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var value: Value
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    /// The current value.
    var value: Value { state.withLock { $0.value } }

    /// The number of waiting tasks.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Reads from the value without copying it.
    func read<Result: Sendable>(_ body: (borrowing Value) -> Result) -> Result {
        state.withLock { body($0.value) }
    }

    /// Changes the value, then resumes the tasks whose condition holds.
    @discardableResult
    func update<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, ready) = state.withLock { state in
            let result = body(&state.value)
            // Most changes happen without any waiters.
            guard !state.waiters.isEmpty else { return (result, [Waiter]()) }
            let ready = state.waiters.filter { $0.value.condition(state.value) }
            for id in ready.keys { state.waiters[id] = nil }
            return (result, ready.sorted { $0.key < $1.key }.map(\.value))
        }
        for waiter in ready { waiter.continuation.resume() }
        return result
    }

    /// Waits until a condition holds; throws `CancellationError` at once if the task is canceled.
    func wait(until condition: @escaping @Sendable (Value) -> Bool) async throws {
        let id = nextID()
        try await withTaskCancellationHandler {
            try await enqueue(id, condition, ignoringCancellation: false)
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Waits until a condition holds, even if the task is canceled.
    func waitUninterrupted(until condition: @escaping @Sendable (Value) -> Bool) async {
        // Cancellation never removes a waiter with this ID, so this never throws.
        try? await enqueue(nextID(), condition, ignoringCancellation: true)
    }

    private func nextID() -> UInt64 {
        state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
    }

    private func enqueue(
        _ id: UInt64,
        _ condition: @escaping @Sendable (Value) -> Bool,
        ignoringCancellation: Bool
    ) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let outcome: Result<Void, any Error>? = state.withLock { state in
                // Checked under the lock: an earlier cancellation is detected here, and a later one
                // finds the waiter.
                if !ignoringCancellation, Task.isCancelled { return .failure(CancellationError()) }
                if condition(state.value) { return .success(()) }
                state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                return nil
            }
            if let outcome { continuation.resume(with: outcome) }
        }
    }
}
