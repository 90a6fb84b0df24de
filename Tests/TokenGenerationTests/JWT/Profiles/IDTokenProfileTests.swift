import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("ID tokens", .computing)
struct IDTokenProfileTests {
    private static let good: JSONObject = [
        "iss": "https://op", "sub": "u", "aud": "c", "exp": 1_700_000_100, "iat": 1_699_999_990, "nonce": "n",
    ]

    private static func refusal(
        _ changes: [String: JSONValue?],
        type: String? = nil,
        nonce: String? = "n",
        accessToken: String? = nil,
        authorizationCode: String? = nil,
        maximumAge: Int? = nil,
        trustedAudiences: [String] = [],
        algorithm: JWSAlgorithm = .es256,
        key: SigningKey? = nil
    ) throws -> TokenError.Code? {
        var claims = good
        for (name, value) in changes { claims[name] = value }
        var header: JSONObject = ["alg": .string(algorithm.rawValue)]
        if let type { header["typ"] = .string(type) }
        let key = try key ?? Fixture.key(for: algorithm)
        let token = try Fixture.token(header: header.serialized(), payload: claims.serialized(), key: key)
        var policy = ValidationPolicy.idToken(
            issuer: "https://op",
            clientID: "c",
            nonce: nonce,
            accessToken: accessToken,
            code: authorizationCode,
            maximumAuthenticationAge: maximumAge.map { .seconds($0) },
            trustedAudiences: trustedAudiences
        )
        policy.currentDate = { Date(timeIntervalSince1970: Double(Fixture.now)) }
        let verifier = JWTVerifier(key: key.verificationKey, policy: policy)
        return code { try verifier.verify(token) }
    }

