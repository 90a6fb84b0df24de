import Dispatch

/// A gate at which a peer's thread waits for a test.
///
/// Each opening lets one waiter pass.
struct AsyncGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Lets one waiter pass, now or later.
    func open() { semaphore.signal() }

    /// Blocks the thread.
    ///
    /// Call this in a peer's script.
    func waitBlocking() { _ = semaphore.wait(timeout: .now() + 20) }
}
