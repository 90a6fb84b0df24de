import Synchronization

/// What is known of a transfer, for those who watch it and those who wait for its end.
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

    /// Tells how many octets there are, and will be.
    func move(to count: Int, of total: Int?) {
        let now = timeSource.now()
        change { state in
            state.rate.add(count, at: now)
            state.progress.completedBytes = count
            state.progress.totalBytes = total
            state.progress.bytesPerSecond = state.rate.bytesPerSecond
        }
    }

    /// Tells what the transfer is doing; nothing after its end.
    func enter(_ phase: TransferProgress.State) {
        change { state in
            guard state.outcome == nil else { return }
            state.progress.state = phase
            state.rate.reset()
            state.progress.bytesPerSecond = nil
        }
    }

    /// Begins anew after a failure or a cancellation; false if there was none.
    func restart() -> Bool {
        state.withLock { state in
            guard case .failure = state.outcome else { return false }
            state.outcome = nil
            state.progress = TransferProgress(state: .waiting)
            state.rate.reset()
            return true
        }
    }

    /// Ends the transfer: who waits is told, and the sequences of progress end.
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

    /// Waits for the end.
    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiters.append(continuation) }
                return state.outcome
            }
            if let outcome { continuation.resume(with: outcome) }
        }
    }

    /// The progress from now on, beginning with the current one.
    ///
    /// Who is slow misses some, and holds up nothing.
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
            // A watcher's buffer has room for one, so that this never waits.
            for watcher in state.watchers.values { watcher.yield(state.progress) }
        }
    }
}
