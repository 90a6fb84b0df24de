import Foundation
import Networking
import OAuth2
import Synchronization
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.serialized)
struct ReplayTests {
    private static var body: Data { SignatureFixture.body }

    @Test("accepts a nonce once")
    func twice() async throws {
        let fixture = try SignatureFixture()
        let verifier = try fixture.verifier()
        let message = try await fixture.signed()
        _ = try await verifier.verify(message, body: Self.body)
        let error = await #expect(throws: HTTPSignatureError(.replayed, "")) {
            _ = try await verifier.verify(message, body: Self.body)
        }
        #expect(error?.status == 401)
        _ = try await verifier.verify(try await fixture.signed(), body: Self.body)
    }

    @Test("of concurrent copies, exactly one is accepted")
    func concurrently() async throws {
        let fixture = try SignatureFixture()
        let verifier = try fixture.verifier()
        let message = try await fixture.signed()
        let accepted = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<32 {
                group.addTask { (try? await verifier.verify(message, body: Self.body)) != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(accepted == 1)
    }

    @Test("a message that isn't accepted doesn't use up the nonce")
    func rejectedMessages() async throws {
        let fixture = try SignatureFixture()
        let verifier = try fixture.verifier()
        let message = try await fixture.signed()
        for (other, body) in [(message.with("Authorization", "x"), Self.body), (message, Data())] {
            await #expect(throws: HTTPSignatureError.self) { _ = try await verifier.verify(other, body: body) }
        }
        _ = try await verifier.verify(message, body: Self.body)
    }

    @Test("different keys may use the same nonce")
    func keys() async throws {
        let fixture = try SignatureFixture()
        let verifier = try fixture.verifier()
        for key in [fixture.key, fixture.other] {
            var signer = try fixture.signer(key)
            signer.makeNonce = { "the same" }
            let message = fixture.message.setting(try await signer.sign(fixture.message, body: .data(Self.body)))
            _ = try await verifier.verify(message, body: Self.body)
        }
    }

    private struct Record: Sendable {
        let identifier: String
        let owner: String
        let expiration: Date
    }

    private final class Cache: ReplayCache {
        struct Outage: Error {}
        let records = Mutex<[Record]>([])
        let fails: Bool

        init(fails: Bool = false) { self.fails = fails }

        func remember(
            _ identifier: String,
            signedBy thumbprint: String,
            until expiration: Date,
            at now: Date
        ) throws -> Bool {
            if fails { throw Outage() }
            records.withLock { $0.append(Record(identifier: identifier, owner: thumbprint, expiration: expiration)) }
            return true
        }
    }

    @Test("a nonce is remembered until its signature can't be accepted, under a hash")
    func expiration() async throws {
        var fixture = try SignatureFixture()
        let cache = Cache()
        _ = try await fixture.verifier(cache: cache).verify(try await fixture.signed(), body: Self.body)
        fixture.profile.lifetime = .seconds(20)
        _ = try await fixture.verifier(cache: cache).verify(try await fixture.signed(), body: Self.body)
        let records = cache.records.withLock { $0 }
        #expect(records.map { $0.expiration.timeIntervalSince(SignatureFixture.date) } == [420, 140])
        #expect(records.allSatisfy { $0.identifier.utf8.count == 43 })
        #expect(records.allSatisfy { $0.owner == fixture.key.verificationKey.thumbprint })
    }

    @Test("the cache doesn't get the hash of a secret")
    func secrets() async throws {
        var fixture = try SignatureFixture()
        let key = try SigningKey.generate(.hs256).identified(by: "k1")
        fixture.keys = SignatureKeys(key.verificationKey)
        let cache = Cache()
        _ = try await fixture.verifier(cache: cache).verify(try await fixture.signed(by: key), body: Self.body)
        #expect(cache.records.withLock { $0 }.map(\.owner) == ["keyid k1"])
    }

    @Test("fails closed if the cache is full or unreachable")
    func outage() async throws {
        let fixture = try SignatureFixture()
        let full = InMemoryReplayCache(capacity: 1)
        _ = try await fixture.verifier(cache: full).verify(try await fixture.signed(), body: Self.body)
        for cache in [full, Cache(fails: true)] as [any ReplayCache] {
            let error = try await #require(throws: HTTPSignatureError.self) {
                _ = try await fixture.verifier(cache: cache).verify(try await fixture.signed(), body: Self.body)
            }
            #expect(error.code == .undecided)
            #expect(error.status == 503)
            #expect(error.headers["Accept-Signature"] == nil)
        }
    }

    @Test("a nonce that isn't required is still checked, if there is a cache")
    func optionalNonce() async throws {
        var fixture = try SignatureFixture()
        let message = try await fixture.signed()
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) { _ = try fixture.verifier(cache: nil) }
        fixture.profile.nonce = .none
        let verifier = try fixture.verifier()
        _ = try await verifier.verify(message, body: Self.body)
        await #expect(throws: HTTPSignatureError(.replayed, "")) {
            _ = try await verifier.verify(message, body: Self.body)
        }
        let without = try fixture.verifier(cache: nil)
        _ = try await without.verify(message, body: Self.body)
        _ = try await without.verify(message, body: Self.body)
        let unique = try await fixture.signed()
        #expect(unique.headers["Signature-Input"]?.contains("nonce") == false)
        _ = try await verifier.verify(unique, body: Self.body)
    }

    @Test("a server's nonce is required, accepted for its lifetime, and handed out in challenges")
    func serverNonces() async throws {
        let fixture = try SignatureFixture()
        let nonces = try SignatureNonces(secret: Secret("a shared secret of the servers"), lifetime: .seconds(120))
        var verifier = try fixture.verifier()
        verifier.nonces = nonces
        let own = try await #require(throws: HTTPSignatureError.self) {
            _ = try await verifier.verify(try await fixture.signed(), body: Self.body)
        }
        #expect(own.code == .nonceMismatch)
        let field = try StructuredField.Dictionary(parsing: own.headers.values(for: "Accept-Signature"))
        guard case .innerList(let list) = field["sig1"], case .string(let nonce) = list.parameters["nonce"] else {
            Issue.record("no nonce")
            return
        }
        var signer = try fixture.signer()
        signer.makeNonce = { nonce }
        let message = fixture.message.setting(try await signer.sign(fixture.message, body: .data(Self.body)))
        _ = try await verifier.verify(message, body: Self.body)
        await #expect(throws: HTTPSignatureError(.replayed, "")) {
            _ = try await verifier.verify(message, body: Self.body)
        }
        // A server with the same secret accepts it, within its lifetime and the skew.
        let others = try SignatureNonces(secret: Secret("a shared secret of the servers"), lifetime: .seconds(120))
        for (seconds, isAccepted) in [(-61.0, false), (-60, true), (0, true), (180, true), (181, false)] {
            let date = SignatureFixture.date.addingTimeInterval(seconds)
            #expect(others.isIssued(nonce, at: date, clockSkew: 60) == isAccepted)
        }
        #expect(!(try SignatureNonces()).isIssued(nonce, at: SignatureFixture.date, clockSkew: 60))
        for other in ["", "x", nonce + "A", String(nonce.dropLast()), String(nonce.reversed())] {
            #expect(!nonces.isIssued(other, at: SignatureFixture.date, clockSkew: 60))
        }
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) { _ = try SignatureNonces(secret: Secret("")) }
    }

    @Test("a profile without times isn't accepted")
    func timelessProfile() throws {
        var fixture = try SignatureFixture()
        fixture.profile.requiredParameters = ["keyid"]
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) { _ = try fixture.verifier() }
    }
}
