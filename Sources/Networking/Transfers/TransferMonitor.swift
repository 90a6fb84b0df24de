import Synchronization

/// The progress and the result of a transfer, for observers and awaiting tasks.
final class TransferMonitor<Value: Sendable>: Sendable {
    private struct State {
        var progress = TransferProgress(state: .waiting)
        var rate = TransferRate()
        var outcome: Result<Value, any Error>?
        var waiters: [CheckedContinuation<Value, any Error>] = []
        var watchers: [Int: AsyncStream<TransferProgress>.Continuation] = [:]
        var nextWatcher = 0
    }

    private let state = Mutex(State())
    private let timeSource: TimeSource

    init(timeSource: TimeSource) {
        self.timeSource = timeSource
    }

    var progress: TransferProgress { state.withLock(\.progress) }
    var isOver: Bool { state.withLock { $0.outcome != nil } }

    /// Updates the completed and the total number of bytes.
    func move(to count: Int, of total: Int?) {
        let now = timeSource.now()
        change { state in
            state.rate.add(count, at: now)
            state.progress.completedBytes = count
            state.progress.totalBytes = total
            state.progress.bytesPerSecond = state.rate.bytesPerSecond
        }
    }

    /// Changes the transfer's state, unless it has ended.
    func enter(_ phase: TransferProgress.State) {
        change { state in
            guard state.outcome == nil else { return }
            state.progress.state = phase
            state.rate.reset()
            state.progress.bytesPerSecond = nil
        }
    }

    /// Resets the transfer after a failure or a cancellation; returns `false` if there was neither.
    func restart() -> Bool {
        state.withLock { state in
            guard case .failure = state.outcome else { return false }
            state.outcome = nil
            state.progress = TransferProgress(state: .waiting)
            state.rate.reset()
            return true
        }
    }

    /// Ends the transfer, resumes the waiting tasks and finishes the progress sequences.
    func finish(_ outcome: Result<Value, any Error>) {
        let phase: TransferProgress.State =
            switch outcome {
            case .success: .completed
            case .failure(let error): (error as? NetworkError)?.code == .cancelled ? .cancelled : .failed
            }
        let (waiters, watchers, progress) = state.withLock { state in
            state.outcome = outcome
            state.progress.state = phase
            state.progress.bytesPerSecond = nil
            defer {
                state.waiters = []
                state.watchers = [:]
            }
            return (state.waiters, state.watchers.values.map { $0 }, state.progress)
        }
        for watcher in watchers {
            watcher.yield(progress)
            watcher.finish()
        }
        for waiter in waiters { waiter.resume(with: outcome) }
    }

    /// Waits for the result.
    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiters.append(continuation) }
                return state.outcome
            }
            if let outcome { continuation.resume(with: outcome) }
        }
    }

    /// Returns the progress from now on; a slow reader misses updates but doesn't block the
    /// transfer.
    func updates() -> AsyncStream<TransferProgress> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: TransferProgress.self,
            bufferingPolicy: .bufferingNewest(1)
        )
        let watcher: Int? = state.withLock { state in
            continuation.yield(state.progress)
            guard state.outcome == nil else { return nil }
            defer { state.nextWatcher += 1 }
            state.watchers[state.nextWatcher] = continuation
            return state.nextWatcher
        }
        guard let watcher else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.watchers.removeValue(forKey: watcher) }
        }
        return stream
    }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            // Yielding never waits, because each stream buffers only the newest element.
            for watcher in state.watchers.values { watcher.yield(state.progress) }
        }
    }
}
