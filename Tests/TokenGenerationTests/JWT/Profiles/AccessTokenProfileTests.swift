import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Access tokens and assertions", .computing)
struct AccessTokenProfileTests {
    /// The claims of RFC 9068 §2.2.
    private static let sample: JSONObject = [
        "iss": "https://authorization-server.example.com/", "sub": "5ba552d67", "aud": "https://rs.example.com/",
        "exp": 1_639_528_912, "iat": 1_618_354_090, "jti": "dbe39bf3a3ba4238a513f51d6e1691c4",
        "client_id": "s6BhdRkqt3", "scope": "openid profile reademail",
    ]

    private static func refusal(_ claims: JSONObject, type: String? = "at+jwt") throws -> TokenError.Code? {
        var header: JSONObject = ["alg": "ES256"]
        if let type { header["typ"] = .string(type) }
        let token = try Fixture.token(header: header.serialized(), payload: claims.serialized())
        var policy = ValidationPolicy.accessToken(
            issuer: "https://authorization-server.example.com/",
            audience: "https://rs.example.com/"
        )
        policy.currentDate = { Date(timeIntervalSince1970: 1_620_000_000) }
        let verifier = try JWTVerifier(key: Fixture.signingKey().verificationKey, policy: policy)
        return code { try verifier.verify(token) }
    }

    @Test(
        "Accepts the sample of RFC 9068, with every notation of its type and no other type",
        .shows("F5", "RFC 9068 §2, §4", "RFC 8725bis §3.11 (types)", "RFC 8725bis §3.12"),
        arguments: [
            ("at+JWT", nil), ("at+jwt", nil), ("application/at+jwt", nil), ("APPLICATION/AT+JWT", nil),
            ("JWT", .typeMismatch), ("dpop+jwt", .typeMismatch), ("text/at+jwt", .typeMismatch), ("", .typeMismatch),
            (nil, .typeMismatch),
        ] as [(String?, TokenError.Code?)]
    )
    func types(type: String?, expected: TokenError.Code?) throws {
        #expect(try Self.refusal(Self.sample, type: type) == expected)
    }

    @Test(
        "Rejects a token with a wrong or without a required claim",
        .shows("RFC 9068 §2, §4"),
        arguments: [
            ("iss", "https://authorization-server.example.com", .issuerMismatch), ("aud", "other", .audienceMismatch),
            ("iss", ["https://authorization-server.example.com/"], .malformedClaim), ("client_id", 1, .malformedClaim),
            ("client_id", ["s6BhdRkqt3"], .malformedClaim), ("exp", 1_600_000_000, .expired),
            ("aud", [], .malformedClaim), ("iat", 1_630_000_000, .issuedInFuture), ("jti", 1, .malformedClaim),
            ("sub", JSONValue.null, .malformedClaim), ("sub", "", .malformedClaim), ("iss", nil, .missingClaim),
            ("exp", nil, .missingClaim), ("aud", nil, .missingClaim), ("sub", nil, .missingClaim),
            ("client_id", nil, .missingClaim), ("iat", nil, .missingClaim), ("jti", nil, .missingClaim),
        ] as [(String, JSONValue?, TokenError.Code)]
    )
    func wrong(name: String, value: JSONValue?, expected: TokenError.Code) throws {
        var claims = Self.sample
        claims[name] = value
        #expect(try Self.refusal(claims) == expected)
    }

    @Test(
        "An assertion is only for this server, short-lived, and has all claims, with equal issuer and subject",
        .shows("RFC 7523 §3, RFC 10070 §4"),
        arguments: [
            ([:], nil), (["sub": "other"], .subjectMismatch), (["aud": "else"], .audienceMismatch),
            (["jti": nil], .missingClaim), (["iss": nil], .missingClaim), (["sub": nil], .missingClaim),
            (["aud": nil], .missingClaim), (["exp": nil], .missingClaim), (["exp": 1_700_000_360], nil),
            (["exp": 1_700_000_361], .lifetimeTooLong), (["exp": 1_700_000_361, "iat": 1_700_000_001], nil),
            (["iss": "x", "sub": "x"], nil), (["exp": 1_700_000_100, "iat": 1_699_999_700], .lifetimeTooLong),
            (["aud": ["https://as"]], nil), (["aud": "https://as/token"], .audienceMismatch),
            (["aud": ["https://as", "https://as/token"]], .audienceMismatch),
            (["aud": ["https://as", "https://as"]], .audienceMismatch), (["aud": "https://as/"], .audienceMismatch),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func assertion(changes: [String: JSONValue?], expected: TokenError.Code?) throws {
        var claims: JSONObject = ["iss": "c", "sub": "c", "aud": "https://as", "exp": 1_700_000_100, "jti": "j"]
        for (name, value) in changes { claims[name] = value }
        let policy = ValidationPolicy.clientAssertion(audience: "https://as", clientID: .skipIssuerCheck)
        let token = try Fixture.token(payload: claims.serialized())
        #expect(try refusal(of: token, by: policy) == expected)
        let bound = ValidationPolicy.clientAssertion(audience: "https://as", clientID: "c")
        let isOther = claims["iss"] == "x"
        #expect(try refusal(of: token, by: bound) == (isOther ? .issuerMismatch : expected))
    }

    @Test("Rejects an access token as an assertion and as a plain token", .shows("D11", "F5", "RFC 8725bis §3.12"))
    func confusion() throws {
        let claims = #"{"iss":"c","sub":"c","aud":"a","exp":1700000100,"jti":"j"}"#
        for (type, expected) in [
            ("JWT", nil), ("jwt", nil), ("application/jwt", nil), ("at+jwt", .typeMismatch),
            ("dpop+jwt", .typeMismatch),
        ] as [(String, TokenError.Code?)] {
            let token = try Fixture.token(header: #"{"alg":"ES256","typ":"\#(type)"}"#, payload: claims)
            let assertion = try Fixture.verifier(.clientAssertion(audience: "a", clientID: .skipIssuerCheck))
            let plain = try Fixture.verifier(.plain(issuer: "c", audience: "a"))
            #expect(code { try assertion.verify(token) } == expected)
            #expect(code { try plain.verify(token) } == expected)
        }
        let untyped = try Fixture.token(payload: claims)
        #expect(try refusal(of: untyped, by: .plain(issuer: "c", audience: "a")) == nil)
        let typed = try Fixture.token(header: #"{"alg":"ES256","typ":"client-authentication+jwt"}"#, payload: claims)
        #expect(try refusal(of: typed, by: .clientAssertion(audience: "a", clientID: .skipIssuerCheck)) == nil)
    }

    private func refusal(of token: String, by policy: ValidationPolicy) throws -> TokenError.Code? {
        let verifier = try Fixture.verifier(policy)
        return code { try verifier.verify(token) }
    }
}
