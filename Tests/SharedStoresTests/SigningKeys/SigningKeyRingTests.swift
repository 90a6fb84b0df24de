import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("SigningKeyRing", .limitedConcurrency, .tags(.concurrency))
struct SigningKeyRingTests {
    private let fixture = RingFixture()

    @Test(
        "Signs with a new key at once, publishes it and its successor, and verifiers accept the token",
        .shows("RFC 7517 §5, §8.5.1")
    )
    func first() async throws {
        let ring = try fixture.ring()
        let token = try await ring.sign(fixture.claims("ada"), header: ["typ": "at+jwt"])
        let document = try await ring.document()
        let keys = try JWKSet(parsing: document.body)
        #expect(keys.keys.count == 2)
        #expect(keys.keys.allSatisfy { !$0.isPrivate && $0.use == "sig" && $0.algorithm == "ES256" })
        #expect(document.headers["Content-Type"] == "application/jwk-set+json")
        #expect(document.headers["Cache-Control"] == "public, max-age=300")
        #expect(document.headers["ETag"]?.count == 34)
        let verified = try JWTVerifier(keys: keys, policy: fixture.policy).verify(token)
        #expect(verified.header["typ"]?.string == "at+jwt")
        #expect(verified.header["kid"]?.string == keys.keys[0].keyID)
        #expect(fixture.storage.accepted.count == 1)
    }

