import Synchronization

/// The background operations of a client that renew stored responses.
///
/// There is at most one for each response, and a limited number in total. They're cancelled when
/// the client is released.
final class Renewals: Sendable {
    private static let maximumCount = 8

    private let tasks = Mutex<[String: Task<Void, Never>]>([:])

    deinit {
        for task in tasks.withLock({ $0.values }) { task.cancel() }
    }

    /// Starts a renewal unless one is running for the same response, or too many are running.
    ///
    /// Its errors are dropped, because no caller waits for the response.
    func start(_ name: String, _ work: @escaping @Sendable () async throws -> Void) {
        tasks.withLock { tasks in
            guard tasks[name] == nil, tasks.count < Self.maximumCount else { return }
            // The task can't end before it's in the table, because its end takes the lock.
            tasks[name] = Task.detached { [weak self] in
                try? await work()
                self?.tasks.withLock { $0[name] = nil }
            }
        }
    }
}
