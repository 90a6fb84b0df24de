import Foundation
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@Suite("Tokens that may be used once", .computing, .tags(.concurrency))
struct SingleUseTests {
    private let cache = RecordingCache()

    private func verifier(
        _ policy: ValidationPolicy = .clientAssertion(audience: "https://as", clientID: .skipIssuerCheck),
        key: SigningKey? = nil,
        at offset: Double = 0
    ) throws -> JWTVerifier {
        var policy = policy
        policy.currentDate = { Date(timeIntervalSince1970: Double(Fixture.now) + offset) }
        return JWTVerifier(key: try (key ?? Fixture.signingKey()).verificationKey, policy: policy)
    }

    private func token(_ changes: [String: JSONValue?] = [:], key: SigningKey? = nil) throws -> String {
        var claims: JSONObject = ["iss": "c", "sub": "c", "aud": "https://as", "exp": 1_700_000_100, "jti": "j"]
        for (name, value) in changes { claims[name] = value }
        return try Fixture.token(payload: claims.serialized(), key: key)
    }

    private func refusal(
        of token: String,
        by verifier: JWTVerifier,
        in cache: (any ReplayCache)? = nil
    ) async -> TokenError.Code? {
        await asyncCode { try await verifier.verify(token, onceIn: cache ?? self.cache) }
    }

    // MARK: Replay

    @Test(
        "Accepts a token once, also if its signature or its text differs",
        .shows("F13", "J29", "RFC 7515 §10.7, §10.10", "RFC 7519 §4.1.7, RFC 7523 §3 rule 7")
    )
    func replay() async throws {
        let verifier = try verifier()
        #expect(await refusal(of: try token(), by: verifier) == nil)
        #expect(await refusal(of: try token(), by: verifier) == .replayed)
        #expect(await refusal(of: try token(["exp": 1_700_000_101]), by: verifier) == .replayed)
        #expect(await refusal(of: try token(["jti": "k"]), by: verifier) == nil)
    }

    @Test("Other verifiers with the same cache reject the token, too")
    func sharedCache() async throws {
        #expect(await refusal(of: try token(), by: try verifier()) == nil)
        var policy = ValidationPolicy(issuer: "c", audience: "https://as")
        policy.requiredClaims = []
        #expect(await refusal(of: try token(), by: try verifier(policy)) == .replayed)
    }

    @Test("Equal IDs of other issuers and keys don't collide", .shows("F13", "RFC 7519 §4.1.7, RFC 7523 §3 rule 7"))
    func issuers() async throws {
        let other = try SigningKey.generate(.es256)
        #expect(await refusal(of: try token(), by: try verifier()) == nil)
        #expect(await refusal(of: try token(["iss": "d", "sub": "d"]), by: try verifier()) == nil)
        #expect(await refusal(of: try token(key: other), by: try verifier(key: other)) == nil)
        #expect(await refusal(of: try token(key: other), by: try verifier(key: other)) == .replayed)
        // The parts of one token's identity can't be moved to another part.
        let plain = ValidationPolicy(issuer: .skipIssuerCheck, audience: "https://as")
        for (issuer, name) in [(nil, "- 2:ab"), ("", "x"), ("a", "b c"), ("a b", "c"), (nil, "x")]
            as [(String?, String)]
        {
            let changes: [String: JSONValue?] = ["iss": issuer.map(JSONValue.string), "jti": .string(name)]
            #expect(await refusal(of: try token(changes), by: try verifier(plain)) == nil)
        }
    }

    @Test("A DPoP proof and a token never have the same identifier")
    func proofs() async throws {
        let date = Date(timeIntervalSince1970: Double(Fixture.now))
        let (method, url) = ("GET", "https://api.example")
        let proof = try DPoPProofGenerator(key: .generate(.es256)).proof(method: method, url: url, date: date)
        _ = try await DPoPVerifier(replayCache: cache, currentDate: { date })
            .verify(proof, method: method, url: url, for: .tokenEndpoint, nonce: .notRequired)
        #expect(await refusal(of: try token(), by: try self.verifier()) == nil)
        #expect(cache.entries.count == 2)
        #expect(Set(cache.entries.map(\.identifier)).count == 2)
    }

    @Test("Of concurrent verifications of a token, exactly one succeeds", .shows("F13", "J29"), arguments: [2, 50])
    func concurrency(count: Int) async throws {
        let (verifier, token, cache) = (try verifier(), try token(), InMemoryReplayCache())
        let codes = await withTaskGroup(of: TokenError.Code?.self) { group in
            for _ in 0..<count {
                group.addTask { await asyncCode { try await verifier.verify(token, onceIn: cache) } }
            }
            return await group.reduce(into: [TokenError.Code?]()) { $0.append($1) }
        }
        #expect(codes.count { $0 == nil } == 1)
        #expect(codes.count { $0 == .replayed } == count - 1)
    }

    // MARK: Order

