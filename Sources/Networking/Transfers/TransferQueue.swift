import Synchronization

/// The transfers of a client, and the limit on how many run at once.
///
/// Transfers run in the order of their creation. A transfer that waits between two attempts or for
/// a slow server keeps its turn. A paused transfer gives it up.
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
        var entries: [UInt64: Entry] = [:]
        var last: UInt64 = 0
    }

    private let state: Mutex<State>

    init(limit: Int) {
        state = Mutex(State(free: max(1, limit)))
    }

    var all: [any Transfer] {
        state.withLock { $0.entries.sorted { $0.key < $1.key }.compactMap(\.value.transfer) }
    }

    /// An identifier of a transfer or one run of it.
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
        // The entry may have the last reference to a transfer, whose end calls this method again.
        // So release it outside the lock.
        _ = state.withLock { $0.entries.removeValue(forKey: id) }
    }

    /// The end of the closure ends the turn; throws `CancellationError` if the task is canceled
    /// before its turn.
    func withTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        let id = makeID()
        let hasTurn = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    // A later cancellation finds the waiter.
                    guard !Task.isCancelled else { return false }
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
        guard hasTurn else { throw CancellationError() }
        defer { release() }
        return try await body()
    }

    private func giveUp(_ id: UInt64) {
        let waiter = state.withLock { state in
            state.waiting.firstIndex { $0.id == id }.map { state.waiting.remove(at: $0) }
        }
        waiter?.continuation.resume(returning: false)
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
