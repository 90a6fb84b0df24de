import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// Tests of an API behind two authorization servers.
@Suite("AccessTokenVerifier: several issuers", .limitedConcurrency)
struct TrustedIssuerTests {
    private static let staff = PublishedKeys.issuer
    private static let partners = "https://partners.example"

    private let api: GuardedAPI
    private let partnerKey: IssuerKey
    private let partnerKeys: PublishedKeys

    init() throws {
        api = try GuardedAPI()
        // With the same key ID as the other issuer's key.
        partnerKey = try IssuerKey(id: "1")
        partnerKeys = PublishedKeys([partnerKey])
    }

    private func verifier(
        staff changeStaff: (inout TrustedIssuer) -> Void = { _ in },
        partners changePartners: (inout TrustedIssuer) -> Void = { _ in }
    ) throws -> AccessTokenVerifier {
        var staff = TrustedIssuer(issuer: Self.staff, keys: .remote(api.issuer.keySet()))
        var partners = TrustedIssuer(issuer: Self.partners, keys: .remote(partnerKeys.keySet()))
        changeStaff(&staff)
        changePartners(&partners)
        var verifier = try AccessTokenVerifier(
            issuers: [staff, partners],
            audience: GuardedAPI.audience
        ).at(api.issuer.time)
        verifier.realm = "orders"
        return verifier
    }

    private func request(_ token: String) -> ProtectedRequest { api.request(["Authorization": "Bearer \(token)"]) }

    // MARK: JWTs

    @Test("Verifies each issuer's tokens with its own keys, fetched on demand")
    func each() async throws {
        let verifier = try verifier()
        for _ in 1...3 {
            let token = try await verifier.verify(
                request(api.token()),
                requires: AccessRequirement(scope: ["orders.read"])
            )
            #expect(token.issuer == Self.staff)
        }
        #expect(api.issuer.fetchCount == 1)
        #expect(partnerKeys.fetchCount == 0)
        let theirs = try api.token(["iss": .string(Self.partners), "sub": "eve"], key: partnerKey)
        #expect(try await verifier.verify(request(theirs)).issuer == Self.partners)
        #expect(try await verifier.verify(request(theirs)).subject == "eve")
        #expect(api.issuer.fetchCount == 1)
        #expect(partnerKeys.fetchCount == 1)
    }

    @Test(
        "Rejects a token of an unknown issuer without fetching anything",
        .shows("F9"),
        arguments: [
            ("https://evil.example", TokenError.Code.issuerMismatch), ("https://id.example/", .issuerMismatch),
            ("https://ID.example", .issuerMismatch), ("https://id.example\u{0}", .issuerMismatch),
            ("", .issuerMismatch),
            (nil, .missingClaim), (7, .malformedClaim), (["https://id.example"], .malformedClaim),
        ] as [(JSONValue?, TokenError.Code)]
    )
    func stranger(issuer: JSONValue?, code: TokenError.Code) async throws {
        #expect(try await verifier().flaw(of: api.token(["iss": issuer])) == code)
        #expect(api.issuer.fetchCount + partnerKeys.fetchCount == 0)
    }

    @Test("A thousand unknown issuers cost no request, nor does a lookalike identifier")
    func strangers() async throws {
        let verifier = try verifier(partners: { issuer in
            issuer = TrustedIssuer(issuer: "https://caf\u{E9}.example", keys: .remote(partnerKeys.keySet()))
        })
        for number in 1...1_000 {
            let code = await verifier.flaw(of: try api.token(["iss": .string("https://\(number).example")]))
            #expect(code == .issuerMismatch)
        }
        // Equal as Swift strings, but not as bytes.
        let twin = try api.token(["iss": "https://cafe\u{301}.example"], key: partnerKey)
        #expect(await verifier.flaw(of: twin) == .issuerMismatch)
        #expect(api.issuer.fetchCount + partnerKeys.fetchCount == 0)
    }

    @Test(
        "Rejects a token signed with the other issuer's key, even with the same key ID",
        .shows("F9", "RFC 8725bis §3.1 (issuers)", "RFC 8725bis §3.8 (issuer)")
    )
    func otherKey() async throws {
        let verifier = try verifier()
        #expect(await verifier.flaw(of: try api.token(key: partnerKey)) == .signatureInvalid)
        #expect(partnerKeys.fetchCount == 0)
        let forged = try api.token(["iss": .string(Self.partners)])
        #expect(await verifier.flaw(of: forged) == .signatureInvalid)
    }

