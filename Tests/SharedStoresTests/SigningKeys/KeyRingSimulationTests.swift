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
@Suite("SigningKeyRing, random schedules", .limitedConcurrency, .serialized, .tags(.concurrency))
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

    @Test("No verifier meets a key that it doesn't know", .shows("L23", "O29"), arguments: 1...12)
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
                    // The errors of a simulation that is cancelled tell nothing about keys.
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

@Suite("SigningKeyRing, stores and verifiers", .limitedConcurrency, .tags(.concurrency))
struct KeyRingStoreTests {
    private let keys: RecordKeys

    init() throws { keys = try RecordKeys(sealing: RingFixture.key) }

    private func check(_ rings: [SigningKeyRing]) async throws {
        let id = try #require(try await rings[0].signingKey().keyID)
        for ring in rings {
            #expect(try await ring.signingKey().keyID == id)
            #expect(try await ring.document().body == (try await rings[0].document().body))
        }
        let last = try #require(rings.last)
        #expect(try await last.retire(id))
        #expect(try await last.signingKey().keyID != id)
    }

    @Test("Hosts share keys in etcd, which also has other rings and tokens", .shows("O29"))
    func etcd() async throws {
        let etcd = EtcdDouble()
        let rings = try (0..<3).map { _ in try SigningKeyRing(try etcd.store()) }
        try await check(rings)
        let other = try SigningKeyRing(try etcd.store(), name: "other")
        #expect(try await other.signingKey().keyID != (try await rings[0].signingKey().keyID))
        #expect(etcd.keys.count == 2)
        #expect(try await etcd.store().compareAndSwap("default", expectedVersion: nil, record: .sample) != nil)
    }

    @Test("Finds its write in etcd if the answer is lost, and makes no key if etcd can't be reached")
    func etcdFailures() async throws {
        let etcd = EtcdDouble()
        etcd.service.lose { $0.url.path == "/v3/kv/txn" }
        let ring = try SigningKeyRing(try etcd.store())
        let id = try await ring.signingKey().keyID
        etcd.service.lose { _ in false }
        #expect(try await SigningKeyRing(try etcd.store()).signingKey().keyID == id)
        #expect(etcd.requests.count { $0.url.path == "/v3/kv/txn" } == 1)
        etcd.service.fail { _ in throw NetworkError(.cannotConnect, "refused", isUnprocessed: true) }
        #expect(await code { _ = try await SigningKeyRing(try etcd.store()).signingKey() } == .storeUnavailable)
        #expect(try await ring.signingKey().keyID == id)
    }

    @Test("Hosts share keys on an HTTP server with conditional requests")
    func http() async throws {
        let server = HTTPStoreDouble()
        try await check(try (0..<2).map { _ in try SigningKeyRing(try server.store()) })
    }

    @Test("Processes of one machine share keys in a file, which survives them")
    func file() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ring-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let rings = try (0..<2).map { _ in try SigningKeyRing(directory: folder, keys: keys) }
        try await check(rings)
        let id = try await rings[1].signingKey().keyID
        #expect(try await SigningKeyRing(directory: folder, keys: keys).signingKey().keyID == id)
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
        let file = folder.appending(path: try #require(files.first))
        let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
        #expect(files.count == 1 && mode == 0o600)
        #expect(
            await code { _ = try SigningKeyRing(directory: URL(string: "https://a.example")!, keys: keys) }
                == .storeFailed
        )
        #expect(await code { _ = try SigningKeyRing(directory: file, keys: keys) } == .storeFailed)
    }

    @Test("The storages of one machine replace and delete only the expected version")
    func localStorages() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "ring-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let storages: [any ConditionalStorage] = [MemoryStorage(), try FileStorage(directory: folder.path)]
        for storage in storages {
            #expect(try await storage.read("a") == nil)
            #expect(try await storage.write([1], to: "a", over: "1") == nil)
            let first = try #require(try await storage.write([1], to: "a", over: nil))
            #expect(try await storage.write([2], to: "a", over: nil) == nil)
            let second = try #require(try await storage.write([2], to: "a", over: first))
            #expect(try await storage.write([3], to: "a", over: first) == nil)
            #expect(try await storage.read("a")?.value == [2])
            #expect(try await storage.read("a")?.version == second)
            #expect(try await storage.read("b") == nil)
            #expect(try await !storage.delete("a", version: first))
            #expect(try await storage.delete("a", version: second))
            #expect(try await storage.read("a") == nil)
        }
    }

    @Test("Each ring in memory has other keys")
    func memory() async throws {
        let (one, other) = (try SigningKeyRing(), try SigningKeyRing())
        #expect(try await one.signingKey().keyID != (try await other.signingKey().keyID))
        try await check([one])
    }

    @Test(
        "Verifiers with a remote key set accept every token over several rotations, and don't fetch more for it",
        .shows("O29", "RFC 7517 §5, §8.5.1")
    )
    func remoteKeySet() async throws {
        let fixture = RingFixture()
        let ring = try fixture.ring()
        let transport = MockTransport(time: fixture.time.timeSource) { _ in
            let document = try await ring.document()
            return HTTPTransportResponse(status: 200, headers: document.headers, body: document.body)
        }
        let timeSource = fixture.time.timeSource
        let keys = IssuerKeys.url(
            URL(string: "https://id.example/.well-known/jwks.json")!,
            client: NetworkClient(transport: transport, options: NetworkClient.Options(timeSource: timeSource)),
            // As long as the ring's options allow, regardless of `max-age`. On a slow machine, the
            // time passes during fetches, which mustn't end them.
            options: RemoteKeySet.Options(
                lifetimeBounds: .seconds(600) ... .seconds(600),
                timeout: .seconds(3_600),
                timeSource: timeSource
            )
        )
        let verifier = RemoteJWTVerifier(keys: keys, policy: fixture.policy)
        var kept: [(token: String, expiration: Date)] = []
        var signers: Set<String> = []
        for _ in 0..<700 {
            let token = try await ring.sign(fixture.claims("ada"))
            signers.insert(try await fixture.keyID(ring))
            _ = try await verifier.verify(token)
            kept.append((token, fixture.time.date + 300))
            // A token in its last moments.
            kept.removeAll { $0.expiration <= fixture.time.date }
            _ = try await verifier.verify(try #require(kept.first).token)
            fixture.time.advance(by: .seconds(20))
        }
        #expect(signers.count == 4)
        #expect(transport.requests.count <= 26)
    }
}
