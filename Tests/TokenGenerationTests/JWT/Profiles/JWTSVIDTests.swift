import Foundation
import TestSupport
import Testing
import TokenGeneration

/// The requirements of https://github.com/spiffe/spiffe/blob/main/standards/JWT-SVID.md.
@Suite("JWT-SVID", .computing)
struct JWTSVIDTests {
    private static let audience = "spiffe://prod.example/reports"

    private static let workload = IssuerFixture(
        claims: [
            "sub": "spiffe://prod.example/orders", "aud": [.string(audience)], "exp": 1_700_000_300,
            "iat": 1_700_000_000,
        ],
        keyMembers: ["use": "jwt-svid", "alg": nil],
        algorithm: .es256
    )

    private static func refusal(
        _ changes: [String: JSONValue?] = [:],
        header: [String: JSONValue?] = [:],
        of workload: IssuerFixture = workload,
        by issuer: TokenIssuer = .spiffe(trustDomain: "prod.example")
    ) throws -> TokenError.Code? {
        try workload.refusal(changes, header: header, by: issuer, audience: audience)
    }

    // MARK: Header

    @Test(
        "§2.1: accepts the nine algorithms, with keys of a bundle or keys that state them",
        .shows("JWT-SVID §2"),
        arguments: [JWSAlgorithm.rs256, .rs384, .rs512, .es256, .es384, .es512, .ps256, .ps384, .ps512]
    )
    func algorithms(algorithm: JWSAlgorithm) throws {
        var workload = Self.workload
        workload.algorithm = algorithm
        let bundle = TokenIssuer.spiffe(trustDomain: "prod.example", rsaAlgorithm: algorithm)
        #expect(try Self.refusal(of: workload, by: bundle) == nil)
        // Without `rsaAlgorithm`, it's RS256.
        if algorithm == .rs256 { #expect(try Self.refusal(of: workload) == nil) }
        workload.keyMembers["alg"] = .string(algorithm.rawValue)
        #expect(try Self.refusal(of: workload) == nil)
    }

    @Test(
        "§2.1: rejects every other algorithm, even with a key for it, and RSA keys of a bundle for another one",
        .shows("JWT-SVID §2", "RFC 8725bis §3.1 (issuers)"),
        arguments: [JWSAlgorithm.es256k, .ed25519, .ed448, .edDSA, .ps256]
    )
    func otherAlgorithms(algorithm: JWSAlgorithm) throws {
        var workload = Self.workload
        workload.algorithm = algorithm
        if algorithm != .ps256 { workload.keyMembers["alg"] = .string(algorithm.rawValue) }
        #expect(try Self.refusal(of: workload) == .algorithmMismatch)
    }

    @Test("§2.1: rejects HMAC and none", arguments: ["HS256", "HS384", "HS512", "none", "NONE", "es256"])
    func otherNames(name: String) throws {
        #expect(try Self.refusal(header: ["alg": .string(name)]) == .algorithmMismatch)
    }

    @Test(
        "§2: kid is optional, typ is absent, JWT or JOSE, and every other header is rejected",
        .shows("JWT-SVID §2"),
        arguments: [
            (["kid": nil], nil), (["kid": "2"], .unknownKey), (["typ": nil], nil), (["typ": "JWT"], nil),
            (["typ": "JOSE"], nil), (["typ": "jose"], nil), (["typ": "at+jwt"], .typeMismatch),
            (["typ": "JOSE+JSON"], .typeMismatch), (["typ": ""], .typeMismatch), (["typ": 1], .malformedToken),
            (["cty": "x"], .malformedToken), (["jku": "x"], .malformedToken), (["x5t": "x"], .malformedToken),
            (["x5u": "x"], .malformedToken), (["private": "x"], .malformedToken),
            (["https://example.com/x": "x"], .malformedToken),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func headers(changes: [String: JSONValue?], expected: TokenError.Code?) throws {
        #expect(try Self.refusal(header: changes) == expected)
    }

    @Test("§5.1: rejects the JSON serialization", .shows("JWT-SVID §3–§6"))
    func serialization() throws {
        var issuer = TokenIssuer.spiffe(trustDomain: "prod.example")
        issuer.policy.currentDate = { Date(timeIntervalSince1970: 1_700_000_000) }
        let verifier = JWTVerifier(issuer, audience: Self.audience, keys: try Self.workload.keys)
        let parts = try Self.workload.token().split(separator: ".").map { JSONValue.string(String($0)) }
        let json: JSONObject = ["protected": parts[0], "payload": parts[1], "signature": parts[2]]
        #expect(code { try verifier.verify(json.serialized()) } == .malformedToken)
    }

    // MARK: Claims

    @Test(
        "§3, §4: requires sub, aud and exp, and no iss",
        .shows("J28", "JWT-SVID §3–§6"),
        arguments: [
            ([:], nil), (["sub": nil], .missingClaim), (["aud": nil], .missingClaim), (["exp": nil], .missingClaim),
            (["aud": .string(audience)], nil), (["aud": ["x", .string(audience)]], nil),
            (["aud": "spiffe://prod.example/"], .audienceMismatch), (["aud": []], .malformedClaim),
            (["exp": 1_699_999_000], .expired), (["exp": "soon"], .malformedClaim),
            (["iss": "https://any.example"], nil), (["iss": 1], .malformedClaim), (["iat": nil], nil),
            (["nbf": 1_700_001_000], .notYetValid), (["jti": "1"], nil),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func claims(changes: [String: JSONValue?], expected: TokenError.Code?) throws {
        #expect(try Self.refusal(changes) == expected)
    }

    @Test(
        "§3.1: sub is a SPIFFE ID of the trust domain",
        .shows("I14"),
        arguments: [
            ("spiffe://prod.example", nil), ("spiffe://prod.example/a/b", nil),
            ("spiffe://test.example/orders", .subjectMismatch), ("spiffe://prod.example.test/orders", .subjectMismatch),
            ("spiffe://x.prod.example/orders", .subjectMismatch), ("spiffe://Prod.example/orders", .malformedClaim),
            ("spiffe://prod.example/", .malformedClaim), ("orders", .malformedClaim), ("", .malformedClaim),
            ("https://prod.example/orders", .malformedClaim),
        ] as [(String, TokenError.Code?)]
    )
    func subjects(subject: String, expected: TokenError.Code?) throws {
        #expect(try Self.refusal(["sub": .string(subject)]) == expected)
        // A policy can also require one workload.
        var issuer = TokenIssuer.spiffe(trustDomain: "prod.example")
        issuer.policy.subject = "spiffe://prod.example/a/b"
        let required: TokenError.Code? =
            subject == "spiffe://prod.example/a/b" ? nil : subject.isEmpty ? .malformedClaim : .subjectMismatch
        #expect(try Self.refusal(["sub": .string(subject)], by: issuer) == required)
    }

    @Test("A missing trust domain matches nothing", arguments: ["", "spiffe://prod.example", "PROD.example", "*"])
    func trustDomains(name: String) throws {
        #expect(try Self.refusal(by: .spiffe(trustDomain: name)) == .subjectMismatch)
    }

    // MARK: Bundle

    @Test(
        "§6.2: only the bundle's keys for JWT-SVIDs count",
        .shows("I15", "JWT-SVID §3–§6"),
        arguments: [
            ("jwt-svid", nil), ("x509-svid", .keyMismatch), ("JWT-SVID", .keyMismatch), ("sig", .keyMismatch),
            (nil, .keyMismatch), ("", .keyMismatch),
        ] as [(JSONValue?, TokenError.Code?)]
    )
    func keyUse(use: JSONValue?, expected: TokenError.Code?) throws {
        var workload = Self.workload
        workload.keyMembers["use"] = use
        #expect(try Self.refusal(of: workload) == expected)
    }

    @Test("Keys of an OpenID Connect discovery document are accepted with the standard selection")
    func discoveryKeys() throws {
        var workload = Self.workload
        var issuer = TokenIssuer.spiffe(trustDomain: "prod.example")
        issuer.selection.use = nil
        for (use, expected) in [("sig", nil), (nil, nil), ("jwt-svid", .keyMismatch)]
            as [(JSONValue?, TokenError.Code?)]
        {
            workload.keyMembers["use"] = use
            #expect(try Self.refusal(of: workload, by: issuer) == expected)
        }
    }

    @Test("An empty bundle revokes everything")
    func emptyBundle() throws {
        let issuer = TokenIssuer.spiffe(trustDomain: "prod.example")
        let verifier = JWTVerifier(issuer, audience: Self.audience, keys: JWKSet(keys: []))
        let token = try Self.workload.token()
        #expect(code { try verifier.verify(token) } == .unknownKey)
    }
}
