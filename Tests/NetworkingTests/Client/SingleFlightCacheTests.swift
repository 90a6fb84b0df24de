import Foundation
import MockNetworking
import Networking
import TestSupport
import Testing

@Suite("SingleFlightCache", .computing, .tags(.concurrency))
struct SingleFlightCacheTests {
    private struct Failure: Error {}

    private typealias Cache = SingleFlightCache<String, Int>

    private let time = ManualTime()
    private let log = EventLog()

    private func cache(_ change: (inout Cache.Policy) -> Void = { _ in }) -> Cache {
        var policy = Cache.Policy()
        policy.lifetime = { _ in .seconds(10) }
        change(&policy)
        return Cache(timeSource: time.timeSource, policy: policy)
    }

    private func value(_ key: String, _ value: Int, in cache: Cache) async throws -> Int {
        try await cache.value(for: key) { [log] _ in
            log.append("\(key)\(value)")
            return value
        }
    }

    @Test("Callers of the same key share the work; other keys don't wait for it")
    func sharing() async throws {
        let (cache, gate) = (cache(), ResponseGate())
        let waiters = (0..<10).map { _ in
            Task { [log] in
                try await cache.value(for: "a") { _ in
                    log.append("a")
                    try await gate.wait()
                    return 1
                }
            }
        }
        try await gate.waitForWaiters(count: 1)
        #expect(try await value("b", 2, in: cache) == 2)
        gate.open()
        for waiter in waiters { #expect(try await waiter.value == 1) }
        #expect(log.all == ["a", "b2"])
    }

    @Test("A cancelled caller and one at its deadline stop waiting; the result is cached")
    func leaving() async throws {
        let (cache, gate) = (cache(), ResponseGate())
        let work = { @Sendable (_: Int?) in
            try await gate.wait()
            return 1
        }
        let cancelled = Task { try await cache.value(for: "a", work) }
        let late = Task { [time] in try await cache.value(for: "a", until: time.now + .seconds(1), work) }
        try await time.waitForSleepers(count: 1)
        try await gate.waitForWaiters(count: 1)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        time.advance(by: .seconds(1))
        await expectFailure(.timedOut) { try await late.value }
        gate.open()
        #expect(try await value("a", 2, in: cache) == 1)
    }

    @Test("Caches a value for its lifetime")
    func lifetime() async throws {
        let cache = cache { $0.lifetime = { .seconds($0) } }
        #expect(try await value("a", 5, in: cache) == 5)
        time.advance(by: .seconds(4))
        #expect(cache.kept("a") == 5)
        #expect(try await value("a", 0, in: cache) == 5)
        time.advance(by: .seconds(1))
        #expect(cache.kept("a") == nil)
        #expect(try await value("a", 0, in: cache) == 0)
        #expect(try await value("a", 6, in: cache) == 6)
        #expect(log.all == ["a5", "a0", "a6"])
    }

    @Test("Doesn't cache a failure")
    func failure() async throws {
        let cache = cache()
        await #expect(throws: Failure.self) { try await cache.value(for: "a") { _ in throw Failure() } }
        #expect(try await value("a", 1, in: cache) == 1)
    }

    @Test("Uses a stale value while the work fails, and delays the next attempt")
    func stale() async throws {
        let cache = cache {
            $0.staleLifetime = .seconds(20)
            $0.pause = { error, _ in error is Failure ? .seconds(5) : nil }
        }
        #expect(try await value("a", 1, in: cache) == 1)
        cache.expire("a")
        #expect(cache.kept("a") == nil)
        #expect(try await cache.value(for: "a") { _ in throw Failure() } == 1)
        time.advance(by: .seconds(4))
        #expect(try await value("a", 2, in: cache) == 1)
        time.advance(by: .seconds(1))
        await #expect(throws: CancellationError.self) {
            try await cache.value(for: "a") { _ in throw CancellationError() }
        }
        time.advance(by: .seconds(15))
        await #expect(throws: Failure.self) { try await cache.value(for: "a") { _ in throw Failure() } }
        #expect(try await value("a", 3, in: cache) == 3)
        #expect(log.all == ["a1", "a3"])
    }

