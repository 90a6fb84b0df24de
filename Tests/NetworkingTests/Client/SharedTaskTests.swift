import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("SharedTask", .limitedConcurrency)
struct SharedTaskTests {
    private let time = ManualTime()

    @Test("All waiters get the result of the same work")
    func sharing() async throws {
        let (log, gate) = (EventLog(), ResponseGate())
        let task = SharedTask(timeout: .seconds(30), timeSource: time.timeSource) {
            log.append("work")
            try await gate.wait()
            return 42
        }
        let waiters = (0..<100).map { _ in Task { try await task.value() } }
        try await gate.waitForWaiters(count: 1)
        #expect(!task.isOver)
        gate.open()
        for waiter in waiters { #expect(try await waiter.value == 42) }
        #expect(try await task.value() == 42)
        #expect(task.isOver)
        #expect(log.all == ["work"])
    }

    @Test("All waiters get the error of the same work")
    func failing() async throws {
        struct Failure: Error {}
        let task = SharedTask<Int>(timeout: .seconds(30), timeSource: time.timeSource) { throw Failure() }
        await #expect(throws: Failure.self) { try await task.value() }
        await #expect(throws: Failure.self) { try await task.value() }
    }

    @Test("A cancelled waiter leaves at once; the work and the other waiters continue")
    func cancelling() async throws {
        let gate = ResponseGate()
        let task = SharedTask(timeout: .seconds(30), timeSource: time.timeSource) {
            try await gate.wait()
            return 42
        }
        let (leaving, staying) = (Task { try await task.value() }, Task { try await task.value() })
        try await gate.waitForWaiters(count: 1)
        leaving.cancel()
        await #expect(throws: CancellationError.self) { try await leaving.value }
        #expect(!task.isOver)
        gate.open()
        #expect(try await staying.value == 42)
    }

    @Test("A waiter that is already cancelled doesn't wait")
    func cancelledBefore() async throws {
        let gate = ResponseGate()
        let task = SharedTask(timeout: .seconds(30), timeSource: time.timeSource) { try await gate.wait() }
        let waiter = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await task.value()
        }
        await #expect(throws: CancellationError.self) { try await waiter.value }
        gate.open()
        try await task.value()
    }

    @Test("A waiter leaves at its deadline; the work continues")
    func deadline() async throws {
        let gate = ResponseGate()
        let task = SharedTask(timeout: .seconds(30), timeSource: time.timeSource) { try await gate.wait() }
        let waiter = Task { [time] in try await task.value(until: time.now + .seconds(1)) }
        try await time.waitForSleepers(count: 2)
        time.advance(by: .seconds(1))
        await #expect(throws: NetworkError(.timedOut, "")) { try await waiter.value }
        #expect(!task.isOver)
        gate.open()
        try await task.value()
    }

    @Test("Cancels work at its timeout")
    func timeout() async throws {
        let (gate, log) = (ResponseGate(), EventLog())
        let task = SharedTask(timeout: .seconds(30), timeSource: time.timeSource) {
            do { try await gate.wait() } catch {
                log.append("cancelled")
                throw error
            }
        }
        let waiter = Task { try await task.value() }
        try await time.waitForSleepers(count: 1)
        try await gate.waitForWaiters(count: 1)
        time.advance(by: .seconds(30))
        await #expect(throws: NetworkError(.timedOut, "")) { try await waiter.value }
        #expect(task.isOver)
        while log.all.isEmpty { await Task.yield() }
    }
}
