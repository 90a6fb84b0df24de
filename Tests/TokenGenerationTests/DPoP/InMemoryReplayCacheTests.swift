import Foundation
import Testing
import TokenGeneration

@Suite("InMemoryReplayCache", .serialized)
struct InMemoryReplayCacheTests {
    private func time(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    @Test("What expired makes room, what has not is kept, and a full cache refuses what is new")
    func capacity() throws {
        let cache = InMemoryReplayCache(capacity: 3)
        for (name, expiration) in [("c", 30.0), ("a", 10), ("b", 20)] {
            #expect(try cache.remember(name, until: time(expiration), at: time(0)))
            #expect(try !cache.remember(name, until: time(expiration), at: time(0)))
        }
        #expect(code { try cache.remember("d", until: time(40), at: time(10)) } == .replayCacheFull)
        // What is known is known, full or not.
        #expect(try !cache.remember("a", until: time(10), at: time(10)))
        #expect(try cache.remember("d", until: time(40), at: time(10.5)))
        #expect(cache.count == 3)
        #expect(try !cache.remember("b", until: time(20), at: time(11)))
        #expect(try cache.remember("a", until: time(50), at: time(25)))
        #expect(try !cache.remember("c", until: time(30), at: time(26)))
        #expect(try cache.remember("e", until: time(60), at: time(100)))
        #expect(cache.count == 1)
    }

    @Test("A cache without room refuses everything")
    func noRoom() {
        for capacity in [0, -1, .min] {
            let cache = InMemoryReplayCache(capacity: capacity)
            #expect(code { try cache.remember("a", until: time(10), at: time(0)) } == .replayCacheFull)
        }
    }

    @Test("In random order, exactly what has not expired is known", arguments: 0..<5)
    func random(seed: Int) throws {
        var numbers = Fixture.SeededNumbers(state: UInt64(seed))
        let cache = InMemoryReplayCache(capacity: 10_000)
        var expirations: [String: Double] = [:]
        var now = 0.0
        for _ in 0..<3_000 {
            now += Double.random(in: 0...1, using: &numbers)
            let name = "\(Int.random(in: 0..<200, using: &numbers))"
            let expiration = now + Double.random(in: 0...60, using: &numbers)
            let isKnown = expirations[name].map { $0 >= now } ?? false
            #expect(try cache.remember(name, until: time(expiration), at: time(now)) == !isKnown)
            if !isKnown { expirations[name] = expiration }
        }
        #expect(cache.count <= 200)
    }

    @Test("Of many calls at a time with one identifier, one succeeds")
    func concurrent() async throws {
        let cache = InMemoryReplayCache()
        let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { try cache.remember("a", until: self.time(10), at: self.time(0)) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(successes == 1)
    }
}