    @Test("Runs work in the background shortly before the end of the lifetime, and after failures")
    func background() async throws {
        let gate = ResponseGate()
        let cache = cache {
            $0.staleLifetime = .seconds(20)
            $0.pause = { _, number in .seconds(number) }
            $0.refresh = (
                .seconds(4),
                { [log] latest in
                    log.append("from \(latest ?? 0)")
                    try await gate.wait()
                    guard latest == 1 else { throw Failure() }
                    return 2
                }
            )
        }
        #expect(try await value("a", 1, in: cache) == 1)
        time.advance(by: .seconds(6))
        for _ in 1...3 { #expect(cache.kept("a") == 1) }
        try await gate.waitForWaiters(count: 1)
        gate.open()
        while cache.kept("a") != 2 { await Task.yield() }
        time.advance(by: .seconds(6))
        #expect(cache.kept("a") == 2)
        while cache.entry("a")?.failure == nil { await Task.yield() }
        // Nobody waits for a failing server while there's a value.
        time.advance(by: .seconds(23))
        #expect(cache.kept("a") == 2)
        time.advance(by: .seconds(1))
        #expect(cache.kept("a") == nil)
        #expect(log.all.prefix(3) == ["a1", "from 1", "from 2"])
    }

    @Test("A cache that keeps outcomes throws a failure again during the pause, and gives old values to the work")
    func outcomes() async throws {
        let cache = cache {
            $0.keepsOutcomes = true
            $0.pause = { _, number in .seconds(number) }
        }
        for pause in [1, 2] {
            await #expect(throws: Failure.self) { try await cache.value(for: "a") { _ in throw Failure() } }
            time.advance(by: .seconds(pause) - .milliseconds(1))
            await #expect(throws: Failure.self) { try await value("a", 1, in: cache) }
            time.advance(by: .milliseconds(1))
        }
        #expect(cache.count == 0)
        #expect(try await value("a", 3, in: cache) == 3)
        time.advance(by: .seconds(1_000))
        #expect(cache.kept("a") == nil)
        #expect(try await cache.value(for: "a") { latest in (latest ?? 0) + 1 } == 4)
    }

    @Test("A caller that needs another value gets one, but not within the cooldown")
    func another() async throws {
        let cache = cache {
            $0.cooldown = .seconds(5)
            $0.keepsOutcomes = true
            $0.pause = { _, _ in .seconds(5) }
        }
        func another(_ work: @escaping Cache.Work) async throws -> Int {
            try await cache.value(for: "a", unless: { $0 < 2 }, work)
        }
        #expect(try await value("a", 1, in: cache) == 1)
        #expect(try await another { _ in 2 } == 1)
        time.advance(by: .seconds(5))
        for _ in 1...2 { await #expect(throws: Failure.self) { try await another { _ in throw Failure() } } }
        await #expect(throws: Failure.self) { try await another { _ in 2 } }
        #expect(try await value("a", 3, in: cache) == 1)
        time.advance(by: .seconds(5))
        #expect(try await another { _ in 2 } == 2)
        #expect(try await another { _ in 3 } == 2)
    }

    @Test("Work that times out has failed, even if it goes on")
    func timeout() async throws {
        let gate = ResponseGate()
        let cache = cache {
            $0.timeout = .seconds(3)
            $0.timeoutError = { _ in Failure() }
            $0.staleLifetime = .seconds(20)
            $0.pause = { _, _ in .seconds(5) }
        }
        for (key, number) in [("a", 1), ("b", nil)] as [(String, Int?)] {
            if let number { cache.keep(number, for: key) }
            cache.expire(key)
            let waiter = Task {
                try await cache.value(for: key) { _ in
                    // Ignores its cancellation.
                    try await Task.detached { try await gate.wait() }.value
                    return 9
                }
            }
            try await gate.waitForWaiters(count: 1)
            try await time.waitForSleepers(count: 1)
            time.advance(by: .seconds(3))
            if let number {
                #expect(try await waiter.value == number)
                #expect(try await value(key, 2, in: cache) == number)
            } else {
                await #expect(throws: Failure.self) { try await waiter.value }
                #expect(try await value(key, 2, in: cache) == 2)
            }
            gate.open()
            gate.close()
        }
    }

    @Test("Evicts expired values first, then the least recently used value of the same kind")
    func capacity() async throws {
        let cache = cache {
            $0.capacity = 2
            $0.kind = { $0 < 10 }
            $0.lifetime = { .seconds($0 == 3 ? 1 : 10) }
        }
        for (key, number) in [("a", 1), ("b", 2), ("x", 10), ("y", 11)] {
            #expect(try await value(key, number, in: cache) == number)
        }
        #expect(cache.kept("a") == 1)
        #expect(try await value("c", 3, in: cache) == 3)
        #expect(cache.kept("b") == nil)
        time.advance(by: .seconds(1))
        #expect(try await value("d", 4, in: cache) == 4)
        #expect([cache.kept("a"), cache.kept("d"), cache.kept("x"), cache.kept("y")] == [1, 4, 10, 11])
        #expect(cache.count == 4)
    }

    @Test("Running work doesn't restore a removed value")
    func removal() async throws {
        let (cache, gate) = (cache(), ResponseGate())
        let work = { @Sendable (_: Int?) in
            try await gate.wait()
            return 1
        }
        for (key, remove) in [
            ("a", { cache.remove("a") }), ("b", { cache.keep(7, for: "b") }), ("c", { _ = cache.removeTasks() }),
        ] {
            let waiter = Task { try await cache.value(for: key, work) }
            try await gate.waitForWaiters(count: 1)
            remove()
            gate.open()
            #expect(try await waiter.value == 1)
            gate.close()
        }
        #expect([cache.kept("a"), cache.kept("b"), cache.kept("c")] == [nil, 7, nil])
        cache.remove("b") { $0 == 1 }
        #expect(cache.kept("b") == 7)
        cache.remove("b") { $0 == 7 }
        #expect(cache.count == 0)
    }
}

@Suite("SharedTask", .limitedConcurrency, .tags(.concurrency))
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
        await expectFailure(.timedOut) { try await waiter.value }
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
        await expectFailure(.timedOut) { try await waiter.value }
        #expect(task.isOver)
        while log.all.isEmpty { await Task.yield() }
    }
}
