import MockNetworking
import Networking
import TestSupport
import Testing

@testable import OAuth2

@Suite("InMemoryTokenStore", .limitedConcurrency)
struct InMemoryTokenStoreTests {
    private let time = ManualTime()
    private let store: InMemoryTokenStore

    init() {
        store = InMemoryTokenStore(timeSource: time.timeSource)
    }

    @Test("An empty store has nothing to load or remove, and accepts a first record")
    func empty() {
        #expect(store.load("k") == nil)
        #expect(!store.remove("k", ifVersion: TokenRecordVersion("0")))
        #expect(store.compareAndSwap("k", expectedVersion: TokenRecordVersion("1"), record: record("a")) == nil)
        #expect(store.compareAndSwap("k", expectedVersion: nil, record: record("a")) != nil)
        #expect(store.load("k")?.record == record("a"))
    }

    @Test("Replaces or removes a record only for its current version")
    func versions() throws {
        _ = store.compareAndSwap("k", expectedVersion: nil, record: record("a"))
        let first = try #require(store.load("k")).version
        #expect(store.compareAndSwap("k", expectedVersion: nil, record: record("b")) == nil)
        #expect(store.compareAndSwap("k", expectedVersion: first, record: record("b")) != nil)
        let second = try #require(store.load("k")).version
        #expect(second != first)
        #expect(store.compareAndSwap("k", expectedVersion: first, record: record("c")) == nil)
        #expect(!store.remove("k", ifVersion: first))
        #expect(store.load("k")?.record == record("b"))
        #expect(store.remove("k", ifVersion: second))
        #expect(store.load("k") == nil)
    }

    @Test("Doesn't reuse a version after a removal")
    func versionsAreNotReused() throws {
        _ = store.compareAndSwap("k", expectedVersion: nil, record: record("a"))
        let first = try #require(store.load("k")).version
        _ = store.remove("k", ifVersion: first)
        _ = store.compareAndSwap("k", expectedVersion: nil, record: record("a"))
        #expect(store.load("k")?.version != first)
    }

    @Test("Keys are independent of each other")
    func keys() async throws {
        _ = store.compareAndSwap("k", expectedVersion: nil, record: record("a"))
        #expect(store.load("l") == nil)
        let inner = try await store.withExclusiveAccess(to: "k", timeout: .seconds(1)) { [store] in
            try await store.withExclusiveAccess(to: "l", timeout: .seconds(1)) { "both" }
        }
        #expect(inner == "both")
    }

    @Test("Concurrent tasks that increment a count under the lock lose none")
    func exclusion() async throws {
        let journal = Journal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...200 {
                group.addTask { [store] in
                    try await store.withExclusiveAccess(to: "k", timeout: .seconds(60)) {
                        journal.add("in")
                        let current = store.load("k")
                        await Task.yield()
                        let count = Int(current?.record.access ?? "0") ?? 0
                        let next = TokenRecord(accessToken: Secret("\(count + 1)"))
                        #expect(store.compareAndSwap("k", expectedVersion: current?.version, record: next) != nil)
                        journal.add("out")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(store.load("k")?.record.access == "200")
        #expect(journal.entries == (1...200).flatMap { _ in ["in", "out"] })
    }

    @Test("Waiting tasks get the lock in the order of their arrival")
    func order() async throws {
        let gate = ResponseGate()
        let entered = Journal()
        let holder = Task { [store] in
            try await store.withExclusiveAccess(to: "k", timeout: .seconds(60)) { try await gate.wait() }
        }
        try await gate.waitForWaiters(count: 1)
        var waiters: [Task<Void, any Error>] = []
        for number in 1...20 {
            waiters.append(
                Task { [store] in
                    try await store.withExclusiveAccess(to: "k", timeout: .seconds(60)) {
                        entered.add("\(number)")
                    }
                }
            )
            while store.waiterCount(for: "k") < number { await Task.yield() }
        }
        gate.open()
        for waiter in waiters { try await waiter.value }
        try await holder.value
        #expect(entered.entries == (1...20).map(String.init))
    }

    @Test("A task that waits too long fails with storeBusy, and the others continue")
    func timeout() async throws {
        let gate = ResponseGate()
        let holder = Task { [store] in
            try await store.withExclusiveAccess(to: "k", timeout: .seconds(5)) { try await gate.wait() }
        }
        try await gate.waitForWaiters(count: 1)
        let hasty = Task { [store] in try await store.withExclusiveAccess(to: "k", timeout: .seconds(5)) {} }
        let patient = Task { [store] in try await store.withExclusiveAccess(to: "k", timeout: .seconds(10)) { "in" } }
        try await time.waitForSleepers(count: 2)
        time.advance(by: .seconds(5))
        #expect(await failureCode { try await hasty.value } == .storeBusy)
        gate.open()
        #expect(try await patient.value == "in")
        try await holder.value
    }

    @Test("A timeout of zero gets a free lock, and fails for a held one")
    func noTimeout() async throws {
        try await store.withExclusiveAccess(to: "k", timeout: .zero) { [store] in
            let code = await failureCode { try await store.withExclusiveAccess(to: "k", timeout: .zero) {} }
            #expect(code == .storeBusy)
        }
        #expect(try await store.withExclusiveAccess(to: "k", timeout: .zero) { "in" } == "in")
    }

    @Test("A cancelled task stops waiting at once")
    func cancellation() async throws {
        let gate = ResponseGate()
        let holder = Task { [store] in
            try await store.withExclusiveAccess(to: "k", timeout: .seconds(5)) { try await gate.wait() }
        }
        try await gate.waitForWaiters(count: 1)
        let waiter = Task { [store] in try await store.withExclusiveAccess(to: "k", timeout: .seconds(5)) {} }
        try await time.waitForSleepers(count: 1)
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        gate.open()
        try await holder.value
        #expect(try await store.withExclusiveAccess(to: "k", timeout: .zero) { "in" } == "in")
    }

    @Test("A closure that throws releases the lock")
    func bodyThrows() async throws {
        struct Failure: Error {}
        await #expect(throws: Failure.self) {
            try await store.withExclusiveAccess(to: "k", timeout: .zero) { throw Failure() }
        }
        #expect(try await store.withExclusiveAccess(to: "k", timeout: .zero) { "in" } == "in")
    }

    private func record(_ access: String) -> TokenRecord { TokenRecord(accessToken: Secret(access)) }
}
