import Foundation
import Glibc
import Synchronization
import TestSupport

/// An executor that runs all tasks of the process on one thread, one job at a time, and detects
/// when all of them wait.
///
/// A test with a manual clock must not advance it while a task still has work to do, or a slow
/// machine would look like a slow store. `Task.detached`, which the library uses, doesn't inherit
/// an executor from the caller's task. This executor therefore takes over the global executor's
/// jobs, through a hook of Swift's runtime. That affects the whole process, so use it only in exit
/// tests.
final class OneThreadExecutor: TaskExecutor {
    /// The closure hasn't ended, and all tasks are suspended for good.
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
        precondition(isTaken, "the executor runs only while its closure does")
    }

    /// Runs a closure, and every task that it starts, on a dedicated thread.
    ///
    /// - Parameters:
    ///   - seed: The seed for the order of runnable tasks; the global executor guarantees no order
    ///     either.
    ///   - body: The closure.
    ///   - goOn: A closure that is called on that thread whenever all tasks wait. It resumes one,
    ///     for example by advancing a clock, and returns `true`. It returns `false` if there is
    ///     nothing left to wait for.
    /// - Returns: The closure's result, once `goOn` has returned `false`.
    /// - Throws: Any error of the closure; ``Standstill`` if it hasn't ended by then.
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

    /// Blocks the thread until there is a job, for use in `goOn` while another thread works for a
    /// task.
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

    /// Leaves future jobs to the global executor, unless a job has arrived meanwhile.
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
