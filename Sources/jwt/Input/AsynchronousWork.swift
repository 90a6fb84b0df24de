import Dispatch
import Synchronization

/// A bridge that runs asynchronous work and blocks until it completes.
enum AsynchronousWork {
    /// Runs an asynchronous closure and waits for its result.
    static func result<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) throws -> Value {
        let outcome = Outcome<Value>()
        Task {
            do {
                outcome.set(.success(try await body()))
            } catch {
                outcome.set(.failure(error))
            }
        }
        return try outcome.wait()
    }

    private final class Outcome<Value: Sendable>: Sendable {
        private let result = Mutex<Result<Value, any Error>?>(nil)
        private let semaphore = DispatchSemaphore(value: 0)

        func set(_ result: Result<Value, any Error>) {
            self.result.withLock { $0 = result }
            semaphore.signal()
        }

        func wait() throws -> Value {
            while true {
                semaphore.wait()
                if let result = result.withLock({ $0 }) { return try result.get() }
            }
        }
    }
}