    @Test(
        "Checks issuer, audience, authorized party and nonce as OpenID Connect requires",
        .shows("F6", "OpenID Connect Core §3.1.3.7, A.4, A.6"),
        arguments: [
            ([:], nil), (["iss": "https://other"], .issuerMismatch), (["iss": nil], .missingClaim),
            (["sub": nil], .missingClaim), (["sub": ""], .malformedClaim), (["iat": nil], .missingClaim),
            (["exp": nil], .missingClaim), (["aud": nil], .missingClaim), (["aud": "d"], .audienceMismatch),
            (["aud": ["c"]], nil), (["aud": ["c", "d"]], .audienceMismatch), (["azp": "c"], nil),
            (["azp": "d"], .authorizedPartyMismatch), (["azp": 1], .malformedClaim), (["nonce": "m"], .nonceMismatch),
            (["nonce": nil], .missingClaim), (["nonce": 1], .malformedClaim), (["nonce": "N"], .nonceMismatch),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func claims(changes: [String: JSONValue?], expected: TokenError.Code?) throws {
        #expect(try Self.refusal(changes) == expected)
    }

    @Test(
        "Additional audiences must all be trusted, and never replace the client",
        .shows("K16"),
        arguments: [
            (["c", "api"], [], .audienceMismatch), (["c", "api"], ["api"], nil), (["api", "c"], ["api", "b"], nil),
            (["c", "api", "x"], ["api"], .audienceMismatch), (["api"], ["api"], .audienceMismatch),
            (["c", "API"], ["api"], .audienceMismatch), (["c", ""], ["api"], .audienceMismatch), (["c", "c"], [], nil),
        ] as [([String], [String], TokenError.Code?)]
    )
    func audiences(found: [String], trusted: [String], expected: TokenError.Code?) throws {
        let changes: [String: JSONValue?] = ["aud": .array(found.map { .string($0) })]
        #expect(try Self.refusal(changes, trustedAudiences: trusted) == expected)
    }

    @Test("Rejects an unexpected nonce, and an access token as an ID token", .shows("D11"))
    func unexpected() throws {
        #expect(try Self.refusal([:], nonce: nil) == .nonceMismatch)
        #expect(try Self.refusal(["nonce": nil], nonce: nil) == nil)
        #expect(try Self.refusal([:], type: "at+jwt") == .typeMismatch)
        #expect(try Self.refusal([:], type: "JWT") == nil)
    }

    @Test(
        "Compares at_hash if it's present, and requires c_hash (OpenID Connect Core, A.4 and A.6)",
        .shows("F6", "OpenID Connect Core §3.1.3.7, A.4, A.6")
    )
    func hashes() throws {
        // The values of the specification are for RS256. ES256 has the same hash function.
        let accessToken = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
        let text = "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk"
        let atHash: JSONValue = "77QmUPtjPfzWtF2AnpK9RQ"
        let cHash: JSONValue = "LDktKdoQak3Pk0cnXxCltA"
        #expect(try Self.refusal(["at_hash": atHash], accessToken: accessToken) == nil)
        #expect(try Self.refusal(["at_hash": atHash], accessToken: accessToken + "x") == .hashMismatch)
        #expect(try Self.refusal(["at_hash": 1], accessToken: accessToken) == .malformedClaim)
        #expect(try Self.refusal([:], accessToken: accessToken) == nil)
        #expect(try Self.refusal(["c_hash": cHash], authorizationCode: text) == nil)
        #expect(try Self.refusal(["c_hash": atHash], authorizationCode: text) == .hashMismatch)
        #expect(try Self.refusal([:], authorizationCode: text) == .missingClaim)
        // Computed with Python's hashlib.
        for (algorithm, hash) in [
            (JWSAlgorithm.es384, "SHA384"), (.es512, "SHA512"), (.hs384, "SHA384"), (.ps512, "SHA512"),
            // The hash function of the key's curve: RFC 8032 §5.1 and §5.2.
            (.ed25519, "SHA512"), (.edDSA, "SHA512"), (.ed448, "SHAKE256"),
        ] {
            let value = try #require(Self.halves[hash])
            #expect(try Self.refusal(["at_hash": .string(value)], accessToken: "token", algorithm: algorithm) == nil)
            #expect(try Self.refusal(["at_hash": atHash], accessToken: "token", algorithm: algorithm) == .hashMismatch)
        }
    }

    @Test("The key's curve determines the hash function of at_hash for EdDSA")
    func edDSAHash() throws {
        let ed448 = try Fixture.key(for: .ed448).privateJWK()
        var members = ed448.members
        members["alg"] = "EdDSA"
        let key = try SigningKey(jwk: JWK(members))
        for (name, expected) in [("SHAKE256", nil), ("SHA512", TokenError.Code.hashMismatch)] {
            let changes: [String: JSONValue?] = ["at_hash": .string(try #require(Self.halves[name]))]
            #expect(try Self.refusal(changes, accessToken: "token", algorithm: .edDSA, key: key) == expected)
        }
    }

    private static let halves = [
        "SHA384": "Cm6hANx1qgPTYYSWu3KFaieklEAsPkh3",
        "SHA512": "ImXaughy_DrvFp0Hk2XlkPDLyO1GwqeYTIpkKAPP2Ww",
        "SHAKE256": "ZpsVsPHyCxw-L854tH1BSHo_uyeotZeU9GcDngReCYbbGANfhQ0WKs70DNeb3r5aEWB26f_H-CGq",
    ]

    @Test(
        "Requires a recent auth_time if the policy has a maximum age",
        arguments: [
            (nil, .missingClaim), (1_700_000_000, nil), (1_699_999_640, nil), (1_699_999_639, .tooOld),
            (1_700_000_061, .issuedInFuture), ("1700000000", .malformedClaim), (1e300, .malformedClaim),
        ] as [(JSONValue?, TokenError.Code?)]
    )
    func authenticationTime(value: JSONValue?, expected: TokenError.Code?) throws {
        #expect(try Self.refusal(["auth_time": value], maximumAge: 300) == expected)
    }
}
