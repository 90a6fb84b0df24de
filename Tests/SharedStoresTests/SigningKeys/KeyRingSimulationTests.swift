import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

/// Hosts and verifiers over random schedules: a verifier that keeps a document for as long as it
/// may knows the key of every token that is valid.
@Suite("SigningKeyRing, random schedules", .limitedConcurrency, .serialized)
struct KeyRingSimulationTests {
    /// The store as one host sees it.
    private final class Connection: ConditionalStorage {
        let storage: ScriptedStorage
        let isCut = Mutex(false)

        init(_ storage: ScriptedStorage) { self.storage = storage }

        var maximumSize: Int { storage.maximumSize }

        private func check() throws {
            guard !isCut.withLock(\.self) else { throw OAuth2Error(.storeUnavailable, "the host is cut off") }
        }

        func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
            try check()
            return try await storage.read(name)
        }

        func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
            try check()
            return try await storage.write(value, to: name, over: version)
        }

        func delete(_ name: String, version: String) async throws -> Bool { storage.delete(name, version: version) }
    }

    private struct Host {
        let connection: Connection
        let skew: TimeInterval
        var ring: SigningKeyRing
        /// The time until which the host has no callers.
        var quietUntil = 0
        /// The time at which the host reaches the store again.
        var cutUntil = 0
    }

    private struct Verifier {
        var keys: Set<String> = []
        var expires = 0
    }

    @Test("No verifier meets a key that it doesn't know", arguments: 1...12)
    func schedules(seed: Int) async throws {
        var random = SplitMix(state: UInt64(seed))
        let fixture = RingFixture()
        func ring(_ connection: Connection, _ skew: TimeInterval) throws -> SigningKeyRing {
            var timeSource = fixture.time.timeSource
            timeSource.date = { [time = fixture.time] in time.date + skew }
            let share = random.share()
            return try SigningKeyRing(
                connection,
                keys: RecordKeys(sealing: RingFixture.key),
                name: "default",
                options: RingFixture.options,
                initialKey: nil,
                timeSource: timeSource,
                random: { share }
            )
        }
        var hosts: [Host] = []
        for _ in 0..<3 {
            let (connection, skew) = (Connection(fixture.storage), 30 * random.share() - 15)
            hosts.append(Host(connection: connection, skew: skew, ring: try ring(connection, skew)))
        }
        var verifiers = Array(repeating: Verifier(), count: 3)
        /// The times until which tokens of keys are valid for some verifier.
        var live: [String: Int] = [:]
        var (now, downUntil, signed) = (0, 0, 0)
        for _ in 0..<1_000 {
            let step = 5 + random.number(upTo: 25)
            now += step
            fixture.time.advance(by: .seconds(step))
            if now >= downUntil, random.number(upTo: 300) == 0 { downUntil = now + random.number(upTo: 2_400) }
            // At night, no host has callers.
            if random.number(upTo: 250) == 0 {
                let night = random.number(upTo: 7_000)
                now += night
                fixture.time.advance(by: .seconds(night))
            }
            fixture.storage.isDown = now < downUntil
            if random.number(upTo: 20) == 0 {
                let all: [ScriptedStorage.Writing] = [.normal, .lost, .rejected, .late]
                fixture.storage.script(all[random.number(upTo: 4)], all[random.number(upTo: 4)])
            }
            for index in hosts.indices {
                if random.number(upTo: 200) == 0 { hosts[index].quietUntil = now + random.number(upTo: 1_500) }
                if now >= hosts[index].cutUntil + 120, random.number(upTo: 100) == 0 {
                    hosts[index].cutUntil = now + random.number(upTo: 60)
                }
                hosts[index].connection.isCut.withLock { $0 = now < hosts[index].cutUntil }
                // A restart, which can't help while the store is down.
                if now >= downUntil, now >= hosts[index].cutUntil, random.number(upTo: 400) == 0 {
                    hosts[index].ring = try ring(hosts[index].connection, hosts[index].skew)
                }
                guard now >= hosts[index].quietUntil else { continue }
                let host = hosts[index]
                do {
                    live[try await fixture.keyID(host.ring)] = now + 300 + 60
                    signed += 1
                } catch {
                    // A simulation that takes too long is cancelled; its errors tell nothing about keys.
                    try Task.checkCancellation()
                    // The store was down at the latest attempt, or has rejected the first key.
                    #expect((error as? OAuth2Error)?.code == .storeUnavailable, "\(error)")
                }
            }
            for index in verifiers.indices {
                if now >= verifiers[index].expires || random.number(upTo: 30) == 0 {
                    // Any host may respond, also one without calls for long.
                    let host = hosts[random.number(upTo: 3)]
                    let published = try? await fixture.published(host.ring)
                    try Task.checkCancellation()
                    guard let keys = published else { continue }
                    verifiers[index] = Verifier(keys: Set(keys), expires: now + 600)
                }
                for (id, end) in live where end >= now {
                    #expect(verifiers[index].keys.contains(id), "second \(now): \(id)")
                }
            }
        }
        let coding = KeyRingCoding(cipher: try RecordKeys(sealing: RingFixture.key).cipher, name: "default")
        for record in fixture.storage.accepted {
            for key in try coding.decode(record).keys where key.activeFrom > key.publishedAt {
                #expect(key.activeFrom >= key.publishedAt + 60 + 600 + 30)
                #expect(key.verifiesUntil >= key.signsUntil + 300 + 60)
            }
        }
        #expect(live.count >= 4)
        #expect(signed > 1_000)
    }
}
