import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Accepted algorithms and claims", .computing)
struct AcceptedAlgorithmTests {
    private static func policy(_ algorithms: Set<JWSAlgorithm>?) -> ValidationPolicy {
        var policy = ValidationPolicy(currentDate: { Date(timeIntervalSince1970: Double(Fixture.now)) })
        policy.algorithms = algorithms
        return policy
    }

    @Test(
        "Rejects a key and its tokens if the policy doesn't accept the algorithm",
        .shows("I1", "RFC 8725bis §3.1 (restriction)", "RFC 8725bis §3.1 (one algorithm)"),
        arguments: [
            (nil, nil), ([.es256], nil), ([.rs256, .es256], nil), ([.rs256], .algorithmMismatch),
            ([.es384], .algorithmMismatch), ([], .algorithmMismatch),
        ] as [(Set<JWSAlgorithm>?, TokenError.Code?)]
    )
    func algorithms(algorithms: Set<JWSAlgorithm>?, expected: TokenError.Code?) throws {
        let policy = Self.policy(algorithms)
        let key = try Fixture.signingKey().verificationKey
        let token = try Fixture.token()
        #expect(code { try JWTVerifier(key: key, policy: policy).verify(token) } == expected)
        let set = JWTVerifier(keys: JWKSet(keys: [key.jwk]), policy: policy)
        #expect(code { try set.verify(token) } == expected)
        // The header is known now.
        #expect(code { try set.verify(token) } == expected)
    }

    @Test("Checks the algorithm before the signature and the key", .shows("I1"))
    func order() throws {
        let verifier = JWTVerifier(keys: JWKSet(keys: []), policy: Self.policy([.rs256]))
        let token = try Fixture.token(header: #"{"alg":"ES256","kid":"x"}"#)
        #expect(code { try verifier.verify(token) } == .algorithmMismatch)
    }

    @Test("Each name of an Edwards algorithm counts separately")
    func names() throws {
        let key = try Fixture.key(for: .ed25519)
        var jwk = key.verificationKey.jwk
        jwk.members["alg"] = nil
        let verifier = JWTVerifier(keys: JWKSet(keys: [jwk]), policy: Self.policy([.ed25519]))
        let good = try Fixture.token(header: #"{"alg":"Ed25519"}"#, key: key)
        let old = try Fixture.token(header: #"{"alg":"EdDSA"}"#, key: key)
        #expect(code { try verifier.verify(good) } == nil)
        #expect(code { try verifier.verify(old) } == .algorithmMismatch)
        #expect(code { try verifier.verify(good) } == nil)
    }

    @Test("Applies to SD-JWTs")
    func selectiveDisclosure() throws {
        let key = try Fixture.signingKey()
        let issuer = try SDJWTIssuer(type: "example+sd-jwt", signingService: key)
        let text = try issuer.issue(["exp": 1_700_000_100] as JSONObject, disclosable: [])
        for (algorithms, expected) in [
            ([.es256], nil), ([.es384], .algorithmMismatch),
        ] as [(Set<JWSAlgorithm>, TokenError.Code?)] {
            let verifier = SDJWTVerifier(key: key.verificationKey, policy: Self.policy(algorithms))
            #expect(code { try verifier.verify(text.compact, keyBinding: .notRequired) } == expected)
        }
    }

    @Test(
        "A claim must be one of the strings, exactly",
        arguments: [
            (#""a""#, nil), (#""b""#, nil), (#""A""#, .claimMismatch), (#""c""#, .claimMismatch),
            (#""""#, .claimMismatch),
            ("1", .malformedClaim), (#"["a"]"#, .malformedClaim), ("null", .malformedClaim), (nil, .missingClaim),
        ] as [(String?, TokenError.Code?)]
    )
    func claims(value: String?, expected: TokenError.Code?) throws {
        var policy = ValidationPolicy()
        policy.checks = [.claim("tenant", isOneOf: ["a", "b", ""])]
        let member = value.map { #","tenant":\#($0)"# } ?? ""
        let token = try Fixture.token(payload: #"{"exp":1700000100\#(member)}"#)
        let verifier = try Fixture.verifier(policy)
        #expect(code { try verifier.verify(token) } == expected)
    }

    @Test("Doesn't show the value of a claim in the error")
    func secrecy() throws {
        var policy = ValidationPolicy()
        policy.checks = [.claim("tenant", is: "expected-value")]
        let verifier = try Fixture.verifier(policy)
        let token = try Fixture.token(payload: #"{"exp":1700000100,"tenant":"found-value"}"#)
        let text = error { try verifier.verify(token) }?.description ?? ""
        #expect(text.contains("“tenant”"))
        #expect(!text.contains("value”") && !text.contains("-value"))
    }
}
