import Synchronization

/// A semaphore that resumes waiting tasks in the order of their arrival.
public final class FIFOSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    /// Creates a semaphore.
    ///
    /// - Parameter count: The number of permits.
    public init(count: Int) { state = Mutex(State(free: count)) }

    /// Waits for a permit and takes it.
    public func take() async {
        await withCheckedContinuation { continuation in
            let hasTurn = state.withLock { state in
                guard state.free > 0 else {
                    state.waiting.append(continuation)
                    return false
                }
                state.free -= 1
                return true
            }
            if hasTurn { continuation.resume() }
        }
    }

    /// Returns a permit and resumes the next waiting task.
    public func giveBack() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst()
        }
        next?.resume()
    }
}
