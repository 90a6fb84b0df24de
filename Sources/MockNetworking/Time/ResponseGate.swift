import Synchronization

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

    package var waiterCount: Int { state.read(\.waiting) }

    /// Opens the gate for waiting and future tasks.
    public func open() { state.update { $0.isOpen = true } }

    /// Closes the gate for future tasks.
    public func close() { state.update { $0.isOpen = false } }

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
    public func waitForWaiters(count: Int) async throws { try await state.wait { $0.waiting >= count } }
}

enum ResponsePause: Sendable {
    case delay(Duration)
    case gate(ResponseGate)
}

final class Script<Element: Sendable>: Sendable {
    private let elements: Mutex<[Element]>
    private let repeatsLast: Bool

    init(_ elements: [Element], repeatsLast: Bool) {
        // Reversed, so that removing the next element is cheap.
        self.elements = Mutex(elements.reversed())
        self.repeatsLast = repeatsLast
    }

    var count: Int { elements.withLock { $0.count } }

    func next() -> Element? {
        elements.withLock { elements in
            repeatsLast && elements.count == 1 ? elements.last : elements.popLast()
        }
    }

    func append(_ added: [Element]) { elements.withLock { $0.insert(contentsOf: added.reversed(), at: 0) } }
}

final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        let condition: @Sendable (Value) -> Bool
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var value: Value
        var waiters: [UInt64: Waiter] = [:]
        var nextWaiter: UInt64 = 0
    }

    private let state: Mutex<State>

    init(_ value: Value) { state = Mutex(State(value: value)) }

    var value: Value { state.withLock { $0.value } }
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// Reads from the value without copying it.
    func read<Result: Sendable>(_ body: (borrowing Value) -> Result) -> Result { state.withLock { body($0.value) } }

    /// Changes the value, then resumes the tasks whose condition holds.
    @discardableResult
    func update<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, ready) = state.withLock { state in
            let result = body(&state.value)
            // Most changes happen without any waiters.
            guard !state.waiters.isEmpty else { return (result, [Waiter]()) }
            let ready = state.waiters.filter { $0.value.condition(state.value) }
            for id in ready.keys { state.waiters[id] = nil }
            return (result, ready.sorted { $0.key < $1.key }.map(\.value))
        }
        for waiter in ready { waiter.continuation.resume() }
        return result
    }

    /// Waits until a condition holds; throws `CancellationError` at once if the task is canceled.
    func wait(until condition: @escaping @Sendable (Value) -> Bool) async throws {
        let id = nextID()
        try await withTaskCancellationHandler {
            try await enqueue(id, condition, ignoringCancellation: false)
        } onCancel: {
            let waiter = state.withLock { $0.waiters.removeValue(forKey: id) }
            waiter?.continuation.resume(throwing: CancellationError())
        }
    }

    /// Waits until a condition holds, even if the task is canceled.
    func waitUninterrupted(until condition: @escaping @Sendable (Value) -> Bool) async {
        // Cancellation never removes a waiter with this ID, so this never throws.
        try? await enqueue(nextID(), condition, ignoringCancellation: true)
    }

    private func nextID() -> UInt64 {
        state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
    }

    private func enqueue(
        _ id: UInt64,
        _ condition: @escaping @Sendable (Value) -> Bool,
        ignoringCancellation: Bool
    ) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            let outcome: Result<Void, any Error>? = state.withLock { state in
                // Checked under the lock: an earlier cancellation is detected here, and a later one
                // finds the waiter.
                if !ignoringCancellation, Task.isCancelled { return .failure(CancellationError()) }
                if condition(state.value) { return .success(()) }
                state.waiters[id] = Waiter(condition: condition, continuation: continuation)
                return nil
            }
            if let outcome { continuation.resume(with: outcome) }
        }
    }
}