    @Test("Accepts one issuer's tokens while the other's keys are unavailable")
    func outage() async throws {
        let broken = PublishedKeys([], steps: Array(repeating: .status(503), count: 10))
        let verifier = try verifier(partners: { issuer in
            issuer = TrustedIssuer(issuer: Self.partners, keys: .remote(broken.keySet()))
        })
        let theirs = try api.token(["iss": .string(Self.partners)], key: partnerKey)
        await #expect(throws: AccessRefusal(.undecided, "")) { try await verifier.verify(request(theirs)) }
        #expect(try await verifier.verify(request(api.token())).issuer == Self.staff)
    }

    @Test("Each issuer can have its own audience, scope claim and policy")
    func habits() async throws {
        let verifier = try verifier(partners: { issuer in
            issuer.audience = "orders"
            issuer.scopeClaim = "scp"
            var policy = ValidationPolicy(issuer: "https://ignored.example", audience: "ignored")
            policy.type = .absentOrJWT
            policy.requiredClaims = ["sub", "aud", "exp"]
            issuer.policy = policy
        })
        let claims: [String: JSONValue?] = [
            "iss": .string(Self.partners), "aud": "orders", "scp": ["orders.write"], "scope": nil, "jti": nil,
            "client_id": nil,
        ]
        let theirs = try api.token(claims, type: "JWT", key: partnerKey)
        let token = try await verifier.verify(request(theirs), requires: AccessRequirement(scope: ["orders.write"]))
        #expect(token.scope == ["orders.write"])
        // The properties of one issuer don't apply to another.
        #expect(await verifier.flaw(of: try api.token(type: "JWT")) == .typeMismatch)
        #expect(await verifier.flaw(of: try api.token(["aud": "orders"])) == .audienceMismatch)
        let ours = try api.token(["iss": .string(Self.partners)], type: "JWT", key: partnerKey)
        #expect(await verifier.flaw(of: ours) == .audienceMismatch)
        // The clock is the verifier's.
        let old = try api.token(claims.merging(["exp": 999_999_000]) { $1 }, type: "JWT", key: partnerKey)
        #expect(await verifier.flaw(of: old) == .expired)
    }