    @Test(
        "A token that another check rejects isn't remembered",
        .shows("F15"),
        arguments: [
            (["aud": "else"], .audienceMismatch), (["exp": 1_600_000_000], .expired), (["sub": "d"], .subjectMismatch),
            (["exp": 1_700_000_400], .lifetimeTooLong),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func rejected(changes: [String: JSONValue?], expected: TokenError.Code) async throws {
        #expect(await refusal(of: try token(changes), by: try verifier()) == expected)
        let forged = try token(key: .generate(.es256))
        #expect(await refusal(of: forged, by: try verifier()) == .signatureInvalid)
        #expect(cache.entries.isEmpty)
        #expect(await refusal(of: try token(), by: try verifier()) == nil)
    }

    @Test(
        "Rejects a token that can't be remembered",
        .shows("F14"),
        arguments: [
            (["jti": nil], .missingClaim), (["jti": ""], .malformedClaim), (["jti": 1], .malformedClaim),
            (["exp": nil], .missingClaim), (["exp": 1_700_086_460], nil), (["exp": 1_700_086_461], .lifetimeTooLong),
            (["exp": 4_000_000_000], .lifetimeTooLong), (["exp": 253_402_300_799], .lifetimeTooLong),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func unidentified(changes: [String: JSONValue?], expected: TokenError.Code?) async throws {
        let policy = ValidationPolicy(issuer: "c", audience: "https://as", expiration: .optional)
        #expect(await refusal(of: try token(changes), by: try verifier(policy)) == expected)
        #expect(cache.entries.count == (expected == nil ? 1 : 0))
    }

    @Test("The policy's maximum lifetime limits the time until exp, too")
    func lifetime() async throws {
        var policy = ValidationPolicy(issuer: "c", audience: "https://as", leeway: .zero)
        policy.maximumLifetime = .seconds(172_800)
        #expect(await refusal(of: try token(["exp": 1_700_172_800]), by: try verifier(policy)) == nil)
        #expect(await refusal(of: try token(["exp": 1_700_172_801]), by: try verifier(policy)) == .lifetimeTooLong)
    }

    @Test(
        "Remembers a token a minute longer than it could be accepted, under a short identifier",
        .shows("F13", "RFC 7519 §4.1.7, RFC 7523 §3 rule 7")
    )
    func retention() async throws {
        let long = String(repeating: "j", count: 10_000)
        _ = try await verifier().verify(try token(["jti": .string(long)]), onceIn: cache)
        let entry = try #require(cache.entries.first)
        #expect(entry.expiration == Date(timeIntervalSince1970: 1_700_000_100 + 60 + 60))
        #expect(entry.date == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(entry.identifier.utf8.count == 43)
        #expect(entry.signer == (try Fixture.signingKey().verificationKey.thumbprint))
        let late = try verifier(at: 159)
        #expect(await refusal(of: try token(), by: late) == nil)
        #expect(await refusal(of: try token(["jti": "k"]), by: try verifier(at: 160)) == .expired)
    }

    // MARK: Cache

    @Test("A full cache rejects tokens with its own code", .shows("F14"))
    func full() async throws {
        let cache = InMemoryReplayCache(capacity: 1)
        #expect(await refusal(of: try token(), by: try verifier(), in: cache) == nil)
        #expect(await refusal(of: try token(["jti": "k"]), by: try verifier(), in: cache) == .replayCacheFull)
        #expect(await refusal(of: try token(), by: try verifier(), in: cache) == .replayed)
    }

    @Test("A failing cache rejects tokens and proofs with its own code, and its error is the cause", .shows("F14"))
    func failing() async throws {
        let cache = FailingCache { CocoaError(.fileWriteUnknown) }
        let failure = await #expect(throws: TokenError(.replayCacheFailed, "")) {
            try await verifier().verify(try token(), onceIn: cache)
        }
        #expect(failure?.cause is CocoaError)
        let date = Date(timeIntervalSince1970: Double(Fixture.now))
        let proof = try DPoPProofGenerator(key: .generate(.es256))
            .proof(method: "GET", url: "https://api.example", date: date)
        await #expect(throws: TokenError(.replayCacheFailed, "")) {
            try await DPoPVerifier(replayCache: cache, currentDate: { date })
                .verify(proof, method: "GET", url: "https://api.example", for: .tokenEndpoint, nonce: .notRequired)
        }
    }

    @Test("The cache's own TokenError and a cancellation keep their type")
    func ownErrors() async throws {
        await #expect(throws: TokenError(.checkFailed, "")) {
            try await verifier().verify(try token(), onceIn: FailingCache { TokenError(.checkFailed, "x") })
        }
        await #expect(throws: CancellationError.self) {
            try await verifier().verify(try token(), onceIn: FailingCache { CancellationError() })
        }
    }

    @Test("Works for access tokens")
    func accessTokens() async throws {
        let token = try Fixture.token(
            header: #"{"alg":"ES256","typ":"at+jwt"}"#,
            payload: #"{"iss":"i","sub":"s","aud":"a","exp":1700000100,"iat":1700000000,"jti":"j","client_id":"c"}"#
        )
        let verifier = try verifier(.accessToken(issuer: "i", audience: "a"))
        let found = try await verifier.verify(token, onceIn: cache)
        #expect(found.registered.subject == "s")
        #expect(found.header["typ"] == "at+jwt")
        #expect(await refusal(of: token, by: verifier) == .replayed)
    }
}

/// A cache that shows what it was asked to remember.
private final class RecordingCache: ReplayCache {
    struct Entry {
        let identifier: String
        let signer: String
        let expiration: Date
        let date: Date
    }

    private let state = Mutex<[Entry]>([])

    var entries: [Entry] { state.withLock { $0 } }

    func remember(
        _ identifier: String,
        signedBy thumbprint: String,
        until expiration: Date,
        at now: Date
    ) async throws -> Bool {
        state.withLock { entries in
            guard !entries.contains(where: { $0.identifier == identifier }) else { return false }
            entries.append(Entry(identifier: identifier, signer: thumbprint, expiration: expiration, date: now))
            return true
        }
    }
}

private struct FailingCache: ReplayCache {
    let failure: @Sendable () -> any Error

    func remember(
        _ identifier: String,
        signedBy thumbprint: String,
        until expiration: Date,
        at now: Date
    ) async throws -> Bool {
        throw failure()
    }
}
