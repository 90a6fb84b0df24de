import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("SD-JWTs and other tokens", .computing)
struct SDJWTKindTests {
    private typealias Make = SDJWTFixture

    @Test("Rejects plain tokens as SD-JWTs", .shows("V12", "RFC 9901 §4, §4.1")) func plain() throws {
        let key = try Make.key("issuer")
        let plain = try Fixture.token(header: #"{"alg":"ES256","typ":"example+sd-jwt"}"#, payload: "{}", key: key)
        let verifier = try Make.verifier()
        #expect(code { try Make.verify(plain, by: verifier) } == .malformedToken)
        #expect(code { try SDJWTHolder(plain, verifiedBy: verifier) } == .malformedToken)
        #expect(code { try SDJWTHolder(unverified: plain) } == .malformedToken)
        #expect(try Make.verify(plain + "~", by: verifier).claims.isEmpty)
    }

    @Test(
        "Rejects an issuer's other tokens with a “~”",
        .shows("V12", "RFC 9901 §4, §4.1"),
        arguments: ["JWT", "at+jwt", "kb+jwt", "sd-jwt+json", ""]
    )
    func otherTypes(type: String) throws {
        let token = try Make.token("{}", type: type)
        let verifier = try Make.verifier()
        #expect(code { try Make.verify(token, by: verifier) } == .typeMismatch)
    }

    @Test("Rejects a token without a type unless the policy accepts it") func untyped() throws {
        let token = try Fixture.token(payload: "{}", key: Make.key("issuer")) + "~"
        let verifier = try Make.verifier()
        #expect(code { try Make.verify(token, by: verifier) } == .typeMismatch)
        let lenient = try Make.verifier { $0.type = .absentOrJWT }
        #expect(try Make.verify(token, by: lenient).claims.isEmpty)
    }

    @Test("Accepts the types of SD-JWTs", arguments: ["sd-jwt", "dc+sd-jwt", "application/dc+sd-jwt", "VC+SD-JWT"])
    func types(type: String) throws {
        let token = try Make.token("{}", type: type)
        #expect(try Make.verify(token).claims.isEmpty)
        let strict = try Make.verifier { $0.type = "other+sd-jwt" }
        #expect(code { try Make.verify(token, by: strict) } == .typeMismatch)
    }

    @Test(
        "Rejects SD-JWTs as plain tokens",
        .shows("V12", "RFC 9901 §4, §4.1"),
        arguments: ["sd-jwt", "dc+sd-jwt", "application/DC+SD-JWT"]
    )
    func asPlain(type: String) throws {
        let token = try Make.token(#"{"exp":1700000100}"#, type: type)
        let verifier = try JWTVerifier(key: Make.key("issuer").verificationKey, policy: Make.policy())
        #expect(code { try verifier.verify(token) } == .malformedToken)
        let stripped = String(token.dropLast())
        for _ in 0..<2 { #expect(code { try verifier.verify(stripped) } == .typeMismatch) }
        let explicit = try JWTVerifier(
            key: Make.key("issuer").verificationKey,
            policy: Make.policy { $0.type = .exactly(type) }
        )
        #expect(code { try explicit.verify(stripped) } == .typeMismatch)
    }

    @Test("Rejects a “~” after an access token", .shows("V12", "RFC 9901 §4, §4.1")) func accessToken() throws {
        let claims =
            #"{"iss":"https://id.example","aud":"api","sub":"a","client_id":"c","iat":1700000000,"#
            + #""exp":1700000100,"jti":"1"}"#
        let key = try Make.key("issuer")
        let token = try Fixture.token(header: #"{"alg":"ES256","typ":"at+jwt"}"#, payload: claims, key: key)
        var policy = ValidationPolicy.accessToken(issuer: "https://id.example", audience: "api")
        policy.currentDate = { Make.date }
        let verifier = JWTVerifier(key: key.verificationKey, policy: policy)
        #expect(try verifier.verify(token).claims["sub"] == "a")
        for text in [token + "~", token + "~~", token + "~" + Make.disclosure(#"["salt","scope","admin"]"#) + "~"] {
            #expect(code { try verifier.verify(text) } == .malformedToken)
        }
    }

    @Test("Reads the type only from the protected header", .shows("V16", "RFC 9901 §8")) func unprotectedType() throws {
        let parts = try Fixture.token(header: #"{"alg":"ES256"}"#, payload: "{}", key: Make.key("issuer"))
            .split(separator: ".").map { JSONValue.string(String($0)) }
        var token: JSONObject = ["protected": parts[0], "payload": parts[1], "signature": parts[2]]
        token["header"] = ["typ": "sd-jwt", "disclosures": []]
        let json = token.serializedData()
        let verifier = try Make.verifier()
        #expect(code { try verifier.verify(json: json, keyBinding: .notRequired) } == .typeMismatch)
        #expect(code { try SDJWTHolder(json: json, verifiedBy: verifier) } == .typeMismatch)
    }

    @Test("Names the right verifier for an SD-JWT with a key binding") func hint() throws {
        let token = try Make.bound(Make.holder(), disclosing: ["name"])
        let verifier = try JWTVerifier(key: Make.key("issuer").verificationKey)
        let error = error { try verifier.verify(token.compact) }
        #expect(error?.code == .malformedToken)
        #expect(error?.message.contains("SDJWTVerifier") == true)
    }

    @Test("Rejects JSON as a compact SD-JWT, and the reverse") func forms() throws {
        let token = try Make.issued()
        let json = token.flattenedJSON().serialized()
        let verifier = try Make.verifier()
        #expect(code { try Make.verify(json, by: verifier) } == .malformedToken)
        let compact = Data(token.compact.utf8)
        #expect(code { try verifier.verify(json: compact, keyBinding: .notRequired) } == .malformedToken)
    }

    @Test("Rejects an issuer's signature with a shared secret") func symmetric() throws {
        let secret = try SigningKey(secret: Array(repeating: 7, count: 32), algorithm: .hs256)
        let token = try Fixture.token(header: #"{"alg":"HS256","typ":"sd-jwt"}"#, payload: "{}", key: secret) + "~"
        let verifier = SDJWTVerifier(key: secret.verificationKey, policy: Make.policy())
        #expect(code { try Make.verify(token, by: verifier) } == .unsupportedAlgorithm)
        #expect(code { try SDJWTIssuer(type: "sd-jwt", signingService: secret) } == .unsupportedAlgorithm)
    }

    @Test("Rejects an unencoded payload") func unencoded() throws {
        let header = #"{"alg":"ES256","b64":false,"crit":["b64"],"typ":"sd-jwt"}"#
        let input = Base64URL.encode(Array(header.utf8)) + ".{}"
        let token = try Fixture.signed(input, key: Make.key("issuer")) + "~"
        let verifier = try Make.verifier()
        #expect(code { try Make.verify(token, by: verifier) } == .criticalHeaderUnsupported)
        let parts = token.dropLast().split(separator: ".").map(String.init)
        let json: JSONObject = [
            "protected": .string(parts[0]), "payload": "{}", "signature": .string(parts[2]),
            "header": ["disclosures": []],
        ]
        let text = json.serializedData()
        #expect(code { try verifier.verify(json: text, keyBinding: .notRequired) } == .criticalHeaderUnsupported)
    }

    @Test(
        "Rejects malformed unprotected headers",
        .shows("RFC 9901 §8"),
        arguments: [
            (#"{"disclosures":"x"}"#, TokenError.Code.malformedToken), (#"{"disclosures":[1]}"#, .malformedDisclosure),
            (#"{"disclosures":[""]}"#, .malformedDisclosure), (#"{"kb_jwt":1}"#, .malformedToken),
            (#"{"kb_jwt":""}"#, .malformedToken), (#"{"disclosures":["AA"]}"#, .disclosureMismatch),
        ]
    )
    func header(json: String, expected: TokenError.Code) throws {
        var token = try SDJWTFixture.issuer().issue([:], disclosable: []).flattenedJSON()
        token["header"] = .object(try JSONObject(parsing: json))
        let text = token.serializedData()
        let verifier = try Make.verifier()
        #expect(code { try verifier.verify(json: text, keyBinding: .notRequired) } == expected)
    }

    @Test(
        "Rejects disclosures in a later unprotected header",
        .shows("V16", "RFC 9901 §8"),
        arguments: ["disclosures", "kb_jwt"]
    )
    func laterHeader(name: String) throws {
        let token = try SDJWTFixture.issuer().issue([:], disclosable: []).flattenedJSON()
        var first = token
        first["payload"] = nil
        var second = first
        second["header"] = .object([name: name == "kb_jwt" ? "a.b.c" : []])
        let json: JSONObject = [
            "payload": try #require(token["payload"]), "signatures": .array([.object(first), .object(second)]),
        ]
        let text = json.serializedData()
        let verifier = try Make.verifier()
        #expect(code { try verifier.verify(json: text, keyBinding: .notRequired) } == .malformedToken)
    }
}