    @Test("An issuer's own audience overrides only that, and the verifier's policy applies to all")
    func ownAudience() async throws {
        var verifier = try verifier(partners: { $0.audience = "orders" })
        verifier.policy.checks.append(ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" })
        let theirs: [String: JSONValue?] = ["iss": .string(Self.partners), "aud": "orders"]
        #expect(await verifier.flaw(of: try api.token(theirs, key: partnerKey)) == .checkFailed)
        #expect(await verifier.flaw(of: try api.token()) == .checkFailed)
        let good = try api.token(theirs.merging(["tenant": "acme"]) { $1 }, key: partnerKey)
        #expect(try await verifier.verify(request(good)).audience == ["orders"])
        #expect(try await verifier.verify(request(api.token(["tenant": "acme"]))).audience == [GuardedAPI.audience])
    }

    // MARK: Opaque tokens

    @Test("Sends an opaque token only to the server that its prefix names", .shows("F11"))
    func opaque() async throws {
        let (ours, theirs) = (server(), server())
        let verifier = try verifier(
            staff: { $0.introspection = introspection(ours, Self.staff) },
            partners: { issuer in
                issuer.introspection = introspection(theirs, Self.partners)
                issuer.opaqueTokenPrefix = "px_"
            }
        )
        #expect(try await verifier.verify(request("good")).subject == "ada")
        #expect((ours.requests.count, theirs.requests.count) == (1, 0))
        #expect(try await verifier.verify(request("px_good")).subject == "ada")
        #expect((ours.requests.count, theirs.requests.count) == (1, 1))
        // A token that its server doesn't know isn't sent to another server.
        #expect(await verifier.flaw(of: "px_bad") == .checkFailed)
        #expect((ours.requests.count, theirs.requests.count) == (1, 2))
        // A token in the form of a JWT is verified as one.
        #expect(await verifier.flaw(of: try api.token(["iss": "https://evil.example"])) == .issuerMismatch)
        #expect(try await verifier.verify(request(api.token())).clientID == "shop")
        #expect((ours.requests.count, theirs.requests.count) == (1, 2))
    }

    @Test("Rejects an opaque token with an unknown prefix without any request", .shows("F11"))
    func nobodys() async throws {
        let theirs = server()
        let verifier = try verifier(partners: { issuer in
            issuer.introspection = introspection(theirs, Self.partners)
            issuer.opaqueTokenPrefix = "px_"
        })
        #expect(await verifier.flaw(of: "good") == .malformedToken)
        #expect(try await self.verifier().flaw(of: "px_good") == .malformedToken)
        #expect(theirs.requests.isEmpty)
        // The longest matching prefix applies.
        let special = server()
        let longer = try self.verifier(
            staff: { issuer in
                issuer.introspection = introspection(theirs, Self.staff)
                issuer.opaqueTokenPrefix = "p"
            },
            partners: { issuer in
                issuer.introspection = introspection(special, Self.partners)
                issuer.opaqueTokenPrefix = "px_"
            }
        )
        _ = try await longer.verify(request("px_good"))
        _ = try await longer.verify(request("p_good"))
        #expect((theirs.requests.count, special.requests.count) == (1, 1))
    }

    @Test("Introspects an issuer's tokens at its own server only, which can't vouch for another issuer")
    func introspectedIssuer() async throws {
        let asked = server(["iss": "https://partners.example", "client_id": "theirs"])
        let verifier = try verifier(partners: { issuer in
            issuer = TrustedIssuer(issuer: Self.partners, keys: nil)
            issuer.introspection = introspection(asked, Self.partners)
        })
        let theirs = try api.token(["iss": .string(Self.partners), "sub": "good"], key: partnerKey)
        #expect(await verifier.flaw(of: theirs) == .checkFailed)
        #expect(asked.requests.count == 1)
        #expect(try await verifier.verify(request("good")).clientID == "theirs")
        #expect(try await verifier.verify(request(api.token())).issuer == Self.staff)
        #expect(asked.requests.count == 2)
        // It can't vouch for the other issuer.
        let liar = server(["iss": "https://id.example"])
        let deceived = try self.verifier(partners: { issuer in
            issuer = TrustedIssuer(issuer: Self.partners, keys: nil)
            issuer.introspection = introspection(liar, Self.partners)
        })
        #expect(await deceived.flaw(of: "good") == .issuerMismatch)
    }

    // MARK: List of issuers

    @Test("Requires at least one issuer, no duplicates, and distinguishable opaque tokens")
    func lists() throws {
        let keys = JWKSet(keys: [api.key.jwk])
        func make(_ issuers: [TrustedIssuer]) throws -> AccessTokenVerifier {
            try AccessTokenVerifier(issuers: issuers, audience: GuardedAPI.audience)
        }
        let staff = TrustedIssuer(issuer: Self.staff, keys: .fixed(keys))
        #expect(throws: OAuth2Error(.invalidIssuer, "")) { try make([]) }
        #expect(throws: OAuth2Error(.invalidIssuer, "")) { try make([staff, staff]) }
        #expect(try make([staff]).policy.issuer == .oneOf([Self.staff]))
        var (first, second) = (staff, TrustedIssuer(issuer: Self.partners, keys: .fixed(keys)))
        #expect(try make([first, second]).policy.issuer == .oneOf([Self.staff, Self.partners]))
        first.introspection = introspection(server(), Self.staff)
        second.introspection = introspection(server(), Self.partners)
        #expect(throws: OAuth2Error(.invalidIssuer, "")) { try make([first, second]) }
        second.opaqueTokenPrefix = "px_"
        #expect(throws: Never.self) { try make([first, second]) }
    }

    @Test("Supports bound tokens, challenges and discovery for several issuers over real sockets")
    func loopback() async throws {
        let (ours, theirs) = (try MockAuthorizationServer.start(), try MockAuthorizationServer.start())
        var verifier = try AccessTokenVerifier(
            issuers: [ours, theirs].map { server in
                TrustedIssuer(
                    issuer: server.metadata.issuer,
                    keys: .discovered(by: server.discovery, options: .patient)
                )
            },
            audience: GuardedAPI.audience
        )
        verifier.realm = "orders"
        verifier.dpop = DPoPVerifier(replayCache: InMemoryReplayCache())
        let prover = try DPoPProofGenerator(key: .generate(.es256))
        for server in [ours, theirs] {
            let token = try server.issueAccessToken(
                clientID: "shop",
                subject: "ada",
                audience: GuardedAPI.audience,
                keyThumbprint: prover.thumbprint
            )
            let proof = try prover.proof(method: "GET", url: GuardedAPI.url, accessToken: token)
            let found = try await verifier.verify(api.request(["Authorization": "DPoP \(token)", "DPoP": proof]))
            #expect(found.issuer == server.metadata.issuer)
            #expect(found.binding == .key)
            let refusal = await #expect(throws: AccessRefusal(.invalidToken, "")) {
                try await verifier.verify(request(token))
            }
            #expect(refusal?.challenge?.contains(#"realm="orders""#) == true)
            #expect(server.server.requests(for: "/jwks").count == 1)
        }
        await ours.stop()
        await theirs.stop()
    }

    // MARK: Mocks

    private func server(_ changes: [String: JSONValue?] = [:]) -> MockTransport {
        .introspection(changes, time: api.issuer.time)
    }

    private func introspection(_ transport: MockTransport, _ issuer: String) -> CachedTokenIntrospection {
        CachedTokenIntrospection(transport, issuer: issuer, time: api.issuer.time)
    }
}
