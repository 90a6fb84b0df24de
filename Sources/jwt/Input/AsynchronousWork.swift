import Dispatch
import Synchronization

/// Work that goes on elsewhere, for which a command waits because it has nothing else to do.
enum AsynchronousWork {
    /// Waits for an asynchronous function.
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

    /// What an asynchronous function led to.
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
