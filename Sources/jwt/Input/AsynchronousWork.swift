import Dispatch
import Synchronization

/// A bridge that runs asynchronous work and blocks until it completes.
enum AsynchronousWork {
    /// Runs an asynchronous closure and waits for its result.
    static func result<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
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
