import Foundation
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("RemoteKeySet", .limitedConcurrency, .tags(.concurrency))
struct RemoteKeySetTests {
    private let first: IssuerKey
    private let second: IssuerKey

    init() throws {
        first = try IssuerKey(id: "1")
        second = try IssuerKey(id: "2")
    }

    // MARK: Requests

    @Test("A thousand successive tokens with invented key IDs cost one request", .shows("B6"))
    func bogusKeyIDs() async throws {
        let issuer = PublishedKeys([first])
        let verifier = issuer.verifier()
        for number in 1...1_000 {
            let token = try issuer.token(first, keyID: "bogus-\(number)")
            await #expect(throws: TokenError(.unknownKey, "")) { try await verifier.verify(token) }
        }
        #expect(issuer.fetchCount == 1)
    }

    @Test("A thousand concurrent tokens with invented key IDs cost one request per cooldown", .shows("B6", "J16"))
    func bogusKeyIDsAtOnce() async throws {
        let issuer = PublishedKeys([first])
        let verifier = issuer.verifier()
        let tokens = try (1...1_000).map { try issuer.token(first, keyID: "bogus-\($0)") }
        for round in 1...3 {
            let codes = await withTaskGroup(of: TokenError.Code?.self) { group in
                for token in tokens {
                    group.addTask { await flaw { try await verifier.verify(token) } }
                }
                return await group.reduce(into: [TokenError.Code?]()) { $0.append($1) }
            }
            #expect(codes.allSatisfy { $0 == .unknownKey })
            #expect(codes.count == 1_000)
            #expect(issuer.fetchCount == round)
            issuer.time.advance(by: .seconds(30))
        }
    }

    @Test("Concurrent callers share one request for the first keys", .shows("B9"))
    func singleFlight() async throws {
        let gate = ResponseGate()
        let issuer = PublishedKeys([], steps: [.json(IssuerKey.document([first])).gated(by: gate)])
        let verifier = issuer.verifier()
        let token = try issuer.token(first)
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 1...200 { group.addTask { try await verifier.verify(token).registered.subject } }
            try await gate.waitForWaiters(count: 1)
            gate.open()
            for try await subject in group { #expect(subject == "ada") }
        }
        #expect(issuer.fetchCount == 1)
    }

    @Test("Sends no requests while the keys are valid")
    func fresh() async throws {
        let issuer = PublishedKeys([first])
        let verifier = issuer.verifier()
        let token = try issuer.token(first)
        for _ in 1...10 {
            _ = try await verifier.verify(token)
            issuer.time.advance(by: .seconds(26))
        }
        #expect(issuer.fetchCount == 1)
    }

    @Test("A cancelled caller stops waiting, and the others get the keys")
    func cancellation() async throws {
        let gate = ResponseGate()
        let issuer = PublishedKeys([], steps: [.json(IssuerKey.document([first])).gated(by: gate)])
        let keys = issuer.keySet()
        let impatient = Task { try await keys.keys() }
        try await gate.waitForWaiters(count: 1)
        let patient = Task { try await keys.keys() }
        impatient.cancel()
        await #expect(throws: CancellationError.self) { try await impatient.value }
        gate.open()
        #expect(try await patient.value.keys.count == 1)
        #expect(issuer.fetchCount == 1)
    }

    // MARK: New keys

