/// A gate that holds responses back until a test opens it.
///
/// ```swift
/// let gate = ResponseGate()
/// server.on(.get, "/slow", .text("at last").gated(by: gate))
/// let call = Task { try await client.makeRequest(request) }
/// try await gate.waitForWaiters(count: 1)
/// gate.open()
/// ```
public final class ResponseGate: Sendable {
    private struct State: Sendable {
        var isOpen = false
        var waiting = 0
    }

    private let state = Watched(State())

    /// Creates a closed gate.
    public init() {}

    /// A Boolean value that indicates whether the gate is open.
    public var isOpen: Bool { state.read(\.isOpen) }

    /// The number of tasks that wait at the gate.
    package var waiterCount: Int { state.read(\.waiting) }

    /// Opens the gate for waiting and future tasks.
    public func open() {
        state.update { $0.isOpen = true }
    }

    /// Closes the gate for future tasks.
    public func close() {
        state.update { $0.isOpen = false }
    }

    /// Waits until the gate is open.
    ///
    /// - Throws: `CancellationError` at once when the task is canceled.
    public func wait() async throws {
        state.update { $0.waiting += 1 }
        defer { state.update { $0.waiting -= 1 } }
        try await state.wait { $0.isOpen }
    }

    /// Waits until at least the given number of tasks wait at the gate.
    ///
    /// - Parameter count: The number of tasks.
    /// - Throws: `CancellationError` at once when the task is canceled.
    public func waitForWaiters(count: Int) async throws {
        try await state.wait { $0.waiting >= count }
    }
}

/// A pause before a part of a response.
enum ResponsePause: Sendable {
    case delay(Duration)
    case gate(ResponseGate)
}
