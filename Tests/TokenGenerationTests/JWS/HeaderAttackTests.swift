import Foundation
import TestVectors
import Testing
import TokenGeneration

/// Tokens with a valid signature and a malicious header.
@Suite("Malicious headers", .serialized)
struct HeaderAttackTests {
    private let verifier: JWTVerifier

    init() throws {
        verifier = try Fixture.verifier()
    }

    @Test(
        "The key fixes the algorithm; the header can't change it",
        arguments: [
            (#"{"alg":"none"}"#, .algorithmMismatch), (#"{"alg":"None"}"#, .algorithmMismatch),
            (#"{"alg":"nOnE"}"#, .algorithmMismatch),
            (#"{"alg":""}"#, .algorithmMismatch), (#"{"alg":"HS256"}"#, .algorithmMismatch),
            (#"{"alg":"ES384"}"#, .algorithmMismatch),
            (#"{"alg":"RS256"}"#, .algorithmMismatch), (#"{"alg":"es256"}"#, .algorithmMismatch),
            (#"{"alg":"ES256 "}"#, .algorithmMismatch),
            (#"{"alg":"ES256\u0000"}"#, .algorithmMismatch), (#"{}"#, .malformedToken),
            (#"{"alg":null}"#, .malformedToken),
            (#"{"alg":256}"#, .malformedToken), (#"{"alg":["ES256"]}"#, .malformedToken),
            (#"{"ALG":"ES256"}"#, .malformedToken),
            (#"{"alg":"ES256","alg":"none"}"#, .malformedToken), (#"{"alg":"none","alg":"ES256"}"#, .malformedToken),
            (#"{"alg":"none","\u0061lg":"ES256"}"#, .malformedToken),
        ] as [(String, TokenError.Code)]
    )
    func algorithm(header: String, expected: TokenError.Code) throws {
        let token = try Fixture.token(header: header)
        #expect(code { try verifier.verify(token) } == expected)
        let unsigned = token[...(token.lastIndex(of: ".") ?? token.startIndex)]
        #expect(code { try verifier.verify(String(unsigned)) } == expected)
    }

    @Test(
        "Rejects a required extension in any form",
        arguments: [
            (#""crit":["x"],"x":1"#, .criticalHeaderUnsupported),
            (#""crit":["b64"],"b64":false"#, .criticalHeaderUnsupported),
            (#""crit":["b64"],"b64":true"#, .criticalHeaderUnsupported),
            (#""crit":["exp"],"exp":1"#, .criticalHeaderUnsupported),
            (#""crit":["x","y"],"x":1,"y":2"#, .criticalHeaderUnsupported), (#""crit":[]"#, .malformedToken),
            (#""crit":null"#, .malformedToken), (#""crit":"x","x":1"#, .malformedToken),
            (#""crit":{"x":1},"x":1"#, .malformedToken),
            (#""crit":1"#, .malformedToken), (#""crit":true"#, .malformedToken), (#""crit":[1]"#, .malformedToken),
            (#""crit":["x",null],"x":1"#, .malformedToken), (#""crit":[["x"]],"x":1"#, .malformedToken),
            (#""crit":[""],"":1"#, .malformedToken),
            (#""crit":["x"]"#, .malformedToken), (#""crit":["X"],"x":1"#, .malformedToken),
            (#""crit":["x","x"],"x":1"#, .malformedToken),
            (#""crit":["alg"]"#, .malformedToken), (#""crit":["crit"]"#, .malformedToken),
            (#""crit":["kid"],"kid":"a""#, .malformedToken),
            (#""crit":["typ","x"],"typ":"JWT","x":1"#, .malformedToken), (#""b64":false"#, .malformedToken),
            (#""b64":null"#, .malformedToken),
            (#""b64":"true""#, .malformedToken),
        ] as [(String, TokenError.Code)]
    )
    func critical(members: String, expected: TokenError.Code) throws {
        let token = try Fixture.token(header: #"{"alg":"ES256",\#(members)}"#)
        #expect(code { try verifier.verify(token) } == expected)
    }

    @Test("Rejects RFC 7515 Appendix E, in compact form and as printed")
    func rfc7515E() throws {
        let vector = try Vector.object("rfc7515-e-crit-negative")
        #expect(code { try verifier.verify(#require(vector["compact"] as? String)) } == .criticalHeaderUnsupported)
        let printed = try JSONSerialization.data(withJSONObject: #require(vector["header_as_printed"]))
        #expect(
            code { try verifier.verify(Fixture.token(header: String(decoding: printed, as: UTF8.self))) }
                == .criticalHeaderUnsupported
        )
    }

    @Test(
        "No key verifies the unsecured tokens of RFC 7515 A.5 and RFC 7519 §6.1",
        arguments: ["rfc7515-a5-none", "rfc7519-6.1-unsecured"]
    )
    func unsecured(name: String) throws {
        let token = try #require(Vector.object(name)["compact"] as? String)
        #expect(code { try verifier.verify(token) } == .algorithmMismatch)
        let set = JWTVerifier(keys: JWKSet(keys: [try Fixture.jwk()]))
        #expect(code { try set.verify(token) } == .algorithmMismatch)
        #expect(try UnverifiedToken(token).unverifiedClaims["iss"] == "joe")
    }

    @Test(
        "Rejects tokens with other algorithm names",
        arguments: ["rfc7515-a1-hs256", "rfc7515-a2-rs256", "rfc7515-a4-es512", "rfc7519-3.1-jwt-hs256"]
    )
    func otherAlgorithms(name: String) throws {
        let token = try #require(Vector.object(name)["compact"] as? String)
        #expect(code { try verifier.verify(token) } == .algorithmMismatch)
    }

    @Test("Ignores a key or URL in the header")
    func embeddedKeys() throws {
        let attacker = try SigningKey.generate(.es256)
        let jwk = attacker.verificationKey.jwk.members.serialized()
        for member in [
            #""jwk":\#(jwk)"#, #""jku":"https://evil.example/keys""#, #""x5u":"file:///etc/passwd""#, #""x5c":["MII"]"#,
            #""jwk":5"#,
        ] {
            let header = #"{"alg":"ES256",\#(member)}"#
            let forged = try Fixture.token(header: header, key: attacker)
            #expect(code { try verifier.verify(forged) } == .signatureInvalid)
            #expect(try verifier.verify(Fixture.token(header: header)).claims["exp"] != nil)
        }
    }

    @Test(
        "Rejects headers that aren't JSON objects with the right types",
        arguments: [
            "", "null", "[]", #""ES256""#, "{", #"{"alg":"ES256"}x"#, #"{"alg":"ES256","typ":1}"#,
            #"{"alg":"ES256","kid":1}"#,
            #"{"alg":"ES256","kid":null}"#, #"{"alg":"ES256","cty":[]}"#, #"{"alg":"ES256","typ":null}"#,
            #"{"alg":"ES256","x":"\uD800"}"#,
        ]
    )
    func malformed(header: String) throws {
        #expect(code { try verifier.verify(Fixture.token(header: header)) } == .malformedToken)
        #expect(code { try UnverifiedToken(Fixture.token(header: header)) } == .malformedToken)
    }

    @Test(
        "Numbers of any size in the header are harmless",
        arguments: ["1e300", "1e999", "-1e999", "99999999999999999999999", "1e-999", "0.1"]
    )
    func numbers(number: String) throws {
        let token = try Fixture.token(header: #"{"alg":"ES256","x":\#(number)}"#)
        #expect(try verifier.verify(token).header["x"]?.number?.literal == number)
        #expect(try UnverifiedToken(token).unverifiedHeader["x"]?.number?.literal == number)
    }

    @Test(
        "The type is a case-insensitive media type, with or without application/",
        arguments: [
            ("at+jwt", "at+jwt", true), ("AT+JWT", "at+jwt", true), ("application/at+jwt", "at+jwt", true),
            ("Application/AT+jwt", "at+jwt", true),
            ("at+jwt", "application/at+jwt", true), ("JWT", "jwt", true), ("JWT", "at+jwt", false),
            ("text/at+jwt", "at+jwt", false),
            ("at+jwt ", "at+jwt", false), ("", "at+jwt", false), ("x/y", "x/Y", true),
            ("application/x/y", "x/y", false),
            ("at+jwt;charset=x", "at+jwt", false), ("\u{212A}", "k", false),
        ]
    )
    func mediaTypes(type: String, expected: String, isAccepted: Bool) throws {
        let verifier = try Fixture.verifier(ValidationPolicy(type: .exactly(expected)))
        let header: JSONObject = ["alg": "ES256", "typ": .string(type)]
        let result = code { try verifier.verify(Fixture.token(header: header.serialized())) }
        #expect(result == (isAccepted ? nil : .typeMismatch))
    }

    @Test("Requires a type only if the policy expects one")
    func missingType() throws {
        #expect(
            code { try Fixture.verifier(ValidationPolicy(type: "at+jwt")).verify(Fixture.token()) } == .typeMismatch
        )
        #expect(
            try verifier.verify(Fixture.token(header: #"{"alg":"ES256","typ":"whatever"}"#)).header["typ"] == "whatever"
        )
    }
}
