import Synchronization

/// What a transfer is doing, apart from its handle: the task that runs must not keep the handle alive.
final class TransferCore<Value: Sendable>: Sendable {
    /// What the owner of the handle wants.
    private enum Intent { case run, pause, cancel }

    private struct State {
        var intent = Intent.run
        var task: Task<Void, Never>?
        /// Whether the current run was told to stop.
        var isStopped = false
    }

    let id: UInt64
    let monitor: TransferMonitor<Value>
    private let queue: TransferQueue
    private let run: @Sendable (TransferMonitor<Value>) async throws -> Value
    private let state = Mutex(State())

    /// Makes a transfer that ``start()`` begins.
    ///
    /// - Parameters:
    ///   - client: Whose transfer it is.
    ///   - run: One run, which ends early when its task is cancelled.
    init(client: NetworkClient, run: @escaping @Sendable (TransferMonitor<Value>) async throws -> Value) {
        queue = client.transferQueue
        self.run = run
        id = queue.makeID()
        monitor = TransferMonitor(timeSource: client.options.timeSource)
    }

    /// Begins, and lets the client list the transfer under its handle.
    func start(_ handle: any Transfer) {
        queue.add(handle)
        state.withLock { begin(&$0) }
    }

    /// Waits for the end; if the task that waits is cancelled, so is the transfer.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await monitor.value()
        } onCancel: {
            cancel()
        }
    }

    /// The progress, which keeps the handle for as long as it is watched.
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
            // A run that is still stopping is followed by the next one when it has stopped.
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
        // Of what is paused there is no run that could end.
        if isPaused { finish(.failure(NetworkError.cancelled(endpoint: nil))) }
    }

    /// Ends the transfer, and waits until it has ended.
    func end() async {
        cancel()
        _ = try? await monitor.value()
    }

    /// Begins anew after a failure or a cancellation; false if there was none.
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