    @Test("A key is published, signs, is replaced and disappears, each within its bounds", .shows("O29"))
    func life() async throws {
        let ring = try fixture.ring()
        struct Life {
            var published: [Int] = []
            var signing: [Int] = []
        }
        var lives: [String: Life] = [:]
        var order: [String] = []
        for second in stride(from: 0, to: 14_000, by: 20) {
            let signer = try await fixture.keyID(ring)
            if order.last != signer { order.append(signer) }
            lives[signer, default: Life()].signing.append(second)
            for id in try await fixture.published(ring) { lives[id, default: Life()].published.append(second) }
            fixture.time.advance(by: .seconds(20))
        }
        #expect(order.count == 4)
        #expect(Set(order).count == 4)
        #expect(lives.count == 5)
        // The first key is of an empty store, and the last hasn't ended.
        for id in order.dropFirst() {
            let life = try #require(lives[id])
            let (signing, published) = (try #require(life.signing.first), try #require(life.published.first))
            #expect(signing - published >= 690)
        }
        for id in order.dropLast(2) {
            let life = try #require(lives[id])
            let (signing, published) = (try #require(life.signing.last), try #require(life.published.last))
            let begin = try #require(life.signing.first)
            #expect(published - signing >= 360)
            #expect(signing - begin <= 3_660)
            #expect(published < 13_980)
        }
        #expect(try await fixture.published(ring) == (try fixture.stored().keys.map(\.id)))
        #expect(try fixture.stored().keys.contains { $0.id == order[0] } == false)
    }

    @Test("Changes to the next key when it is active by all clocks, not before")
    func activation() async throws {
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        let next = try #require(try fixture.stored().keys.last)
        #expect(next.id != first)
        try await fixture.run(ring, seconds: 3_500)
        fixture.time.setDate(next.activeFrom + 30)
        #expect(try await fixture.keyID(ring) == first)
        fixture.time.setDate(next.activeFrom + 31)
        #expect(try await fixture.keyID(ring) == next.id)
    }

    @Test("A key that is added late signs only when verifiers know it, except after a very long time")
    func late() async throws {
        let ring = try fixture.ring()
        _ = try await fixture.keyID(ring)
        // The second key has begun, and the third should have been added an hour ago.
        fixture.time.advance(by: .seconds(7_000))
        let second = try #require(try fixture.stored().keys.last).id
        #expect(try await fixture.keyID(ring) == second)
        let third = try #require(try fixture.stored().keys.last)
        #expect(third.activeFrom.timeIntervalSince(third.publishedAt) == 810)
        try await fixture.run(ring, seconds: 3_600)
        #expect(try await fixture.keyID(ring) == third.id)
        // The last key is about to end. It signs for longer: verifiers don't know the next.
        let fourth = try #require(try fixture.stored().keys.last)
        fixture.time.setDate(fourth.signsUntil - 10)
        fixture.time.advance(by: .seconds(1))
        #expect(try await fixture.keyID(ring) == fourth.id)
        try await fixture.run(ring, seconds: 2_400)
        // All keys have ended, so another must sign at once.
        fixture.time.advance(by: .seconds(100_000))
        let id = try await fixture.keyID(ring)
        #expect(try await fixture.published(ring).first == id)
        #expect(try fixture.stored().keys.count == 2)
    }

    @Test("Of hosts that make the first key or the next one at once, one succeeds and all use its key", .shows("L22"))
    func races() async throws {
        let (one, other) = (try fixture.ring(), try fixture.ring())
        fixture.storage.beforeWrite { _ = try await other.signingKey() }
        let first = try await fixture.keyID(one)
        #expect(try await fixture.keyID(other) == first)
        #expect(fixture.storage.accepted.count == 1)
        #expect(try fixture.stored().generation == 1)

        try await fixture.run(one, other, seconds: 3_560)
        fixture.storage.beforeWrite {
            fixture.time.advance(by: .seconds(1))
            await fixture.settle(other)
            _ = try await other.signingKey()
            await fixture.settle(other)
        }
        try await fixture.run(one, other, seconds: 300)
        #expect(fixture.storage.accepted.count == 2)
        #expect(try fixture.stored().generation == 2)
        #expect(try fixture.stored().keys.count == 3)
        let second = try await fixture.keyID(one)
        #expect(second != first)
        #expect(try await fixture.keyID(other) == second)
        #expect(try await fixture.published(one) == (try await fixture.published(other)))
    }

    @Test("Reads the store once for concurrent callers, then not for half the poll interval")
    func singleFlight() async throws {
        let ring = try fixture.ring()
        let ids = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 1...50 { group.addTask { try await ring.signingKey().keyID } }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
        #expect(fixture.storage.reads == 1)
        fixture.time.advance(by: .seconds(29))
        _ = try await fixture.keyID(ring)
        #expect(fixture.storage.reads == 1)
        // Ahead of need, without waiting, and at the latest after the whole interval.
        fixture.time.advance(by: .seconds(1))
        _ = try await fixture.keyID(ring)
        #expect(fixture.storage.reads == 2)
        fixture.time.advance(by: .seconds(61))
        fixture.storage.whileReading { try await Task.sleep(for: .milliseconds(1)) }
        _ = try await ring.signingKey()
        #expect(fixture.storage.reads == 3)
    }

    @Test("Leaves nothing running when it's released")
    func release() async throws {
        weak var released: SigningKeyRing?
        do {
            let ring = try fixture.ring()
            _ = try await fixture.keyID(ring)
            released = ring
        }
        // The timer of the refresh ends with it. The test would never end otherwise.
        while released != nil || fixture.time.sleeperCount > 0 { await Task.yield() }
    }

    @Test("Rejects tokens that would outlive their key")
    func lifetime() async throws {
        let ring = try fixture.ring()
        let claims = { RegisteredClaims(expiration: fixture.time.date + $0) }
        _ = try await ring.sign(claims(300))
        let error = await #expect(throws: TokenError.self) { try await ring.sign(claims(400)) }
        #expect(error?.code == .lifetimeTooLong)
    }

    @Test("Signs with keys of all kinds that have a public part", arguments: JWSAlgorithm.implemented)
    func algorithms(algorithm: JWSAlgorithm) async throws {
        var options = RingFixture.options
        options.algorithm = algorithm
        guard !algorithm.isSymmetric else {
            #expect(await code { _ = try fixture.ring(options: options) } == .storeFailed)
            return
        }
        let token = try await fixture.ring(options: options).sign(fixture.claims("a"))
        // Another host reads the private keys from the store.
        let other = try fixture.ring(options: options)
        let verifier = JWTVerifier(keys: try JWKSet(parsing: try await other.document().body), policy: fixture.policy)
        #expect(throws: Never.self) { try verifier.verify(token) }
        #expect(try verifier.verify(try await other.sign(fixture.claims("b"))).claims["sub"] == "b")
    }

    @Test("Begins with the key that the service has used so far, and replaces it as any other")
    func initialKey() async throws {
        let key = try SigningKey.generate(.es256).identified(by: "2026-07")
        let ring = try fixture.ring(initialKey: key)
        #expect(try await fixture.keyID(ring) == "2026-07")
        // Another key comes too late, and the first one doesn't come back.
        #expect(try await fixture.keyID(fixture.ring(initialKey: .generate(.es256))) == "2026-07")
        try await fixture.run(ring, seconds: 4 * 3_600)
        #expect(try await !fixture.published(ring).contains("2026-07"))
        let secret = try SigningKey(secret: Array(repeating: 7 as UInt8, count: 31) + [1], algorithm: .hs256)
        #expect(await code { _ = try fixture.ring(initialKey: secret) } == .storeFailed)
    }

    @Test("Removes a leaked key at once, and its successor signs", .shows("L26"))
    func retirement() async throws {
        let (ring, other) = (try fixture.ring(), try fixture.ring())
        let leaked = try await fixture.keyID(ring)
        let next = try #require(try await fixture.published(ring).last)
        try await fixture.run(ring, other, seconds: 900)
        #expect(try await !ring.retire("unknown"))
        #expect(fixture.storage.accepted.count == 1)
        #expect(try await ring.retire(leaked))
        #expect(try await fixture.keyID(ring) == next)
        #expect(try await !fixture.published(ring).contains(leaked))
        #expect(try await fixture.published(ring).count == 2)
        #expect(try await !ring.retire(leaked))
        // The other host follows within the poll interval.
        fixture.time.advance(by: .seconds(61))
        #expect(try await fixture.keyID(other) == next)
        #expect(try await !fixture.published(other).contains(leaked))
    }

    @Test("Removes the newest of two keys that may sign without a time in which none may", .shows("L26"))
    func retirementDuringReplacement() async throws {
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        try await fixture.run(ring, seconds: 3_700)
        let second = try await fixture.keyID(ring)
        #expect(try await fixture.published(ring).contains(first))
        // Its successor is too new, so the old key signs until verifiers know the successor.
        #expect(try await ring.retire(second))
        #expect(try await fixture.keyID(ring) == first)
        try await fixture.run(ring, seconds: 1_000)
        let third = try await fixture.keyID(ring)
        #expect(third != first && third != second)
        try await fixture.run(ring, seconds: 2 * 3_600)
    }

    @Test(
        "Rejects options that can't work",
        arguments: [
            SigningKeyRing.Options(rotationInterval: .seconds(7_000)),
            SigningKeyRing.Options(rotationInterval: .seconds(86_400), tokenLifetime: .seconds(30 * 86_400)),
            SigningKeyRing.Options(tokenLifetime: .zero), SigningKeyRing.Options(cacheLifetime: .seconds(59)),
            SigningKeyRing.Options(leeway: .seconds(-1)), SigningKeyRing.Options(pollInterval: .milliseconds(1)),
            SigningKeyRing.Options(clockDifference: .seconds(86_400)), SigningKeyRing.Options(algorithm: .hs256),
        ]
    )
    func options(options: SigningKeyRing.Options) async {
        #expect(await code { _ = try SigningKeyRing(options: options) } == .storeFailed)
    }
}
