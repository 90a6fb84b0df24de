import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("SigningKeyRing, failures", .limitedConcurrency, .tags(.concurrency))
struct KeyRingFailureTests {
    private let fixture = RingFixture()

    // MARK: Outages

    @Test("Without the store, a process that has no keys makes none")
    func coldStart() async throws {
        fixture.storage.isDown = true
        let ring = try fixture.ring()
        #expect(await code { _ = try await ring.signingKey() } == .storeUnavailable)
        #expect(await code { _ = try await ring.document() } == .storeUnavailable)
        // Callers don't read again at once.
        #expect(fixture.storage.reads == 1)
        fixture.storage.isDown = false
        fixture.time.advance(by: .seconds(1))
        _ = try await ring.signingKey()
    }

    @Test("While the store is down, uses the keys that verifiers know until the last may not sign", .shows("L23"))
    func outage() async throws {
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        try await fixture.run(ring, seconds: 900)
        let keys = try fixture.stored().keys
        fixture.storage.isDown = true
        fixture.time.setDate(keys[1].activeFrom)
        fixture.time.advance(by: .seconds(10))
        #expect(try await fixture.keyID(ring) == first)
        #expect(ring.status.failure?.code == .storeUnavailable)
        #expect(ring.status.isFresh)
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.keyID(ring) == keys[1].id)
        #expect(!ring.status.isFresh)
        #expect(try await ring.document().headers["Cache-Control"] == "public, max-age=60")
        #expect(ring.status.signsUntil == keys[1].signsUntil)
        fixture.time.setDate(keys[1].signsUntil - 1)
        #expect(try await fixture.keyID(ring) == keys[1].id)
        fixture.time.setDate(keys[1].signsUntil)
        let error = await #expect(throws: OAuth2Error.self) { try await ring.signingKey() }
        #expect(error?.code == .storeUnavailable)
        #expect(error?.message.contains("no signing key is left") == true)
        #expect(fixture.storage.accepted.count == 1)

