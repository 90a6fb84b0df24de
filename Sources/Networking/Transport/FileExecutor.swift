import Dispatch

/// Runs what may keep a thread waiting for a disk.
///
/// A task that reads or writes one part after the other prefers such an executor for as long as it does: it stays on a thread that may wait,
/// where handing each part to such a thread, and the result back, would take longer than the disk's work.
final class FileExecutor: TaskExecutor {
    // Dispatch has as many threads as there are serial queues with work. Those of its global queues are as many as the processors: Swift's
    // tasks, which share them, would wait for the disk too.
    private let queue = DispatchQueue(label: "FileExecutor")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { [self] in unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Does work that may keep a thread waiting for a disk.
///
/// - Parameter work: What it does. Code of this module that it calls stays on such a thread, also after it has waited for something else.
/// - Returns: What the work returns.
/// - Throws: What the work throws.
func offloading<Value>(_ work: () async throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(FileExecutor(), isolation: nil, operation: work)
}
