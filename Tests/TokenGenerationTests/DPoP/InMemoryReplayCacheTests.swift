import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("InMemoryReplayCache", .computing, .tags(.concurrency))
struct InMemoryReplayCacheTests {
    private func time(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

    /// Remembers an identifier of a key with a large quota.
    private func remember(
        _ identifier: String,
        of key: String = "key",
        until expiration: Double,
        at now: Double,
        in cache: InMemoryReplayCache
    ) throws(TokenError) -> Bool {
        try cache.remember(identifier, signedBy: key, until: time(expiration), at: time(now))
    }

    @Test("Expired identifiers make room, others stay, and a full cache rejects new ones")
    func capacity() throws {
        let cache = InMemoryReplayCache(capacity: 3, quotaPerKey: 3)
        for (name, expiration) in [("c", 30.0), ("a", 10), ("b", 20)] {
            #expect(try remember(name, until: expiration, at: 0, in: cache))
            #expect(try !remember(name, until: expiration, at: 0, in: cache))
        }
        #expect(code { try remember("d", until: 40, at: 10, in: cache) } == .replayCacheFull)
        // A known identifier is reported as known even if the cache is full.
        #expect(try !remember("a", until: 10, at: 10, in: cache))
        #expect(try remember("d", until: 40, at: 10.5, in: cache))
        #expect(cache.count == 3)
        #expect(try !remember("b", until: 20, at: 11, in: cache))
        #expect(try remember("e", until: 60, at: 100, in: cache))
        #expect(cache.count == 1)
    }

    @Test("A cache without capacity rejects everything")
    func noRoom() {
        for capacity in [0, -1, .min] {
            let cache = InMemoryReplayCache(capacity: capacity)
            #expect(code { try remember("a", until: 10, at: 0, in: cache) } == .replayCacheFull)
        }
        let cache = InMemoryReplayCache(capacity: 1, quotaPerKey: -1)
        #expect(code { try remember("a", until: 10, at: 0, in: cache) } == .replayCacheFull)
    }

    @Test("A forgotten identifier isn't new again, however far the clock is set back")
    func clockSetBack() throws {
        let cache = InMemoryReplayCache()
        #expect(try remember("a", until: 100, at: 0, in: cache))
        #expect(try remember("b", until: 300, at: 150, in: cache))
        #expect(cache.count == 1)
        for now in [99.0, 50, 0, -1_000_000] { #expect(try !remember("a", until: 100, at: now, in: cache)) }
        // Others that expire no later may have been in the cache, too. Those that expire later
        // weren't.
        #expect(try !remember("c", until: 99, at: 0, in: cache))
        #expect(try !remember("d", until: 100, at: 0, in: cache))
        #expect(try remember("e", until: 100.5, at: 0, in: cache))
        #expect(try !remember("b", until: 300, at: 0, in: cache))
    }

    @Test("A clock that briefly jumps ahead doesn't lock out proofs made after its correction")
    func clockJumpsAhead() throws {
        let cache = InMemoryReplayCache()
        #expect(try remember("a", until: 100, at: 0, in: cache))
        #expect(try remember("b", until: 1_000_000, at: 900_000, in: cache))
        #expect(try !remember("a", until: 100, at: 1, in: cache))
        #expect(try remember("c", until: 101, at: 1, in: cache))
    }

    @Test("A key that floods the cache uses up its quota, and other keys are accepted", .shows("K11"))
    func quota() throws {
        let cache = InMemoryReplayCache(capacity: 100)
        #expect(cache.quotaPerKey == 10)
        var accepted = 0
        for index in 0..<1_000 {
            do throws(TokenError) {
                if try remember("flood-\(index)", of: "flooder", until: 100, at: 0, in: cache) { accepted += 1 }
            } catch {
                #expect(error.code == .replayCacheFull)
                #expect(error.message.contains("quota"))
            }
        }
        #expect(accepted == 10)
        #expect(cache.count == 10)
        for index in 0..<90 { #expect(try remember("\(index)", of: "key-\(index)", until: 100, at: 0, in: cache)) }
        #expect(code { try remember("90", of: "key-90", until: 100, at: 0, in: cache) } == .replayCacheFull)
        // A replay is distinguished from a flood.
        #expect(try !remember("flood-0", of: "flooder", until: 100, at: 0, in: cache))
    }

    @Test("A quota is available again after the key's identifiers have expired, regardless of others")
    func quotaAfterExpiration() throws {
        let cache = InMemoryReplayCache(capacity: 1_000, quotaPerKey: 100)
        for key in 0..<9 {
            for index in 0..<100 {
                #expect(try remember("\(key)-\(index)", of: "\(key)", until: Double(10 + key), at: 0, in: cache))
            }
        }
        #expect(code { try remember("8-more", of: "8", until: 200, at: 18, in: cache) } == .replayCacheFull)
        #expect(try remember("8-more", of: "8", until: 200, at: 100, in: cache))
    }

    @Test("One call removes a few expired identifiers, and more only if it needs the room")
    func removals() throws {
        let cache = InMemoryReplayCache(capacity: 100, quotaPerKey: 100)
        for index in 0..<100 { #expect(try remember("\(index)", until: 10, at: 0, in: cache)) }
        #expect(try remember("new", of: "other", until: 200, at: 100, in: cache))
        #expect(cache.count == 93)
        for index in 0..<20 { #expect(try remember("new-\(index)", of: "other", until: 200, at: 100, in: cache)) }
        #expect(cache.count == 21)
    }

    @Test("The default quota of a small cache is one identifier", arguments: [(1, 1), (9, 1), (10, 1), (25, 2)])
    func defaultQuota(capacity: Int, expected: Int) {
        #expect(InMemoryReplayCache(capacity: capacity).quotaPerKey == expected)
    }

    @Test("Identifiers that are canonically equivalent are different")
    func canonicalEquivalence() throws {
        let cache = InMemoryReplayCache()
        #expect(try remember("\u{E9}", until: 10, at: 0, in: cache))
        #expect(try remember("e\u{301}", until: 10, at: 0, in: cache))
        #expect(try !remember("\u{E9}", until: 10, at: 0, in: cache))
    }

    @Test(
        "In random order, with clock changes in both directions, no identifier is ever new twice",
        .shows("F2"),
        arguments: 0..<8
    )
    func random(seed: Int) throws {
        var numbers = Fixture.SeededNumbers(state: UInt64(seed))
        let cache = InMemoryReplayCache(capacity: 50, quotaPerKey: 20)
        var accepted: Set<Int> = []
        var now = 1_000.0
        var fresh = 0
        for round in 0..<4_000 {
            now += Double.random(in: 0...2, using: &numbers)
            if round % 100 == 99 { now += Double.random(in: -500...500, using: &numbers) }
            // Picks an old token or a new one. A token's expiration depends on the token alone.
            let isOld = Bool.random(using: &numbers) && fresh > 0
            let number = isOld ? Int.random(in: 0..<fresh, using: &numbers) : fresh
            if !isOld { fresh += 1 }
            let expiration = Double(number) + 1_100
            let key = "key-\(number % 5)"
            let isNew = (try? remember("\(number)", of: key, until: expiration, at: now, in: cache)) ?? false
            if isNew { #expect(accepted.insert(number).inserted, "\(number) was new twice") }
            #expect(cache.count <= 50)
        }
        #expect(!accepted.isEmpty)
    }

    @Test("Exactly one of many concurrent calls with the same identifier succeeds", .shows("RFC 9449 §11.1"))
    func concurrent() async throws {
        let cache = InMemoryReplayCache()
        let successes = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<100 { group.addTask { try self.remember("a", until: 10, at: 0, in: cache) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(successes == 1)
    }
}
