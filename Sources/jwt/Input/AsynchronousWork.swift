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
    ///
    /// - Throws: The closure's error, or ``Unavailable``.
    static func result<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        guard cprocess_can_run_tasks() else { throw Unavailable() }
        let outcome = Outcome<Value>()
        let work = Task {
            do {
                outcome.set(.success(try await body()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        // A task frees its values before others learn that it has ended. If it signaled the end
        // itself, the process could exit at the same time.
        Task {
            await work.value
            outcome.signal()
        }
        return try outcome.wait()
    }

    private final class Outcome<Value: Sendable>: Sendable {
        private let result = Mutex<Result<Value, any Error>?>(nil)
        private let semaphore = DispatchSemaphore(value: 0)

        func set(_ result: Result<Value, any Error>) {
            self.result.withLock { $0 = result }
        }

        func signal() { semaphore.signal() }

        func wait() throws -> Value {
            while true {
                semaphore.wait()
                if let result = result.withLock({ $0.take() }) { return try result.get() }
            }
        }
    }
}
