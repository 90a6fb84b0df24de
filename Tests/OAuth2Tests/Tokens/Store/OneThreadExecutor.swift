import Foundation
import Glibc
import Synchronization

/// An executor that runs all tasks of the process on one thread, one job at a time, and knows when all of them wait.
///
/// A test that moves the clock by hand must not move it while a task still has something to do: a slow machine would look like
/// a slow store. `Task.detached`, which the library uses, inherits no executor from the caller's task. So this one takes the
/// jobs of the global executor, through the hook that Swift's runtime has for it. That affects the whole process: use it in
/// exit tests only.
final class OneThreadExecutor: TaskExecutor {
    /// The body has not ended, and no task can go on.
    struct Standstill: Error {}

    private typealias Enqueue = @convention(thin) (UnownedJob) -> Void
    private typealias Hook = @convention(thin) (UnownedJob, Enqueue) -> Void

    static let shared = OneThreadExecutor()

    private let state = Mutex((isRunning: false, jobs: [UnownedJob]()))
    /// Counts the jobs.
    private let arrivals = DispatchSemaphore(value: 0)

    private init() {
        guard let address = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook") else {
            preconditionFailure("Swift's runtime has no hook for the global executor")
        }
        unsafe address.assumingMemoryBound(to: Hook?.self).pointee = { job, enqueue in
            if !OneThreadExecutor.shared.take(job) { enqueue(job) }
        }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let isTaken = take(UnownedJob(job))
        precondition(isTaken, "the executor runs only while its body does")
    }

    /// Runs a body, and every task that comes of it, on a thread of their own.
    ///
    /// - Parameters:
    ///   - seed: Decides which of the tasks that can go on is the next: the global executor promises no order either.
    ///   - body: The body.
    ///   - goOn: Called on that thread whenever all tasks wait. Resumes one, for example by moving a clock, and returns `true`;
    ///     or returns `false` if nothing is left to wait for.
    /// - Returns: The result of the body, once `goOn` has returned `false`.
    /// - Throws: The error of the body; ``Standstill`` if it has not ended by then.
    func run<Value: Sendable>(
        seed: Int,
        _ body: @escaping @Sendable () async throws -> Value,
        whenAllWait goOn: @escaping @Sendable () -> Bool
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try self.runOnThisThread(seed: seed, body, goOn) })
            }
        }
    }

    /// Blocks the thread until there is a job: for `goOn`, while another thread works for a task.
    func waitForJob() {
        arrivals.wait()
        arrivals.signal()
    }

    private func runOnThisThread<Value: Sendable>(
        seed: Int,
        _ body: @escaping @Sendable () async throws -> Value,
        _ goOn: () -> Bool
    ) throws -> Value {
        state.withLock { $0.isRunning = true }
        let outcome = Outcome<Value>()
        Task {
            do { outcome.set(.success(try await body())) } catch { outcome.set(.failure(error)) }
        }
        var order = SplitMix(state: UInt64(seed))
        repeat {
            while arrivals.wait(timeout: .now()) == .success {
                let job = state.withLock { $0.jobs.remove(at: order.number(upTo: $0.jobs.count)) }
                unsafe job.runSynchronously(on: asUnownedTaskExecutor())
            }
        } while goOn() || !stop()
        guard let result = outcome.result else { throw Standstill() }
        return try result.get()
    }

    private func take(_ job: UnownedJob) -> Bool {
        let isTaken = state.withLock { state in
            if state.isRunning { state.jobs.append(job) }
            return state.isRunning
        }
        if isTaken { arrivals.signal() }
        return isTaken
    }

    /// Leaves the jobs that come from now on to the global executor, unless one has come meanwhile.
    private func stop() -> Bool {
        state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return !state.isRunning
        }
    }

    private final class Outcome<Value: Sendable>: Sendable {
        private let state = Mutex<Result<Value, any Error>?>(nil)

        var result: Result<Value, any Error>? { state.withLock { $0 } }

        func set(_ result: Result<Value, any Error>) { state.withLock { $0 = result } }
    }
}
