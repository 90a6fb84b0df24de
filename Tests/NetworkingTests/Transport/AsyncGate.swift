import Dispatch

/// Lets a peer's thread wait for a test: each opening lets one waiter pass.
struct AsyncGate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)

    /// Lets one waiter pass, now or later.
    func open() { semaphore.signal() }

    /// Blocks the thread; for a peer's script.
    func waitBlocking() { _ = semaphore.wait(timeout: .now() + 20) }
}
