import Foundation
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import HTTPSignatures

@Suite(.computing, .tags(.concurrency))
struct ReplayTests {
    private static var body: Data { SignatureFixture.body }

    @Test("accepts a nonce once", .shows("M4"))
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

    @Test("of concurrent copies, exactly one is accepted", .shows("M4", "P39", "RFC 9421 §7.2, §7.3"))
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

    @Test("a message that isn't accepted doesn't use up the nonce", .shows("M4"))
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

    @Test("fails closed if the cache is full or unreachable", .shows("M4"))
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

    @Test("a profile without times isn't accepted", .shows("M5"))
    func timelessProfile() throws {
        var fixture = try SignatureFixture()
        fixture.profile.requiredParameters = ["keyid"]
        #expect(throws: HTTPSignatureError(.invalidProfile, "")) { _ = try fixture.verifier() }
    }
}

@Suite(.computing, .tags(.concurrency))
struct ContentTests {
    private static var body: Data { SignatureFixture.body }

    private struct Parts: AsyncSequence, Sendable {
        let parts: [Data]
        struct Iterator: AsyncIteratorProtocol {
            var parts: ArraySlice<Data>
            mutating func next() async -> Data? { parts.popFirst() }
        }
        func makeAsyncIterator() -> Iterator { Iterator(parts: parts[...]) }
    }

    private func streamed(
        _ fixture: SignatureFixture,
        _ message: HTTPMessage,
        _ parts: [Data]
    ) async throws -> (received: Data, error: HTTPSignatureError.Code?) {
        let (verified, body) = try await fixture.verifier().verify(message, streaming: Parts(parts: parts))
        #expect(verified.keyID == "k1")
        var received = Data()
        do {
            for try await part in body { received += part }
            return (received, nil)
        } catch {
            return (received, (error as? HTTPSignatureError)?.code)
        }
    }

