import Foundation
import Synchronization

/// One piece of work whose result many callers wait for.
///
/// The work runs in a task of its own: it goes on when callers stop waiting, and no caller's cancellation or priority
/// reaches it. A caller that is cancelled, or whose time is up, stops waiting at once. Awaiting the value of a shared
/// `Task` would do neither: a cancelled waiter stays blocked until the task ends.
package final class SharedTask<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiters: [Int: CheckedContinuation<Value, any Error>] = [:]
        /// Why waiters stopped waiting before they had a continuation.
        var abandoned: [Int: any Error] = [:]
        var nextWaiter = 0
    }

    private let state = Mutex(State())
    private let timeSource: TimeSource

    /// Starts the work.
    ///
    /// - Parameters:
    ///   - timeout: How long the work may take; when it is over the work is cancelled and fails with `timedOut`. `nil`
    ///     for work that has its own limits.
    ///   - timeSource: Where time comes from.
    ///   - timeoutCause: Returns the reason for the timeout, if it is known; called before the work is cancelled.
    ///   - work: The work. It may finish after its timeout; its result is then dropped.
    package init(
        timeout: Duration?,
        timeSource: TimeSource,
        timeoutCause: (@Sendable () -> (any Error)?)? = nil,
        _ work: @escaping @Sendable () async throws -> Value
    ) {
        self.timeSource = timeSource
        // Detached: a task-local value or the priority of whoever came first is not the others' business.
        let working = Task.detached { [self] in
            do { finish(.success(try await work())) } catch { finish(.failure(error)) }
        }
        guard let timeout else { return }
        let timer = Task.detached { [self] in
            do { try await timeSource.sleep(timeout) } catch { return }
            let message = "the shared work did not end within \(timeout)"
            if let cause = timeoutCause?() {
                finish(.failure(NetworkError(.timedOut, message, cause: cause)))
            } else {
                finish(.failure(NetworkError(.credential, .preparing, message)))
            }
            working.cancel()
        }
        Task.detached {
            await working.value
            timer.cancel()
        }
    }

    /// Whether there is a result; nobody should join a shared task that is over.
    package var isOver: Bool { state.withLock { $0.result != nil } }

    /// Waits for the result.
    ///
    /// - Parameter deadline: When to stop waiting.
    /// - Returns: The result of the work.
    /// - Throws: What the work threw; `CancellationError` if the caller was cancelled; ``NetworkError`` with the code
    ///   `timedOut` at the deadline.
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
                    with: NetworkError(.operation, .preparing, "the operation's time was up before its credential came")
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

    /// Ends the waiting of everyone with an error; the work goes on, and its result is dropped.
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
