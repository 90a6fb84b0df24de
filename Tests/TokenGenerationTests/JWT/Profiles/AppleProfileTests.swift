import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Apple", .computing)
struct AppleProfileTests {
    /// A token with the claims of
    /// https://developer.apple.com/documentation/signinwithapplejs/authorizationi/id_token.
    private static let user = IssuerFixture(
        claims: [
            "iss": "https://appleid.apple.com", "aud": "com.example.shop", "exp": 1_700_086_400, "iat": 1_700_000_000,
            "sub": "000544.5e201aec537347aeb79d23cbc345170a.1321", "nonce": "n-0S6_WzA2Mj", "nonce_supported": true,
            "email": "x@privaterelay.appleid.com", "email_verified": "true", "is_private_email": "true",
            "real_user_status": 2, "auth_time": 1_700_000_000,
        ],
        header: ["kid": "1"]
    )

    private static func refusal(
        _ changes: [String: JSONValue?],
        nonce: String? = "n-0S6_WzA2Mj",
        algorithm: JWSAlgorithm = .rs256
    ) throws -> TokenError.Code? {
        var user = user
        user.algorithm = algorithm
        return try user.refusal(changes, by: .apple(), clientID: "com.example.shop", nonce: nonce)
    }

    @Test(
        "Accepts RS256, which Apple's keys are for, and ES256, which its guide names, and no other algorithm",
        .shows("Sign in with Apple"),
        arguments: [
            (.rs256, nil), (.es256, nil), (.ps256, .algorithmMismatch), (.rs512, .algorithmMismatch),
            (.es384, .algorithmMismatch), (.ed25519, .algorithmMismatch),
        ] as [(JWSAlgorithm, TokenError.Code?)]
    )
    func algorithms(algorithm: JWSAlgorithm, expected: TokenError.Code?) throws {
        #expect(try Self.refusal([:], algorithm: algorithm) == expected)
    }

    @Test(
        "Checks issuer, client, times and nonce, which is optional only if the platform doesn't support it",
        .shows("I7", "J28", "Sign in with Apple"),
        arguments: [
            (["iss": "https://appleid.apple.com/"], .issuerMismatch),
            (["iss": "https://account.apple.com"], .issuerMismatch), (["aud": "com.example.other"], .audienceMismatch),
            (["exp": 1_699_999_000], .expired), (["sub": nil], .missingClaim), (["iat": nil], .missingClaim),
            ([:], nil), (["nonce": "other"], .nonceMismatch), (["nonce": nil], .missingClaim),
            (["nonce": nil, "nonce_supported": false], nil), (["nonce": nil, "nonce_supported": "false"], nil),
            (["nonce": nil, "nonce_supported": nil], .missingClaim),
            (["nonce": nil, "nonce_supported": "true"], .missingClaim),
            (["nonce": nil, "nonce_supported": 0], .malformedClaim),
            (["nonce": "other", "nonce_supported": false], .nonceMismatch),
        ] as [([String: JSONValue?], TokenError.Code?)]
    )
    func claims(changes: [String: JSONValue?], expected: TokenError.Code?) throws {
        #expect(try Self.refusal(changes) == expected)
    }

    @Test("Rejects a nonce that wasn't requested")
    func unexpectedNonce() throws {
        #expect(try Self.refusal([:], nonce: nil) == .nonceMismatch)
        #expect(try Self.refusal(["nonce": nil], nonce: nil) == nil)
    }

    @Test(
        "Accepts Booleans and their names as strings, and nothing else",
        .shows("I8", "Sign in with Apple"),
        arguments: [
            (true, nil), (false, nil), ("true", nil), ("false", nil), ("True", .malformedClaim), ("", .malformedClaim),
            (1, .malformedClaim), (nil, .malformedClaim), (["true"], .malformedClaim),
        ] as [(JSONValue, TokenError.Code?)]
    )
    func flags(value: JSONValue, expected: TokenError.Code?) throws {
        for name in ["email_verified", "is_private_email"] {
            #expect(try Self.refusal([name: value]) == expected)
        }
    }

    @Test(
        "An address is verified only if the token says so",
        .shows("I8"),
        arguments: [
            ([:], true), (["email_verified": true], true), (["email_verified": "false"], false),
            (["email_verified": false], false), (["email_verified": nil], false), (["email": nil], false),
            (["email": ""], false), (["email_verified": 1], false), (["email_verified": "yes"], false),
        ] as [([String: JSONValue?], Bool)]
    )
    func verifiedEmail(changes: [String: JSONValue?], expected: Bool) throws {
        var policy = ValidationPolicy(issuer: "https://appleid.apple.com", audience: "com.example.shop")
        policy.currentDate = { Date(timeIntervalSince1970: 1_700_000_000) }
        let verifier = JWTVerifier(keys: try Self.user.keys, policy: policy)
        #expect(try verifier.verify(Self.user.token(changes)).hasVerifiedEmail == expected)
    }

    @Test("Has no rules for tokens to services, whatever the verifier expects")
    func otherKind() throws {
        var issuer = TokenIssuer.apple()
        #expect(try Self.user.refusal(by: issuer, audience: "com.example.shop") == .typeMismatch)
        issuer.policy.issuer = .skipIssuerCheck
        #expect(try Self.user.refusal(by: issuer, audience: "com.example.shop") == .typeMismatch)
    }

    @Test("Names the published keys")
    func keys() {
        #expect(TokenIssuer.apple().keySetURL?.absoluteString == "https://appleid.apple.com/auth/keys")
    }
}
