internal import CProcess
import Dispatch
import Synchronization

/// A bridge that runs asynchronous work and blocks until it completes.
enum AsynchronousWork {
    /// The error of a process that can't run tasks.
    struct Unavailable: Error, CustomStringConvertible {
        var description: String { "requests need /proc, which isn't mounted; mount it as container engines do" }
    }

    /// Runs an asynchronous closure and waits for its result.
    static func result<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        guard cprocess_can_run_tasks() else { throw Unavailable() }
        let outcome = Outcome<Value>()
        let work = Task {
            do {
                let value = try await body()
                outcome.result.withLock { $0 = .success(value) }
            } catch {
                outcome.result.withLock { $0 = .failure(error) }
            }
        }
        // A task frees its values before others learn that it has ended. If it signaled the end
        // itself, the process could exit at the same time.
        Task {
            await work.value
            outcome.semaphore.signal()
        }
        while true {
            outcome.semaphore.wait()
            if let result = outcome.result.withLock({ $0.take() }) { return try result.get() }
        }
    }

    private final class Outcome<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>?>(nil)
        let semaphore = DispatchSemaphore(value: 0)
    }
}
