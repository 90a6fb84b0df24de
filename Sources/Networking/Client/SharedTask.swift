import Foundation
import Synchronization

/// An asynchronous operation whose result many callers await.
///
/// The work runs in its own task. It continues when callers stop waiting, and isn't affected by
/// their cancellation or priority. A caller that is cancelled or reaches its deadline stops waiting
/// at once. A waiter for a plain `Task` would stay blocked until that task ends.
package final class SharedTask<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
        /// The errors of waiters that stopped waiting before they had a continuation.
        var abandoned: [Int: any Error] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let timeSource: TimeSource

    /// Starts the work.
    ///
    /// - Parameters:
    ///   - timeout: The maximum duration of the work. Afterwards the work is cancelled and fails
    ///     with `timedOut`. Pass `nil` for work that has its own limits.
    ///   - timeSource: The clocks.
    ///   - timeoutError: Returns the error to throw for a timeout, before the cancellation.
    ///   - work: The work. A result after the timeout is dropped.
    package init(
        timeout: Duration?,
        timeSource: TimeSource,
        timeoutError: @escaping @Sendable (NetworkError) -> any Error = { $0 },
        _ work: @escaping @Sendable () async throws -> Value
    ) {
        self.timeSource = timeSource
        // Detached from the first caller's task-local values and priority.
        let working = Task.detached { [self] in
            do { finish(.success(try await work())) } catch { finish(.failure(error)) }
        }
        guard let timeout else { return }
        let timer = Task.detached { [self] in
            do { try await timeSource.sleep(timeout) } catch { return }
            let message = "the shared work didn't finish within \(timeout)"
            finish(.failure(timeoutError(NetworkError(.credential, .preparing, message))))
            working.cancel()
        }
        Task.detached {
            await working.value
            timer.cancel()
        }
    }

    /// A Boolean value that indicates whether the work has ended; don't join a task that is over.
    package var isOver: Bool { state.withLock { $0.result != nil } }

    /// Waits for the result.
    ///
    /// - Parameter deadline: The time at which the caller stops waiting.
    /// - Returns: The result of the work.
    /// - Throws: What the work threw; `CancellationError` if the caller was cancelled;
    ///   ``NetworkError`` with the code `timedOut` at the deadline.
    package func value(until deadline: ContinuousClock.Instant? = nil) async throws -> Value {
        let waiter = state.withLock { state in
            defer { state.nextWaiter += 1 }
            return state.nextWaiter
        }
        let timer = deadline.map { deadline in
            Task {
                do { try await timeSource.sleep(deadline - timeSource.now()) } catch { return }
                release(
                    waiter,
                    with: NetworkError(.operation, .preparing, "the operation timed out before its credential arrived")
                )
            }
        }
        defer { timer?.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result: Result<Value, any Error>? = state.withLock { state in
                    if let error = state.abandoned.removeValue(forKey: waiter) { return .failure(error) }
                    if state.result == nil { state.waiters[waiter] = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            release(waiter, with: CancellationError())
        }
    }

    /// Fails all waiters with an error; the work continues, and its result is dropped.
    package func abandon(with error: any Error) {
        finish(.failure(error))
    }

    private func release(_ waiter: Int, with error: any Error) {
        let continuation = state.withLock { state in
            let continuation = state.waiters.removeValue(forKey: waiter)
            if continuation == nil, state.result == nil { state.abandoned[waiter] = error }
            return continuation
        }
        continuation?.resume(throwing: error)
    }

    private func finish(_ result: Result<Value, any Error>) {
        let waiters = state.withLock { state in
            guard state.result == nil else { return [CheckedContinuation<Value, any Error>]() }
            state.result = result
            defer {
                state.waiters = [:]
                state.abandoned = [:]
            }
            return Array(state.waiters.values)
        }
        for waiter in waiters { waiter.resume(with: result) }
    }
}