    @Test("rejects another body under a covered digest", .shows("M3", "Y6"))
    func changedBody() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        for other in [Data(), Self.body + [0], Data(Self.body.dropLast()), Data(Self.body.reversed())] {
            let error = try #require(try await fixture.error(message, body: other))
            #expect(error.code == .digestMismatch)
            #expect(error.status == 400)
        }
    }

    @Test("rejects a body that the signature doesn't cover, if the profile requires that", .shows("M3"))
    func uncoveredBody() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(try await fixture.error(message, body: Self.body)?.code == .insufficientCoverage)
        var open = fixture
        open.profile.components = [.required(.method), .required(.targetURI)]
        // Without the requirement, the body is anyone's.
        #expect(try await open.error(message, body: Self.body) == nil)
    }

    @Test("requires a digest of empty content if the profile does")
    func emptyContent() async throws {
        let fixture = try SignatureFixture(.legacyRSAFree)
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(message.headers["Content-Digest"] == "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:")
        #expect(try await fixture.error(message, body: Data()) == nil)
        #expect(try await fixture.error(message, body: Self.body)?.code == .digestMismatch)
    }

    @Test("checks all supported digests of the field, and ignores the others", .shows("M3"))
    func severalDigests() async throws {
        let fixture = try SignatureFixture()
        let sha256 = try HTTPDigest(of: Self.body).fieldValue
        let sha512 = try HTTPDigest(of: Self.body, by: .sha512).fieldValue
        let wrong = try HTTPDigest(of: Data(), by: .sha512).fieldValue
        for (value, expected) in [
            ("\(sha256), \(sha512)", nil), ("\(sha512), md5=:AA==:", nil), ("\(sha256), unknown=1", nil),
            ("\(sha256), \(wrong)", .digestMismatch),
        ] as [(String, HTTPSignatureError.Code?)] {
            let message = fixture.message.with("Content-Digest", value)
            if expected == nil {
                let signed = try await fixture.signed(message)
                #expect(signed.headers["Content-Digest"] == value)
                #expect(try await fixture.error(signed) == nil)
            } else {
                await #expect(throws: HTTPSignatureError(.digestMismatch, "")) { _ = try await fixture.signed(message) }
            }
        }
        for value in ["md5=:AA==:", "sha=:AA==:, unixsum=1", ""] {
            await #expect(throws: HTTPSignatureError(.unsupportedDigest, "")) {
                _ = try await fixture.signed(fixture.message.with("Content-Digest", value))
            }
        }
        await #expect(throws: HTTPSignatureError(.malformedComponent, "")) {
            _ = try await fixture.signed(fixture.message.with("Content-Digest", "sha-256=1"))
        }
    }

    @Test("a signed field with weak digests only isn't accepted", .shows("M3"))
    func weakDigest() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components = [.required(.method), .required(ComponentIdentifier("content-digest").binary)]
        let message = fixture.message.with("Content-Digest", "md5=:AA==:")
        let components = fixture.profile.coverage(of: message, hasContent: true)
        let parameters = SignatureParameters(
            components: components,
            parameters: .init([("created", .integer(1_700_000_000)), ("keyid", .string("k1")), ("nonce", .string("n"))])
        )
        let base = try SignatureBase(of: message, parameters: parameters)
        let signature = try await fixture.key.signature(for: base)
        let signed = message.with("Signature-Input", "sig1=" + (try parameters.serialized()))
            .with("Signature", "sig1=:\(signature.base64EncodedString()):")
        #expect(try await fixture.error(signed)?.code == .unsupportedDigest)
    }

    @Test("a covered member of the field is checked alone")
    func coveredMember() async throws {
        var fixture = try SignatureFixture()
        fixture.profile.components = [
            .required(.method), .ifContent(ComponentIdentifier("content-digest").member("sha-512")),
        ]
        fixture.profile.digestAlgorithm = .sha512
        let message = try await fixture.signed()
        #expect(try await fixture.error(message) == nil)
        // The other member isn't signed, so it doesn't count.
        let added = message.changing("Content-Digest") { "sha-256=:AAAA:, \($0)" }
        #expect(try await fixture.error(added) == nil)
        #expect(try await fixture.error(added, body: Data("x".utf8))?.code == .digestMismatch)
    }

    @Test("streamed content throws at its end if it isn't the signed one")
    func streaming() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        let parts = [Data(Self.body.prefix(5)), Data(), Data(Self.body.dropFirst(5))]
        #expect(try await streamed(fixture, message, parts) == (Self.body, nil))
        #expect(try await streamed(fixture, message, [Self.body, Data([0])]).error == .digestMismatch)
        #expect(try await streamed(fixture, message, []).error == .digestMismatch)
        // The parts arrive before the error.
        #expect(try await streamed(fixture, message, [Data("x".utf8)]) == (Data("x".utf8), .digestMismatch))
    }

    @Test("streamed content that isn't covered must be empty, and its header must not say otherwise", .shows("M3"))
    func uncoveredStream() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed(fixture.get, body: Data())
        #expect(try await streamed(fixture, message, []) == (Data(), nil))
        #expect(try await streamed(fixture, message, [Data(), Self.body]) == (Data(), .insufficientCoverage))
        for (name, value) in [("Content-Length", "3"), ("Transfer-Encoding", "chunked")] {
            await #expect(throws: HTTPSignatureError(.insufficientCoverage, "")) {
                _ = try await streamed(fixture, message.with(name, value), [])
            }
        }
        #expect(try await streamed(fixture, message.with("Content-Length", "0"), []).error == nil)
    }

    @Test("the errors of the body itself are passed on")
    func streamErrors() async throws {
        let fixture = try SignatureFixture()
        let message = try await fixture.signed()
        let stream = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(Data("{".utf8))
            continuation.finish(throwing: NetworkError(.connectionLost, "lost"))
        }
        let body = try await fixture.verifier().verify(message, streaming: stream).body
        await #expect(throws: NetworkError(.connectionLost, "")) { for try await _ in body {} }
    }
}

extension SignatureProfile {
    /// The profile of ActivityPub without its restriction to RSA.
    fileprivate static var legacyRSAFree: Self {
        var profile = legacyActivityPub
        profile.algorithms = nil
        return profile
    }
}
