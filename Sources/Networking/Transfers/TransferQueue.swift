import Synchronization

/// The transfers of a client: which there are, and which may be in progress.
///
/// They begin in the order in which they came. What waits between two attempts, or for a slow server, keeps its place; what is paused
/// gives it up.
final class TransferQueue: Sendable {
    private struct Entry {
        weak var transfer: (any Transfer)?
    }

    private struct Waiter {
        let id: UInt64
        let continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var free: Int
        var waiting: [Waiter] = []
        /// Those that gave up before they waited.
        var abandoned: Set<UInt64> = []
        var entries: [UInt64: Entry] = [:]
        var last: UInt64 = 0
    }

    private let state: Mutex<State>

    init(limit: Int) {
        state = Mutex(State(free: max(1, limit)))
    }

    /// The transfers that are not over, oldest first.
    var all: [any Transfer] {
        state.withLock { $0.entries.sorted { $0.key < $1.key }.compactMap(\.value.transfer) }
    }

    /// A number for a transfer, or for one run of it.
    func makeID() -> UInt64 {
        state.withLock { state in
            state.last += 1
            return state.last
        }
    }

    func add(_ transfer: any Transfer) {
        state.withLock { $0.entries[transfer.id] = Entry(transfer: transfer) }
    }

    func remove(_ id: UInt64) {
        // What is released may be the last reference to a transfer, whose end comes back here.
        _ = state.withLock { $0.entries.removeValue(forKey: id) }
    }

    /// Runs something when it is its turn.
    ///
    /// - Parameter body: What runs; its place is free again when it ends.
    /// - Returns: What the body returns.
    /// - Throws: ``NetworkError`` with the code `cancelled` if the task is cancelled before its turn, or what the body throws.
    func withTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        let id = makeID()
        let hasTurn = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if state.abandoned.remove(id) != nil { return false }
                    guard state.free == 0 else {
                        state.free -= 1
                        return true
                    }
                    state.waiting.append(Waiter(id: id, continuation: continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            giveUp(id)
        }
        guard hasTurn else { throw NetworkError.cancelled(endpoint: nil) }
        defer {
            release()
            forget(id)
        }
        return try await body()
    }

    private func giveUp(_ id: UInt64) {
        let waiter: Waiter? = state.withLock { state in
            guard let index = state.waiting.firstIndex(where: { $0.id == id }) else {
                state.abandoned.insert(id)
                return nil
            }
            return state.waiting.remove(at: index)
        }
        waiter?.continuation.resume(returning: false)
    }

    /// A cancellation during the turn is the body's business.
    private func forget(_ id: UInt64) {
        _ = state.withLock { $0.abandoned.remove(id) }
    }

    private func release() {
        let next: Waiter? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.continuation.resume(returning: true)
    }
}
