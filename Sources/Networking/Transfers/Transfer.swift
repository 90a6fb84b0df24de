import OpenSSLCrypto
import Synchronization

/// A download or an upload of a client.
public protocol Transfer: AnyObject, Sendable {
    /// A number that's unique among the client's transfers and increases with each transfer.
    var id: UInt64 { get }
    /// The current progress.
    var currentProgress: TransferProgress { get }
    /// The current progress, then each update until the transfer ends.
    ///
    /// A slow reader gets the newest progress and misses those in between. The transfer never waits
    /// for it. For a transfer that has already ended, the stream has one element. The stream keeps
    /// the transfer alive.
    var progress: AsyncStream<TransferProgress> { get }
    /// Cancels the transfer, if it hasn't ended, and waits for its end.
    func cancel() async
}

extension NetworkClient {
    /// The waiting, running and paused downloads and uploads, oldest first.
    ///
    /// A transfer is listed as long as its handle exists. Without a handle, it has ended.
    public var transfers: [any Transfer] { transferQueue.all }
}

/// The progress of a transfer.
public struct TransferProgress: Sendable, Equatable {
    /// The state of a transfer; its raw value is a name that suits as a metric label.
    @nonexhaustive
    public enum State: String, Sendable {
        /// The transfer waits until fewer others are running.
        case waiting
        /// The transfer is running or waiting between two attempts.
        case running
        /// The transfer is paused until it's resumed.
        case paused
        /// The transfer has succeeded.
        case completed
        /// The transfer has failed.
        case failed
        /// The transfer was canceled.
        case cancelled

        package var isFinal: Bool { self == .completed || self == .failed || self == .cancelled }
    }

    /// The state of the transfer.
    public var state: State
    /// The number of bytes so far: on the disk for a download, including earlier runs; sent for an
    /// upload.
    ///
    /// It returns to 0 if the transfer starts over.
    public var completedBytes: Int
    /// The total number of bytes, or `nil` if it's unknown.
    public var totalBytes: Int?
    /// The recent transfer rate in bytes per second, or `nil` at the beginning and while no data
    /// moves.
    public var bytesPerSecond: Double?

    /// Creates a progress, for testing code that displays it.
    public init(
        state: State,
        completedBytes: Int = 0,
        totalBytes: Int? = nil,
        bytesPerSecond: Double? = nil
    ) {
        self.state = state
        self.completedBytes = completedBytes
        self.totalBytes = totalBytes
        self.bytesPerSecond = bytesPerSecond
    }

    /// The completed fraction from 0 to 1, and 1 for a completed transfer; `nil` if the total is
    /// unknown.
    public var fractionCompleted: Double? {
        if state == .completed { return 1 }
        guard let totalBytes else { return nil }
        return totalBytes > 0 ? min(1, Double(completedBytes) / Double(totalBytes)) : 0
    }

    /// The estimated remaining time at the current rate, or `nil` if the total or the rate is
    /// unknown.
    public var estimatedTimeRemaining: Duration? {
        guard let totalBytes, let bytesPerSecond, bytesPerSecond > 0 else { return nil }
        return Duration(
            clampingSeconds: min(max(0, Double(totalBytes) - Double(completedBytes)) / bytesPerSecond, 31_536_000)
        )
    }
}

struct TransferRate {
    /// The time constant of the average, in seconds.
    private static let memory = 3.0

    private var last: (time: ContinuousClock.Instant, count: Int)?
    private(set) var bytesPerSecond: Double?

    mutating func reset() {
        last = nil
        bytesPerSecond = nil
    }

    /// `count` is the number of bytes so far.
    mutating func add(_ count: Int, at time: ContinuousClock.Instant) {
        guard let last, count >= last.count else {
            reset()
            self.last = (time, count)
            return
        }
        let seconds = (time - last.time) / .seconds(1)
        // Shorter intervals are too inaccurate.
        guard seconds >= 0.1 else { return }
        let current = Double(count - last.count) / seconds
        let weight = min(1, seconds / Self.memory)
        bytesPerSecond = bytesPerSecond.map { $0 + (current - $0) * weight } ?? current
        self.last = (time, count)
    }
}

/// The state, the progress and the result of a transfer, separate from its handle, because the
/// running task must not keep the handle alive.
final class TransferCore<Value: Sendable>: Sendable {
    /// The state that the handle's owner requests.
    private enum Intent { case run, pause, cancel }

    private struct State {
        var intent = Intent.run
        var task: Task<Void, Never>?
        /// The current run was told to stop.
        var isStopped = false
        var progress = TransferProgress(state: .waiting)
        var rate = TransferRate()
        var resumeData: Download.ResumeData?
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

    /// A run ends early when its task is canceled.
    init(client: NetworkClient, run: @escaping @Sendable (TransferCore) async throws -> Value) {
        queue = client.transferQueue
        timeSource = client.options.timeSource
        self.run = run
        id = queue.makeID()
    }

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

    func end() async {
        cancel()
        _ = try? await value()
    }

    /// Has an effect after a failure or a cancellation only.
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
    // MARK: Progress and result

    var progress: TransferProgress { state.withLock(\.progress) }

    var resumeData: Download.ResumeData? {
        get { state.withLock(\.resumeData) }
        set { state.withLock { $0.resumeData = newValue } }
    }

    func noteTurn() {
        state.withLock { $0.enter(.running) }
    }

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

    /// Canceling the waiting task cancels the transfer.
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

    /// A slow reader misses updates but doesn't block the transfer.
    func updates(of handle: any Transfer) -> AsyncStream<TransferProgress> {
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
        continuation.onTermination = { [self] _ in
            _ = state.withLock { $0.watchers.removeValue(forKey: watcher) }
            // The stream keeps the handle alive.
            withExtendedLifetime(handle) {}
        }
        return stream
    }
}
