import Synchronization

/// The state, the progress and the result of a transfer, separate from its handle, because the
/// running task must not keep the handle alive.
final class TransferCore<Value: Sendable>: Sendable {
    /// The state that the handle's owner requests.
    private enum Intent { case run, pause, cancel }

    private struct State {
        var intent = Intent.run
        var task: Task<Void, Never>?
        /// A Boolean value that indicates whether the current run was told to stop.
        var isStopped = false
        var progress = TransferProgress(state: .waiting)
        var rate = TransferRate()
        var outcome: Result<Value, any Error>?
        var waiters: [CheckedContinuation<Value, any Error>] = []
        var watchers: [Int: AsyncStream<TransferProgress>.Continuation] = [:]
        var nextWatcher = 0

        mutating func enter(_ phase: TransferProgress.State) {
            progress.state = phase
            progress.bytesPerSecond = nil
            rate.reset()
            report()
        }

        /// Yielding never waits, because each stream buffers only the newest element.
        func report() {
            for watcher in watchers.values { watcher.yield(progress) }
        }
    }

    let id: UInt64
    private let queue: TransferQueue
    private let timeSource: TimeSource
    private let run: @Sendable (TransferCore) async throws -> Value
    private let state = Mutex(State())

    /// Creates a transfer; a run ends early when its task is canceled.
    init(client: NetworkClient, run: @escaping @Sendable (TransferCore) async throws -> Value) {
        queue = client.transferQueue
        timeSource = client.options.timeSource
        self.run = run
        id = queue.makeID()
    }

    /// Begins the transfer, and adds its handle to the client's list.
    func start(_ handle: any Transfer) {
        queue.add(handle)
        state.withLock { begin(&$0) }
    }

    func pause() {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard state.intent == .run, state.task != nil else { return nil }
            state.intent = .pause
            state.isStopped = true
            return state.task
        }
        // Outside the lock, because cancellation handlers can read the progress.
        task?.cancel()
    }

    func resume() {
        state.withLock { state in
            guard state.intent == .pause else { return }
            state.intent = .run
            // If the previous run is still stopping, the next one begins when it has stopped.
            if state.task == nil { begin(&state) }
        }
    }

    func cancel() {
        let (task, isPaused) = state.withLock { state -> (Task<Void, Never>?, Bool) in
            guard state.intent != .cancel else { return (nil, false) }
            let isPaused = state.intent == .pause && state.task == nil
            state.intent = .cancel
            state.isStopped = true
            return (state.task, isPaused)
        }
        task?.cancel()
        // A paused transfer has no run whose end would finish it.
        if isPaused { finish(.failure(CancellationError())) }
    }

    /// Cancels the transfer, and waits until it has ended.
    func end() async {
        cancel()
        _ = try? await value()
    }

    /// Restarts the transfer after a failure or a cancellation.
    func restart(_ handle: any Transfer) {
        state.withLock { state in
            guard state.task == nil, case .failure = state.outcome else { return }
            state.outcome = nil
            state.progress = TransferProgress(state: .waiting)
            state.intent = .run
            queue.add(handle)
            begin(&state)
        }
    }

    private func begin(_ state: inout State) {
        state.isStopped = false
        state.enter(.waiting)
        state.task = Task.detached { [self] in
            let result: Result<Value, any Error>
            do { result = .success(try await run(self)) } catch { result = .failure(error) }
            end(result)
        }
    }

    private func end(_ result: Result<Value, any Error>) {
        let outcome: Result<Value, any Error>? = state.withLock { state in
            state.task = nil
            guard case .failure = result else {
                // A pause or cancellation came too late.
                state.intent = .run
                return result
            }
            switch state.intent {
            case .cancel: return .failure(CancellationError())
            case .pause: state.enter(.paused)
            case .run:
                guard state.isStopped else { return result }
                begin(&state)
            }
            return nil
        }
        if let outcome { finish(outcome) }
    }

    /// Ends the transfer, resumes the waiting tasks and finishes the progress sequences.
    private func finish(_ outcome: Result<Value, any Error>) {
        queue.remove(id)
        let phase: TransferProgress.State =
            switch outcome {
            case .success: .completed
            case .failure(let error): error is CancellationError ? .cancelled : .failed
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
}

// MARK: Progress and result
extension TransferCore {
    var progress: TransferProgress { state.withLock(\.progress) }

    /// Notes that the run has its turn.
    func noteTurn() {
        state.withLock { $0.enter(.running) }
    }

    /// Updates the completed and the total number of bytes.
    func move(to count: Int, of total: Int?) {
        let now = timeSource.now()
        state.withLock { state in
            state.rate.add(count, at: now)
            state.progress.completedBytes = count
            state.progress.totalBytes = total
            state.progress.bytesPerSecond = state.rate.bytesPerSecond
            state.report()
        }
    }

    /// Waits for the result; canceling the waiting task cancels the transfer.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome = state.withLock { state in
                    if state.outcome == nil { state.waiters.append(continuation) }
                    return state.outcome
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            cancel()
        }
    }

    /// Returns the progress; the sequence keeps the handle alive while it's being read.
    func updates(of handle: any Transfer) -> TransferUpdates {
        TransferUpdates(owner: handle) { [self] in updates() }
    }

    /// Returns the progress from now on; a slow reader misses updates but doesn't block the
    /// transfer.
    private func updates() -> AsyncStream<TransferProgress> {
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
}
