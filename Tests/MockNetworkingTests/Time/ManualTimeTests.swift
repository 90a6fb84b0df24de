import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite(.limitedConcurrency, .tags(.concurrency)) struct ManualTimeTests {
    @Test("Time stands still until a test advances both clocks together")
    func standsStill() {
        let time = ManualTime(date: Date(timeIntervalSince1970: 100))
        let source = time.timeSource
        let start = source.now()
        #expect(source.now() == start)
        #expect(source.date() == Date(timeIntervalSince1970: 100))
        time.advance(by: .milliseconds(1500))
        #expect(source.now() - start == .milliseconds(1500))
        #expect(source.date() == Date(timeIntervalSince1970: 101.5))
        time.advance(by: .seconds(-5))
        #expect(source.now() - start == .milliseconds(1500))
        time.setDate(Date(timeIntervalSince1970: 5))
        #expect(source.date() == Date(timeIntervalSince1970: 5))
        #expect(source.now() - start == .milliseconds(1500))
    }

    @Test("Sleepers wake when they are due, the earliest first")
    func order() async throws {
        let time = ManualTime()
        let woken = Log<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (count, seconds) in [30, 10, 20, 10].enumerated() {
                group.addTask {
                    try await time.sleep(for: .seconds(seconds))
                    woken.note(seconds)
                }
                try await time.waitForSleepers(count: count + 1)
            }
            #expect(time.sleeps == [.seconds(30), .seconds(10), .seconds(20), .seconds(10)])
            time.advance(by: .milliseconds(9999))
            #expect(time.sleeperCount == 4)
            time.advance(by: .milliseconds(1))
            #expect(time.sleeperCount == 2)
            try await group.next()
            try await group.next()
            #expect(woken.entries == [10, 10])
            #expect(time.advanceToNextSleeper() == .seconds(10))
            try await group.next()
            #expect(woken.entries == [10, 10, 20])
            #expect(time.advanceToNextSleeper() == .seconds(10))
            try await group.next()
            #expect(time.advanceToNextSleeper() == nil)
            #expect(woken.entries == [10, 10, 20, 30])
        }
    }

    @Test("A second sleep is relative to the new time")
    func sleepsAgain() async throws {
        let time = ManualTime()
        let start = time.now
        let sleeping = Task {
            try await time.sleep(for: .seconds(1))
            try await time.sleep(for: .seconds(1))
            return time.now - start
        }
        try await time.waitForSleepers(count: 1)
        time.advance(by: .seconds(10))
        try await time.waitForSleepers(count: 1)
        time.advance(by: .seconds(1))
        #expect(try await sleeping.value == .seconds(11))
    }

    @Test("Cancellation before or during a sleep ends it at once")
    func cancellation() async throws {
        let time = ManualTime()
        let before = Task {
            while !Task.isCancelled { await Task.yield() }
            try await time.sleep(for: .seconds(1))
        }
        before.cancel()
        await #expect(throws: CancellationError.self) { try await before.value }
        let meanwhile = Task { try await time.sleep(for: .seconds(2)) }
        try await time.waitForSleepers(count: 1)
        meanwhile.cancel()
        await #expect(throws: CancellationError.self) { try await meanwhile.value }
        #expect(time.sleeperCount == 0)
        #expect(time.sleeps == [.seconds(1), .seconds(2)])
        #expect(time.advanceToNextSleeper() == nil)
    }

    @Test("Returns at once for zero and negative durations")
    func noSleep() async throws {
        let time = ManualTime()
        try await time.sleep(for: .zero)
        try await time.sleep(for: .seconds(-1))
        #expect(time.sleeperCount == 0)
        #expect(time.sleeps == [.zero, .seconds(-1)])
    }

    @Test("A sleep can advance the time itself")
    func advancesItself() async throws {
        let time = ManualTime(date: Date(timeIntervalSince1970: 0), advancesWhenSleeping: true)
        let start = time.now
        for seconds in [1, 2, 4] { try await time.sleep(for: .seconds(seconds)) }
        #expect(time.now - start == .seconds(7))
        #expect(time.date == Date(timeIntervalSince1970: 7))
        #expect(time.sleeps == [.seconds(1), .seconds(2), .seconds(4)])
    }

    @Test("Cancellation ends the wait for sleepers")
    func cancelledWait() async {
        let time = ManualTime()
        let waiting = Task { try await time.waitForSleepers(count: 1) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }

    @Test("Ends 1,000 sleeping tasks that are canceled at random times")
    func crowd() async throws {
        let time = ManualTime()
        let tasks = (0..<1000).map { index in
            Task { try await time.sleep(for: .milliseconds(1 + index % 7)) }
        }
        for task in tasks.enumerated() where task.offset % 3 == 0 { task.element.cancel() }
        while time.sleeps.count < 1000 { await Task.yield() }
        while time.sleeperCount > 0 { time.advance(by: .milliseconds(1)) }
        let advancing = Task {
            while !Task.isCancelled {
                time.advance(by: .milliseconds(1))
                await Task.yield()
            }
        }
        for (index, task) in tasks.enumerated() {
            let result = await task.result
            if index % 3 != 0 { #expect(throws: Never.self) { try result.get() } }
        }
        advancing.cancel()
        #expect(time.sleeperCount == 0)
    }
}

@Suite(.limitedConcurrency, .tags(.concurrency)) struct ResponseGateTests {
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
