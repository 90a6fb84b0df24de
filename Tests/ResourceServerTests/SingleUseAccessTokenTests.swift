import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

@Suite("Access tokens that may be used once", .limitedConcurrency, .tags(.concurrency))
struct SingleUseAccessTokenTests {
    private var api: GuardedAPI
    private let cache = InMemoryReplayCache()

    init() throws {
        api = try GuardedAPI()
        api.verifier.replayCache = cache
    }

    @Test("Accepts each token once, by default any number of times", .shows("RFC 7519 §4.1.7, RFC 7523 §3 rule 7"))
    func replay() async throws {
        let token = try api.token()
        _ = try await api.verify(bearer: token)
        #expect(await api.verifier.flaw(of: token) == .replayed)
        _ = try await api.verify(bearer: try api.token(["jti": "8"]))
        var unlimited = api
        unlimited.verifier.replayCache = nil
        for _ in 1...2 { _ = try await unlimited.verify(bearer: token) }
    }

    @Test("Of concurrent requests with a token, exactly one is accepted", .shows("F13"))
    func concurrency() async throws {
        let (api, token) = (api, try api.token())
        let isAccepted = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask { (try? await api.verify(bearer: token)) != nil }
            }
            return await group.reduce(into: [Bool]()) { $0.append($1) }
        }
        #expect(isAccepted.count { $0 } == 1)
    }

    @Test("A request that is rejected for another reason doesn't use up its token", .shows("F15"))
    func rejected() async throws {
        let token = try api.token()
        await #expect(throws: AccessRefusal(.insufficientScope, "")) {
            try await api.verify(bearer: token, requires: AccessRequirement(scope: ["admin"]))
        }
        await #expect(throws: AccessRefusal(.insufficientAuthentication, "")) {
            try await api.verify(bearer: token, requires: AccessRequirement(acrValues: ["gold"]))
        }
        let bound = try api.token(["cnf": ["jkt": "x"]])
        await #expect(throws: AccessRefusal(.invalidToken, "")) { try await api.verify(bearer: bound) }
        #expect(cache.count == 0)
        _ = try await api.verify(bearer: token)
        #expect(cache.count == 1)
    }

    @Test(
        "Rejects a token that can't be remembered, or expires too late for it",
        arguments: [
            ("jti", "", .malformedClaim), ("jti", nil, .missingClaim), ("exp", nil, .missingClaim),
            ("exp", 1_000_086_461, .lifetimeTooLong),
        ] as [(String, JSONValue?, TokenError.Code)]
    )
    func unidentified(name: String, value: JSONValue?, expected: TokenError.Code) async throws {
        var api = api
        api.verifier.policy.requiredClaims = []
        api.verifier.policy.expiration = .optional
        #expect(try await api.verifier.flaw(of: api.token([name: value])) == expected)
    }

    @Test("Responds with 503 if the cache is full or fails", .shows("F14"))
    func unavailable() async throws {
        var api = api
        let caches: [(any ReplayCache, TokenError.Code)] = [
            (InMemoryReplayCache(capacity: 0), .replayCacheFull), (BrokenCache(), .replayCacheFailed),
        ]
        for (cache, code) in caches {
            api.verifier.replayCache = cache
            let refusal = await #expect(throws: AccessRefusal(.undecided, "")) {
                try await api.verify(bearer: try api.token())
            }
            #expect((refusal?.status, (refusal?.cause as? TokenError)?.code) == (503, code))
        }
        // The same for proofs.
        let prover = try DPoPProofGenerator(key: .generate(.es256))
        api.verifier.replayCache = nil
        api.verifier.dpop = DPoPVerifier(replayCache: BrokenCache())
        let token = try api.token(["cnf": ["jkt": .string(prover.thumbprint)]])
        let date = api.issuer.time.date
        let proof = try prover.proof(method: "GET", url: GuardedAPI.url, accessToken: token, date: date)
        let refusal = await #expect(throws: AccessRefusal(.undecided, "")) {
            try await api.verify(dpop: token, proof: proof)
        }
        #expect((refusal?.cause as? TokenError)?.code == .replayCacheFailed)
    }

    @Test("Remembers the tokens of several issuers separately")
    func issuers() async throws {
        let other = try IssuerKey(id: "1")
        var verifier = try AccessTokenVerifier(
            issuers: [
                TrustedIssuer(issuer: PublishedKeys.issuer, keys: .fixed(JWKSet(keys: [api.key.jwk]))),
                TrustedIssuer(issuer: "https://partners.example", keys: .fixed(JWKSet(keys: [other.jwk]))),
            ],
            audience: GuardedAPI.audience
        ).at(api.issuer.time)
        verifier.replayCache = cache
        let tokens = [
            try api.token(), try api.token(["iss": "https://partners.example"], key: other),
        ]
        for token in tokens {
            _ = try await verifier.verify(bearer: token)
            #expect(await verifier.flaw(of: token) == .replayed)
        }
    }

    // MARK: Introspection

    @Test(
        "Accepts each introspected token once, by its jti",
        arguments: [
            (["jti": "a", "exp": 4_102_444_800], .lifetimeTooLong), (["jti": "a"], .missingClaim),
            (["exp": 1_000_000_300], .missingClaim), (["jti": "", "exp": 1_000_000_300], .malformedClaim),
            (["jti": "a", "exp": 1_000_000_300], nil),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func introspected(members: [String: JSONValue?], expected: TokenError.Code?) async throws {
        let time = ManualTime()
        let introspection = CachedTokenIntrospection(.introspection(members, time: time), time: time)
        var verifier = AccessTokenVerifier(introspection).at(time)
        verifier.replayCache = cache
        if expected == nil { #expect(try await verifier.verify(bearer: "good").subject == "ada") }
        #expect(await verifier.flaw(of: "good") == expected ?? .replayed)
    }

    // MARK: Well-known issuers

    @Test(
        "Verifies an access token of Microsoft Entra, with its own name of the scope",
        .shows("Microsoft identity platform")
    )
    func entra() async throws {
        let key = try IssuerKey(.rs256, id: "1")
        let tenant = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"
        let verifier = AccessTokenVerifier(
            .entra(tenants: [tenant]),
            audience: "api://orders",
            keys: .fixed(JWKSet(keys: [key.jwk]))
        ).at(api.issuer.time)
        func verify(_ changes: [String: JSONValue?] = [:]) async throws(AccessRefusal) -> VerifiedAccessToken {
            var claims = api.claims([
                "iss": .string("https://login.microsoftonline.com/\(tenant)/v2.0"), "aud": "api://orders",
                "tid": .string(tenant), "azp": "client", "scp": "orders.read orders.write", "scope": nil, "jti": nil,
            ])
            for (name, value) in changes { claims[name] = value }
            let token = (try? key.token(claims)) ?? ""
            return try await verifier.verify(
                api.request(["Authorization": "Bearer \(token)"]),
                requires: AccessRequirement(scope: ["orders.read"])
            )
        }
        #expect(try await verify().scope == ["orders.read", "orders.write"])
        await #expect(throws: AccessRefusal(.insufficientScope, "")) { try await verify(["scp": "openid"]) }
        for (changes, expected) in [
            (["tid": "72f988bf-86f1-41af-91ab-2d7cd011db47"], .issuerMismatch), (["azp": nil], .missingClaim),
            (["aud": "api://other"], .audienceMismatch),
        ] as [([String: JSONValue?], TokenError.Code)] {
            let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verify(changes) }
            #expect((refusal?.cause as? TokenError)?.code == expected)
        }
    }

    @Test("Rejects all tokens of an issuer without rules for them, also by introspection")
    func withoutRules() async throws {
        var verifier = AccessTokenVerifier(.apple(), audience: GuardedAPI.audience).at(api.issuer.time)
        #expect(await verifier.flaw(of: try api.token(["iss": "https://appleid.apple.com"])) == .typeMismatch)
        let transport = MockTransport.introspection(time: api.issuer.time)
        verifier.introspection = CachedTokenIntrospection(transport, time: api.issuer.time)
        #expect(await verifier.flaw(of: "good") == .typeMismatch)
        #expect(transport.requests.isEmpty)
    }

    @Test("Verifies a JWT-SVID in a request, with fetched keys")
    func workload() async throws {
        var issuer = TokenIssuer.spiffe(trustDomain: "prod.example")
        issuer.selection.use = nil
        let verifier = AccessTokenVerifier(
            issuer,
            audience: GuardedAPI.audience,
            keys: .remote(api.issuer.keySet())
        ).at(api.issuer.time)
        let token = try api.token(["sub": "spiffe://prod.example/orders"], type: "JWT")
        let found = try await verifier.verify(api.request(["Authorization": "Bearer \(token)"]))
        #expect(found.subject == "spiffe://prod.example/orders")
        let other = try api.token(["sub": "ada"], type: "JWT")
        await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await verifier.verify(api.request(["Authorization": "Bearer \(other)"]))
        }
    }
}

private struct BrokenCache: ReplayCache {
    func remember(
        _ identifier: String,
        signedBy thumbprint: String,
        until expiration: Date,
        at now: Date
    ) async throws -> Bool {
        throw CocoaError(.fileWriteUnknown)
    }
}