    @Test(
        "Verifies a token with a newly published key at once, also without key IDs",
        .shows("RFC 7517 §5 (remote)"),
        arguments: ["2", nil]
    )
    func rotation(id: String?) async throws {
        let (old, new) = (try IssuerKey(id: id == nil ? nil : "1"), try IssuerKey(id: id))
        let issuer = PublishedKeys([old])
        let verifier = issuer.verifier()
        _ = try await verifier.verify(try issuer.token(old))
        issuer.publish(id == nil ? [new] : [old, new])
        issuer.time.advance(by: .seconds(30))
        #expect(try await verifier.verify(try issuer.token(new)).registered.subject == "ada")
        if id != nil { #expect(try await verifier.verify(try issuer.token(old)).registered.subject == "ada") }
        #expect(issuer.fetchCount == 2)
    }

    @Test("Rejects a withdrawn key after the next fetch", .shows("RFC 7517 §5 (remote)"))
    func withdrawal() async throws {
        let issuer = PublishedKeys([first, second])
        let verifier = issuer.verifier()
        let token = try issuer.token(first)
        _ = try await verifier.verify(token)
        issuer.publish([second])
        issuer.time.advance(by: .seconds(299))
        // The fetch is in progress while this caller uses the old keys.
        _ = try await verifier.verify(token)
        while verifier.keySet.status.loadCount < 2 { await Task.yield() }
        await #expect(throws: TokenError(.unknownKey, "")) { try await verifier.verify(token) }
        #expect(issuer.fetchCount == 2)
    }

    @Test("A forged signature with a known key ID causes no fetch", .shows("B6"))
    func forgery() async throws {
        let issuer = PublishedKeys([first])
        let verifier = issuer.verifier()
        _ = try await verifier.verify(try issuer.token(first))
        issuer.time.advance(by: .seconds(60))
        let forged = try issuer.token(second, keyID: "1")
        await #expect(throws: TokenError(.signatureInvalid, "")) { try await verifier.verify(forged) }
        #expect(issuer.fetchCount == 1)
    }

    @Test("Uses RS256 or the caller's algorithm for keys that state none")
    func assumedAlgorithm() async throws {
        let key = try IssuerKey(.rs256, id: "rsa")
        let issuer = PublishedKeys([])
        issuer.publish(text: JWKSet(keys: [key.jwkWithoutAlgorithm]).serialized())
        let token = try issuer.token(key)
        #expect(try await issuer.verifier().verify(token).registered.subject == "ada")
        let pss = try issuer.token(key.signing(with: .ps256))
        let verifier = issuer.verifier(selection: KeySelection(assumedAlgorithms: [.ps256]))
        #expect(try await verifier.verify(pss).registered.subject == "ada")
        await #expect(throws: TokenError(.algorithmMismatch, "")) { try await verifier.verify(token) }
        await #expect(throws: TokenError(.algorithmMismatch, "")) { try await issuer.verifier().verify(pss) }
    }

    // MARK: Other keys

    private struct Claims: Codable, Equatable {
        let sub: String
        let exp: Date
    }

    @Test("Decodes the claims of a token, with fetched, fixed and single keys")
    func claims() async throws {
        let issuer = PublishedKeys([first])
        let policy = ValidationPolicy(issuer: .exactly(PublishedKeys.issuer), currentDate: issuer.time.timeSource.date)
        let token = try issuer.token(first)
        let keys: [IssuerKeys] = [
            .remote(issuer.keySet()), .fixed(JWKSet(keys: [first.jwk])), .key(first.key.verificationKey),
        ]
        for keys in keys {
            let verifier = RemoteJWTVerifier(keys: keys, policy: policy)
            for _ in 1...2 {
                let claims = try await verifier.verify(token, as: Claims.self)
                #expect(claims == Claims(sub: "ada", exp: issuer.time.date.addingTimeInterval(315_360_000)))
            }
            await #expect(throws: TokenError(.malformedClaim, "")) {
                try await verifier.verify(token, as: [String: Int].self)
            }
            let forged = try issuer.token(second, keyID: "1")
            await #expect(throws: TokenError(.signatureInvalid, "")) {
                try await verifier.verify(forged, as: Claims.self)
            }
        }
        #expect(issuer.fetchCount == 1)
    }

    @Test("Verifiers with the same value share the keys")
    func shared() async throws {
        let issuer = PublishedKeys([first])
        let keys = IssuerKeys.url(
            PublishedKeys.url,
            client: NetworkClient(transport: issuer.transport, options: .init(timeSource: issuer.time.timeSource)),
            options: .init(timeSource: issuer.time.timeSource)
        )
        let policy = ValidationPolicy(issuer: .exactly(PublishedKeys.issuer), currentDate: issuer.time.timeSource.date)
        let token = try issuer.token(first)
        for _ in 1...3 { _ = try await RemoteJWTVerifier(keys: keys, policy: policy).verify(token) }
        #expect(issuer.fetchCount == 1)
        #expect(keys.keySet?.status.loadCount == 1)
    }

    @Test("A verifier that isn't for a certain issuer has no published keys")
    func published() async throws {
        let token = try PublishedKeys([]).token(first)
        await #expect(throws: OAuth2Error(.endpointMissing, "")) {
            try await RemoteJWTVerifier(keys: .published).verify(token)
        }
    }

    // MARK: Preparation

    @Test("Prepares a key once for all verifiers and callers, when a token first uses it", .shows("K2"))
    func preparation() async throws {
        let key = try IssuerKey(.ps256, id: "3")
        let issuer = PublishedKeys([first, second, key])
        let keySet = issuer.keySet()
        let policy = ValidationPolicy(issuer: .exactly(PublishedKeys.issuer), currentDate: issuer.time.timeSource.date)
        let verifiers = (1...4).map { _ in RemoteJWTVerifier(keys: .remote(keySet), policy: policy) }
        let set = try await keySet.keys()
        #expect(set.preparationCount == 0)
        let token = try issuer.token(key)
        try await withThrowingTaskGroup(of: String?.self) { group in
            for number in 1...40 {
                group.addTask { try await verifiers[number % 4].verify(token).registered.subject }
            }
            for try await subject in group { #expect(subject == "ada") }
        }
        #expect(set.preparationCount == 1)
        // The same document for another lifetime: its keys stay prepared.
        issuer.time.advance(by: .seconds(600))
        _ = try await verifiers[0].verify(token)
        #expect(issuer.fetchCount == 2)
        #expect(try await keySet.keys().preparationCount == 1)
    }

    @Test("Rejects an RSA key of more than 4096 bits unless the caller raises the limit")
    func largeKeys() async throws {
        let modulus = JSONValue.string(Base64URL.encode([0x80] + [UInt8](repeating: 0, count: 1_022) + [3]))
        let jwk = try JWK(["kty": "RSA", "alg": "RS256", "kid": "1", "n": modulus, "e": "Aw"])
        let issuer = PublishedKeys([])
        issuer.publish(text: JWKSet(keys: [jwk]).serialized())
        let token = try issuer.token(try IssuerKey(.rs256, id: "1"))
        await #expect(throws: TokenError(.tooLarge, "")) { try await issuer.verifier().verify(token) }
        let raised = issuer.verifier { $0.maximumRSAKeySize = 8_192 }
        await #expect(throws: TokenError(.signatureInvalid, "")) { try await raised.verify(token) }
    }

    // MARK: Lifetime

    @Test("Refreshes keys once, shortly before they expire, while callers use the old ones", .shows("J16"))
    func refreshAhead() async throws {
        let gate = ResponseGate()
        let issuer = PublishedKeys(
            [],
            steps: [
                .json(IssuerKey.document([first])), .json(IssuerKey.document([second])).gated(by: gate),
            ]
        )
        let keys = issuer.keySet()
        _ = try await keys.keys()
        issuer.time.advance(by: .seconds(269))
        _ = try await keys.keys()
        #expect(issuer.fetchCount == 1)
        issuer.time.advance(by: .seconds(1))
        for _ in 1...20 { #expect(try await keys.keys().keys == [first.jwk]) }
        try await gate.waitForWaiters(count: 1)
        #expect(issuer.fetchCount == 2)
        gate.open()
        while try await keys.keys().keys != [second.jwk] { await Task.yield() }
        #expect(keys.status.loadCount == 2)
        #expect(issuer.fetchCount == 2)
    }
}
