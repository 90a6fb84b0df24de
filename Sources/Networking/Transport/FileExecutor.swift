import Dispatch

/// An executor for work that may block on disk I/O.
///
/// A task that reads or writes a file part by part prefers this executor throughout. Handing each
/// part to another thread, and the result back, would take longer than the disk access.
final class FileExecutor: TaskExecutor {
    // Dispatch runs one thread per serial queue with work, but only as many threads per global
    // queue as there are processors. Blocking those would stall Swift's tasks, which share them.
    private let queue = DispatchQueue(label: "FileExecutor")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Runs work that may block on disk I/O.
///
/// Code of this module that it calls stays on the executor's thread, even after a suspension.
func offloading<Value>(_ work: () async throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(FileExecutor(), isolation: nil, operation: work)
}
