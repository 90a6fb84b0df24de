import Synchronization

/// Counts turns; whoever comes first gets the next.
public final class FIFOSemaphore: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>

    /// - Parameter count: How many have a turn at a time.
    public init(count: Int) { state = Mutex(State(free: count)) }

    /// Waits for a turn.
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

    /// Ends a turn, so that the next can begin.
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
