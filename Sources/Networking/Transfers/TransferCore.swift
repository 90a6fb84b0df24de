import Synchronization

/// The state of a transfer, separate from its handle, because the running task must not keep the
/// handle alive.
final class TransferCore<Value: Sendable>: Sendable {
    /// The state that the handle's owner requests.
    private enum Intent { case run, pause, cancel }

    private struct State {
        var intent = Intent.run
        var task: Task<Void, Never>?
        /// A Boolean value that indicates whether the current run was told to stop.
        var isStopped = false
    }

    let id: UInt64
    let monitor: TransferMonitor<Value>
    private let queue: TransferQueue
    private let run: @Sendable (TransferMonitor<Value>) async throws -> Value
    private let state = Mutex(State())

    /// Creates a transfer; a run ends early when its task is canceled.
    init(client: NetworkClient, run: @escaping @Sendable (TransferMonitor<Value>) async throws -> Value) {
        queue = client.transferQueue
        self.run = run
        id = queue.makeID()
        monitor = TransferMonitor(timeSource: client.options.timeSource)
    }

    /// Begins the transfer, and adds its handle to the client's list.
    func start(_ handle: any Transfer) {
        queue.add(handle)
        state.withLock { begin(&$0) }
    }

    /// Waits for the result; canceling the waiting task cancels the transfer.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await monitor.value()
        } onCancel: {
            cancel()
        }
    }

    /// Returns the progress; the sequence keeps the handle alive while it's being read.
    func updates(of handle: any Transfer) -> TransferUpdates {
        TransferUpdates(owner: handle) { [monitor] in monitor.updates() }
    }

    func pause() {
        state.withLock { state in
            guard state.intent == .run, state.task != nil else { return }
            state.intent = .pause
            state.isStopped = true
            state.task?.cancel()
        }
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
        let isPaused = state.withLock { state in
            guard state.intent != .cancel else { return false }
            let isPaused = state.intent == .pause && state.task == nil
            state.intent = .cancel
            state.isStopped = true
            state.task?.cancel()
            return isPaused
        }
        // A paused transfer has no run whose end would finish it.
        if isPaused { finish(.failure(NetworkError.cancelled(endpoint: nil))) }
    }

    /// Cancels the transfer, and waits until it has ended.
    func end() async {
        cancel()
        _ = try? await monitor.value()
    }

    /// Restarts the transfer after a failure or a cancellation; returns `false` if there was
    /// neither.
    func restart(_ handle: any Transfer) -> Bool {
        state.withLock { state in
            guard state.task == nil, monitor.restart() else { return false }
            state.intent = .run
            queue.add(handle)
            begin(&state)
            return true
        }
    }

    private func begin(_ state: inout State) {
        state.isStopped = false
        monitor.enter(.waiting)
        state.task = Task.detached { [self] in
            let result: Result<Value, any Error>
            do { result = .success(try await run(monitor)) } catch { result = .failure(error) }
            end(result)
        }
    }

    private func end(_ result: Result<Value, any Error>) {
        let isOver = state.withLock { state in
            state.task = nil
            guard case .failure = result else { return true }
            switch state.intent {
            case .cancel: return true
            case .pause: monitor.enter(.paused)
            case .run:
                guard state.isStopped else { return true }
                begin(&state)
            }
            return false
        }
        if isOver { finish(result) }
    }

    private func finish(_ result: Result<Value, any Error>) {
        queue.remove(id)
        monitor.finish(result)
    }
}
