import Foundation

package enum BlockingWork {
    /// Runs blocking work off the small thread pool of Swift's tasks.
    package static func value<Value: Sendable>(
        of work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        // The result goes through a lock, because ThreadSanitizer sees no ordering in a
        // continuation that is resumed before it's awaited.
        let outcome = SharedValue<Result<Value, any Error>>(.failure(CancellationError()))
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                outcome.replace(with: Result { try work() })
                continuation.resume()
            }
        }
        return try outcome.value.get()
    }
}
