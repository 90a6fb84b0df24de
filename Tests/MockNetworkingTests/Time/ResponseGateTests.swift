import MockNetworking
import TestSupport
import Testing

@Suite(.limitedConcurrency) struct ResponseGateTests {
    @Test("An open gate admits waiting and future tasks until it closes")
    func openAndClose() async throws {
        let gate = ResponseGate()
        #expect(!gate.isOpen)
        let waiting = (0..<3).map { _ in Task { try await gate.wait() } }
        try await gate.waitForWaiters(count: 3)
        gate.open()
        for task in waiting { try await task.value }
        try await gate.wait()
        #expect(gate.isOpen)
        gate.close()
        let late = Task { try await gate.wait() }
        try await gate.waitForWaiters(count: 1)
        #expect(gate.waiterCount == 1)
        gate.open()
        try await late.value
        #expect(gate.waiterCount == 0)
    }

    @Test("Cancellation before or during a wait ends it at once")
    func cancellation() async throws {
        let gate = ResponseGate()
        let before = Task {
            while !Task.isCancelled { await Task.yield() }
            try await gate.wait()
        }
        before.cancel()
        await #expect(throws: CancellationError.self) { try await before.value }
        let meanwhile = Task { try await gate.wait() }
        try await gate.waitForWaiters(count: 1)
        meanwhile.cancel()
        await #expect(throws: CancellationError.self) { try await meanwhile.value }
        #expect(gate.waiterCount == 0)
    }
}