        fixture.storage.isDown = false
        fixture.time.advance(by: .seconds(60))
        let late = try await fixture.keyID(ring)
        #expect(!keys.map(\.id).contains(late))
        #expect(ring.status.failure == nil)
    }

    @Test("While the store is down, a process that has just started doesn't begin to use another key")
    func newProcess() async throws {
        let old = try fixture.ring()
        let first = try await fixture.keyID(old)
        try await fixture.run(old, seconds: 3_700)
        #expect(try await fixture.keyID(old) != first)
        // The key that all hosts have known for longest.
        let ring = try fixture.ring()
        #expect(try await fixture.keyID(ring) == first)
        fixture.storage.isDown = true
        let end = try #require(try fixture.stored().keys.first).signsUntil
        fixture.time.advance(by: .seconds(61))
        #expect(try await fixture.keyID(ring) == first)
        fixture.time.setDate(end)
        #expect(await code { _ = try await ring.signingKey() } == .storeUnavailable)
        // After a reading, it has no older key; the other host never depended on one.
        #expect(try await fixture.keyID(old) != first)
        fixture.storage.isDown = false
        fixture.time.advance(by: .seconds(60))
        #expect(try await fixture.keyID(ring) == (try await fixture.keyID(old)))
    }

    @Test("After a gap in its readings, a host uses a new key only when verifiers know it", .shows("L23"))
    func gap() async throws {
        let (ring, other) = (try fixture.ring(), try fixture.ring(random: 0.9))
        let first = try await fixture.keyID(ring)
        try await fixture.run(ring, other, seconds: 900)
        // The second key is removed, and its successor appears just before an outage.
        let second = try #require(try await fixture.published(ring).last)
        #expect(try await ring.retire(second))
        fixture.storage.isDown = true
        let third = try #require(try await fixture.published(ring).last)
        let active = try #require(try fixture.stored().keys.last).activeFrom
        for _ in 0..<Int(active.timeIntervalSince(fixture.time.date) / 20 + 10) {
            fixture.time.advance(by: .seconds(20))
            #expect(try await fixture.keyID(ring) == first)
        }
        fixture.storage.isDown = false
        try await fixture.run(ring, seconds: 780)
        #expect(try await fixture.keyID(ring) == first)
        try await fixture.run(ring, seconds: 120)
        #expect(try await fixture.keyID(ring) == third)
    }

    @Test("A store that hangs delays callers only while they have no keys")
    func slowStore() async throws {
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        // The storage mustn't keep itself, nor a task that sleeps for ever.
        fixture.storage.whileReading { [time = fixture.time] in try await time.sleep(for: .seconds(1_000)) }
        defer {
            fixture.storage.whileReading(nil)
            fixture.time.end()
        }
        fixture.time.advance(by: .seconds(61))
        let waiting = Task { try await ring.signingKey().keyID }
        // The reading, the timeout of the refresh, and the caller's patience.
        try await fixture.time.waitForSleepers(count: 3)
        fixture.time.advance(by: .seconds(5))
        #expect(try await waiting.value == first)
        #expect(try await ring.signingKey().keyID == first)
        fixture.time.advance(by: .seconds(25))
        await fixture.settle(ring)
        #expect(ring.status.failure?.code == .storeUnavailable)
        #expect(try await ring.signingKey().keyID == first)
    }

    // MARK: Writes

    @Test(
        "A write whose outcome is unknown is found by its record, however late it takes effect",
        .shows("L22"),
        arguments: [
            ([ScriptedStorage.Writing.lost], 2), ([.rejected], 2), ([.late], 3), ([.rejected, .lost], 3),
        ]
    )
    func unknownOutcome(script: [ScriptedStorage.Writing], reads: Int) async throws {
        switch script.count {
        case 1: fixture.storage.script(script[0])
        default: fixture.storage.script(script[0], script[1])
        }
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        #expect(fixture.storage.accepted.count == 1)
        #expect(fixture.storage.reads == reads)
        #expect(try fixture.stored().keys.first?.id == first)
        #expect(try await fixture.keyID(try fixture.ring()) == first)
    }

    @Test("A key whose write has failed is never used, even if it takes effect later", .shows("L22"))
    func failedWrite() async throws {
        fixture.storage.script(.rejected, .late)
        let ring = try fixture.ring()
        #expect(await code { _ = try await ring.signingKey() } == .storeUnavailable)
        // The late write is handled before the next one, of another host.
        let other = try fixture.ring()
        let id = try await fixture.keyID(other)
        fixture.time.advance(by: .seconds(2))
        #expect(try await fixture.keyID(ring) == id)
        #expect(fixture.storage.accepted.count == 1)
        #expect(try fixture.stored().keys.first?.id == id)
    }

    @Test("If the next key can't be written, hosts go on, report it and try again")
    func failedRotation() async throws {
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        try await fixture.run(ring, seconds: 3_580)
        fixture.storage.script(.rejected, .rejected)
        fixture.time.advance(by: .seconds(60))
        let second = try await fixture.keyID(ring)
        #expect(second != first)
        #expect(ring.status.failure?.code == .storeUnavailable)
        #expect(try fixture.stored().keys.count == 2)
        fixture.time.advance(by: .seconds(40))
        #expect(try await fixture.keyID(ring) == second)
        #expect(ring.status.failure == nil)
        #expect(try fixture.stored().keys.count == 3)
    }

    @Test("Rejects two new keys with one ID")
    func equalIDs() throws {
        let key = try SigningKey.generate(.es256).identified(by: "k1")
        let rules = try KeyRingRules(RingFixture.options)
        let error = #expect(throws: OAuth2Error.self) {
            try rules.maintained([], at: fixture.time.date, share: 0) { key }
        }
        #expect(error?.code == .storeFailed)
        #expect(error?.message == "the ring has too many keys, or two with one ID")
    }

    @Test("A caller without a key waits for the refresh that has read the set and may add one")
    func refreshAddsKey() throws {
        var lifecycle = KeyRingLifecycle(rules: try KeyRingRules(RingFixture.options))
        let now = fixture.time.now
        guard case .wait(let first, _) = lifecycle.step(at: now) else {
            Issue.record("no refresh")
            return
        }
        lifecycle.adopt(KeyRingSet(generation: 1, attempt: "a", keys: []), asOf: now, at: now)
        guard case .use = lifecycle.step(at: now), case .wait(first, _) = lifecycle.step(at: now, isUrgent: true) else {
            Issue.record("doesn't wait")
            return
        }
        // Not longer than its patience.
        guard case .use = lifecycle.step(at: now + KeyRingLifecycle.patience, isUrgent: true) else {
            Issue.record("waits on")
            return
        }
    }

    @Test("If no key may sign and the next one can't be written, throws the store's error")
    func failedRevival() async throws {
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        fixture.time.advance(by: .seconds(1_000_000))
        fixture.storage.script(.rejected, .rejected)
        #expect(await code { _ = try await ring.signingKey() } == .storeUnavailable)
        fixture.time.advance(by: .seconds(2))
        #expect(try await fixture.keyID(ring) != first)
    }

    @Test("Fails if other hosts write all the time")
    func contention() async throws {
        let ring = try fixture.ring()
        let id = try await fixture.keyID(ring)
        let storage = fixture.storage
        @Sendable func interfere() {
            storage.beforeWrite {
                storage.record = storage.record
                interfere()
            }
        }
        interfere()
        // The closure keeps the storage that keeps it.
        defer { storage.beforeWrite {} }
        #expect(await code { _ = try await ring.retire(id) } == .storeBusy)
        #expect(try await fixture.keyID(ring) == id)
    }

    @Test("Rejects a record that the store can't hold")
    func size() async throws {
        var fixture = fixture
        fixture.storage = ScriptedStorage(maximumSize: 100)
        let ring = try fixture.ring()
        #expect(await code { _ = try await ring.signingKey() } == .storeFailed)
        #expect(fixture.storage.accepted.isEmpty)
    }

    @Test("Rejects more than 16 keys in a set, and IDs of more than 256 bytes")
    func limits() async throws {
        let key = try SigningKey.generate(.es256)
        let coding = KeyRingCoding(cipher: try RecordKeys(sealing: RingFixture.key).cipher, name: "default")
        func set(_ count: Int, _ prefix: String = "") -> KeyRingSet {
            let now = fixture.time.date
            let keys = (0..<count).map { index in
                RingKey(
                    key: key,
                    id: prefix + "\(index)",
                    publishedAt: now,
                    activeFrom: now,
                    signsUntil: now,
                    verifiesUntil: now
                )
            }
            return KeyRingSet(generation: 1, attempt: "a", keys: keys)
        }
        #expect(try coding.decode(coding.encode(set(16))).keys.count == 16)
        #expect(throws: OAuth2Error(.storeFailed, "")) { try coding.encode(set(17)) }
        let long = String(repeating: "a", count: 255)
        #expect(try coding.decode(coding.encode(set(1, long))).keys.first?.id == long + "0")
        #expect(throws: OAuth2Error(.storeFailed, "")) { try coding.encode(set(1, long + "a")) }
        let ring = try fixture.ring(initialKey: key.identified(by: long + "aa"))
        #expect(await code { _ = try await ring.signingKey() } == .storeFailed)
    }

    // MARK: Records

    @Test(
        "Rejects damaged and foreign records, and leaves them alone",
        arguments: [
            "", "{}", "<html>", #"{"format":"swift-authenticated-client/token","version":2}"#,
            #"{"format":"swift-authenticated-client/signing-keys"}"#,
            #"{"format":"swift-authenticated-client/signing-keys","version":1}"#,
            #"{"format":"swift-authenticated-client/signing-keys","version":1,"sealed":"AA==","sealed_with":"00"}"#,
            #"{"format":"swift-authenticated-client/signing-keys","version":1,"sealed":"*","sealed_with":"00"}"#,
        ]
    )
    func damagedRecords(text: String) async throws {
        fixture.storage.record = Array(text.utf8)
        let ring = try fixture.ring()
        #expect(await code { _ = try await ring.signingKey() } == .storeDamaged)
        #expect(await code { _ = try await ring.retire("a") } == .storeDamaged)
        #expect(fixture.storage.record == Array(text.utf8))
    }

    @Test(
        "Rejects a record that was modified, is another ring's, or is encrypted with another key",
        .shows("L24", "Y2")
    )
    func foreignRecords() async throws {
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        let record = try #require(fixture.storage.record)
        let other = try RecordKeys(sealing: RingFixture.otherKey)
        #expect(await code { _ = try await fixture.ring(name: "other").signingKey() } == .storeDamaged)
        #expect(await code { _ = try await fixture.ring(keys: other).signingKey() } == .storeDamaged)
        for index in stride(from: 0, to: record.count, by: 7) {
            var changed = record
            changed[index] ^= 0x01
            fixture.storage.record = changed
            let found = await code { _ = try await fixture.ring().signingKey() }
            #expect(found == .storeDamaged || found == .storeTooNew, "byte \(index)")
        }
        fixture.storage.record = Array(record.dropLast())
        #expect(await code { _ = try await fixture.ring().signingKey() } == .storeDamaged)
        fixture.storage.record = record + Array(repeating: 0x20, count: KeyRingCoding.maximumSize)
        #expect(await code { _ = try await fixture.ring().signingKey() } == .storeDamaged)
        // A process that has keys still uses them.
        fixture.time.advance(by: .seconds(61))
        #expect(try await fixture.keyID(ring) == first)
        #expect(ring.status.failure?.code == .storeDamaged)
    }

    /// The content of a set with one key of three bytes.
    private static func content(_ member: String, _ value: String) -> String {
        var members = [
            "kid": #""a""#, "alg": #""ES256""#, "published_at": "1", "active_from": "1", "signs_until": "1",
            "verifies_until": "1", "size": "3",
        ]
        members[member] = value
        let key = members.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
        return "{\"generation\":1,\"attempt\":\"a\",\"keys\":[{\(key)}]}\nabc"
    }

    private static func empty(keys: String = "", generation: Int = 1) -> String {
        "{\"generation\":\(generation),\"attempt\":\"a\",\"keys\":[\(keys)]}\n"
    }

    private static let contents: [String] = [
        "", "{}", "{}\n", empty(generation: 0), empty(keys: "{}"), empty() + "x",
        empty(keys: Array(repeating: "{}", count: 17).joined(separator: ",")), content("kid", #""a""#),
        content("kid", #""""#), content("size", "4"), content("size", "9000000000000000000"), content("size", "0"),
        content("alg", #""HS256""#), content("alg", #""none""#), content("published_at", "-1"),
        content("active_from", "2"), content("signs_until", "2"), content("verifies_until", "1e99"),
    ]

    @Test("Rejects sealed content that isn't a set of keys", .shows("L24"), arguments: contents)
    func damagedContent(text: String) async throws {
        let cipher = try RecordKeys(sealing: RingFixture.key).cipher
        let context = Array("\(KeyRingCoding.format)\n\(KeyRingCoding.version)\ndefault".utf8)
        let sealed = try cipher.seal(Array(text.utf8), authenticating: context)
        let file: JSONObject = [
            "format": .string(KeyRingCoding.format), "version": 1, "sealed_with": .string(sealed.keyID),
            "sealed": .string(Data(sealed.bytes).base64EncodedString()),
        ]
        fixture.storage.record = Array(file.serialized().utf8)
        #expect(await code { _ = try await fixture.ring().signingKey() } == .storeDamaged)
    }

    @Test("A record of a newer format is left alone")
    func newerFormat() async throws {
        let text = #"{"format":"swift-authenticated-client/signing-keys","version":2}"#
        fixture.storage.record = Array(text.utf8)
        let ring = try fixture.ring()
        #expect(await code { _ = try await ring.signingKey() } == .storeTooNew)
        #expect(await code { _ = try await ring.retire("a") } == .storeTooNew)
        #expect(fixture.storage.record == Array(text.utf8))
    }

    @Test(
        "A process rejects keys of a backup, uses its newer ones, and puts them back into an empty store",
        .shows("L24", "Y2")
    )
    func restoredBackup() async throws {
        let ring = try fixture.ring()
        _ = try await fixture.keyID(ring)
        let backup = try #require(fixture.storage.record)
        try await fixture.run(ring, seconds: 3_700)
        let signer = try await fixture.keyID(ring)
        let published = try await fixture.published(ring)
        fixture.storage.record = backup
        fixture.time.advance(by: .seconds(61))
        #expect(try await fixture.keyID(ring) == signer)
        #expect(ring.status.failure?.code == .storeDamaged)
        #expect(fixture.storage.record == backup)
        // As the message says.
        fixture.storage.record = nil
        fixture.time.advance(by: .seconds(61))
        #expect(try await fixture.keyID(ring) == signer)
        #expect(ring.status.failure == nil)
        #expect(try fixture.stored().generation == 3)
        #expect(try await fixture.published(try fixture.ring()) == published)
    }

    @Test("A process rejects another set of the same generation", .shows("L24"))
    func fork() async throws {
        let ring = try fixture.ring()
        let first = try await fixture.keyID(ring)
        fixture.storage.record = nil
        _ = try await fixture.keyID(try fixture.ring())
        #expect(try fixture.stored().generation == 1)
        fixture.time.advance(by: .seconds(61))
        #expect(try await fixture.keyID(ring) == first)
        #expect(ring.status.failure?.code == .storeDamaged)
    }

    // MARK: Secrets

    @Test("Opens records with old keys, and each process encrypts the keys once with the new one")
    func recordKeys() async throws {
        let old = try fixture.ring()
        let first = try await fixture.keyID(old)
        let keys = try RecordKeys(sealing: RingFixture.otherKey, alsoOpening: [RingFixture.key])
        let ring = try fixture.ring(keys: keys)
        #expect(try await fixture.keyID(ring) == first)
        #expect(try fixture.stored(RecordKeys(sealing: RingFixture.otherKey)).keys.first?.id == first)
        #expect(fixture.storage.accepted.count == 2)
        // A host that still seals with the old key does so once, and then they agree.
        let previous = try fixture.ring(
            keys: RecordKeys(sealing: RingFixture.key, alsoOpening: [RingFixture.otherKey])
        )
        try await fixture.run(ring, previous, seconds: 600)
        #expect(fixture.storage.accepted.count == 3)
    }

    @Test("Private keys leave the process only encrypted, and appear in no description", .shows("L25", "Y2"))
    func secrecy() async throws {
        let key = try SigningKey.generate(.es256).identified(by: "a")
        let secrets = [
            try #require(try key.privateJWK().members["d"]?.string), try key.der().base64EncodedString(),
        ]
        let ring = try fixture.ring(initialKey: key)
        let token = try await ring.sign(RegisteredClaims(issuer: "a"))
        let record = try #require(fixture.storage.record)
        var texts = [String(decoding: record, as: UTF8.self), token, "\(ring.status)", "\(try fixture.stored())"]
        texts.append(String(decoding: try await ring.document().body, as: UTF8.self))
        for value in [ring, ring.status, try fixture.stored(), ring.state.withLock { $0 }] as [Any] {
            var text = ""
            dump(value, to: &text)
            texts += [text, String(reflecting: value)]
        }
        fixture.storage.record = record.reversed()
        await #expect(throws: OAuth2Error.self) { try await fixture.ring(initialKey: key).signingKey() }
        do { _ = try await fixture.ring(initialKey: key).signingKey() } catch { texts.append("\(error)") }
        for text in texts { for secret in secrets { #expect(!text.contains(secret)) } }
        // The sealed part isn't the DER in another encoding.
        let der = Array(try key.der())
        let file = try JSONObject(parsing: Data(record))
        let sealed = Array(try #require(Data(base64Encoded: file["sealed"]?.string ?? "")))
        #expect(!sealed.contains(der))
        #expect(!record.contains(der))
    }
}
