import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("SigningKeyRing, stores and verifiers", .limitedConcurrency)
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

    @Test("Hosts share keys in etcd, which also has other rings and tokens")
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

    @Test("Verifiers with a remote key set accept every token over several rotations, and don't fetch more for it")
    func remoteKeySet() async throws {
        let fixture = RingFixture()
        let ring = try fixture.ring()
        let transport = MockTransport(time: fixture.time.timeSource) { _ in
            let document = try await ring.document()
            return HTTPTransportResponse(status: 200, headers: document.headers, body: document.body)
        }
        let timeSource = fixture.time.timeSource
        let keys = RemoteKeySet(
            url: URL(string: "https://id.example/.well-known/jwks.json")!,
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
        #expect(transport.requests.count <= 14_000 / 560 + 1)
    }
}
