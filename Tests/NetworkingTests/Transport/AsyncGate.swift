import Dispatch

/// A gate at which a peer's thread waits for a test.
///
/// Each opening lets one waiter pass.
struct AsyncGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Lets one waiter pass, now or later.
    func open() { semaphore.signal() }

    /// Blocks the thread, for less than the time limit of a test: a gate that opened by itself on a
    /// busy machine would fail the test for no reason.
    ///
    /// Call this in a peer's script.
    func waitBlocking() { _ = semaphore.wait(timeout: .now() + 240) }
}
