import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Required extensions in a header", .computing)
struct CriticalHeaderTests {
    /// The members other than `alg`, and the expected error if the verifier understands `ext`, or
    /// `nil`.
    private static let cases: [(members: String, expected: TokenError.Code?)] =
        [
            (#""crit":["ext"],"ext":1"#, nil), (#""crit":["ext"],"ext":null"#, nil),
            (#""crit":["\u0065xt"],"ext":1"#, nil), (#""crit":["b64","ext"],"ext":1,"b64":true"#, nil),
            (#""ext":1"#, nil), (#""crit":["EXT"],"EXT":1"#, .criticalHeaderUnsupported),
            (#""crit":["exp"],"exp":1"#, .criticalHeaderUnsupported),
            (#""crit":["ext","exp"],"ext":1,"exp":1"#, .criticalHeaderUnsupported),
            (#""crit":["http://a.example/x"],"http://a.example/x":1"#, .criticalHeaderUnsupported),
            (#""crit":["e\u0301"],"e\u0301":1"#, .criticalHeaderUnsupported), (#""crit":["ext"]"#, .malformedToken),
            (#""crit":["Ext"],"ext":1"#, .malformedToken), (#""crit":["ext","ext"],"ext":1"#, .malformedToken),
            (#""crit":["ext",""],"ext":1,"":1"#, .malformedToken), (#""crit":["ext",1],"ext":1"#, .malformedToken),
            (#""crit":["ext",null],"ext":1"#, .malformedToken), (#""crit":["ext",["ext"]],"ext":1"#, .malformedToken),
            (#""crit":["ext",{}],"ext":1"#, .malformedToken), (#""crit":[]"#, .malformedToken),
            (#""crit":null"#, .malformedToken), (#""crit":"ext","ext":1"#, .malformedToken),
            (#""crit":true,"ext":1"#, .malformedToken), (#""crit":5"#, .malformedToken),
            (#""crit":{"ext":1},"ext":1"#, .malformedToken),
            (#""crit":["ext"],"crit":["ext"],"ext":1"#, .malformedToken), (#""crit":["b64"]"#, .malformedToken),
            (#""b64":false"#, .malformedToken), (#""b64":true"#, .malformedToken), (#""b64":null"#, .malformedToken),
            (#""crit":["ext"],"ext":1,"b64":false"#, .malformedToken), (#""crit":["b64"],"b64":null"#, .malformedToken),
            (#""crit":["b64"],"b64":"false""#, .malformedToken), (#""crit":["b64"],"b64":0"#, .malformedToken),
            (#""crit":["b64"],"b64":[]"#, .malformedToken), (#""crit":[1]"#, .malformedToken),
            (#""crit":[["ext"]],"ext":1"#, .malformedToken), (#""crit":[""],"":1"#, .malformedToken),
            (#""b64":"true""#, .malformedToken), (#""crit":["typ","ext"],"typ":"JWT","ext":1"#, .malformedToken),
        ]
        + ["alg", "jku", "jwk", "kid", "x5u", "x5c", "x5t", "x5t#S256", "typ", "cty", "crit"].map { name in
            let member = ["alg", "crit"].contains(name) ? "" : #","\#(name)":"a""#
            return (#""crit":["\#(name)"]\#(member)"#, .malformedToken)
        }

    @Test(
        "Requires a well-formed, understood extension in every serialization",
        .shows("D12", "RFC 7515 §4.1.11"),
        arguments: cases
    )
    func shapes(members: String, expected: TokenError.Code?) throws {
        let header = #"{"alg":"ES256",\#(members)}"#
        let verifier = try JSONFixture.verifier(understanding: ["ext", "é"])
        let compact = try Fixture.token(header: header, payload: #"{"exp":1}"#)
        #expect(code { try verifier.verify(compact: compact) } == expected)
        // A JWT's verifier understands no extension, not even b64.
        let isRequired = members.contains("crit") && (expected == nil || members.hasPrefix(#""crit":["b64"],"#))
        let inToken = isRequired ? TokenError.Code.criticalHeaderUnsupported : expected ?? .expired
        #expect(code { try Fixture.verifier().verify(compact) } == inToken)
        let segments = compact.split(separator: ".")
        let detached = "\(segments[0])..\(segments[2])"
        #expect(code { try verifier.verify(compact: detached, detachedPayload: JSONFixture.payload) } == expected)
        #expect(try JSONFixture.refusal(JSONFixture.entry(header), by: verifier) == expected)
    }

    @Test(
        "Rejects an extension that the verifier doesn't declare",
        .shows("D12", "J9", "RFC 7515 §4.1.11"),
        arguments: [#""crit":["ext"],"ext":1"#, #""crit":["b64","ext"],"ext":1,"b64":true"#]
    )
    func notDeclared(members: String) throws {
        let header = #"{"alg":"ES256",\#(members)}"#
        let verifier = try JSONFixture.verifier()
        #expect(code { try verifier.verify(compact: Fixture.token(header: header)) } == .criticalHeaderUnsupported)
        #expect(try JSONFixture.refusal(JSONFixture.entry(header), by: verifier) == .criticalHeaderUnsupported)
    }

    @Test("Rejects every extension in a JWT, including those of JWSs", .shows("RFC 7797 §6, §7"))
    func tokens() throws {
        for members in [#""crit":["b64"],"b64":false"#, #""crit":["b64"],"b64":true"#, #""crit":["ext"],"ext":1"#] {
            let token = try Fixture.token(header: #"{"alg":"ES256",\#(members)}"#)
            #expect(code { try Fixture.verifier().verify(token) } == .criticalHeaderUnsupported)
        }
        for header in [["b64": false], ["b64": true], ["crit": ["b64"], "b64": false]] as [JSONObject] {
            let service = try ES256SigningService(key: Fixture.signingKey())
            let generator = JWTGenerator(header: header, payload: [:], signingService: service)
            #expect(code { try generator.token() } == .criticalHeaderUnsupported)
        }
    }

    @Test(
        "Rejects an unprotected crit, algorithm or encoding",
        .shows("A5"),
        arguments: [
            (#"{"alg":"ES256"}"#, #"{"crit":["ext"],"ext":1}"#), (#"{"alg":"ES256","ext":1}"#, #"{"crit":["ext"]}"#),
            (#"{"alg":"ES256","crit":["ext"]}"#, #"{"ext":1}"#), (#"{"alg":"ES256"}"#, #"{"b64":false}"#),
            (#"{"alg":"ES256"}"#, #"{"b64":true}"#), (#"{"alg":"ES256","crit":["b64"]}"#, #"{"b64":false}"#),
            (nil, #"{"alg":"ES256"}"#), (#"{"kid":"a"}"#, #"{"alg":"ES256"}"#), (nil, #"{"alg":"none"}"#),
        ] as [(String?, String)]
    )
    func unprotected(protected: String?, unprotected: String) throws {
        let verifier = try JSONFixture.verifier(understanding: ["ext"])
        #expect(
            try JSONFixture.refusal(JSONFixture.entry(protected, unprotected: unprotected), by: verifier)
                == .unprotectedParameter
        )
    }

    @Test("Rejects a parameter in both headers, even with the same value", .shows("D14"))
    func notDisjoint() throws {
        for name in ["alg", "kid", "x", "crit", "b64"] {
            for value in ["\"ES256\"", "1", "null"] {
                let entry = try JSONFixture.entry(
                    #"{"alg":"ES256"\#(name == "alg" ? "" : #","\#(name)":"ES256""#)}"#,
                    unprotected: #"{"\#(name)":\#(value)}"#
                )
                #expect(try JSONFixture.refusal(entry, by: JSONFixture.verifier()) == .malformedToken)
            }
        }
    }

    @Test(
        "The key fixes the algorithm before any computation, in every serialization",
        .shows(
            "A3",
            "Z1",
            "RFC 7515 §4",
            "RFC 7515 §10.7, §10.10",
            "RFC 8725bis §3.1 (restriction)",
            "RFC 8725bis §3.1 (key ID)",
            "RFC 8725bis §3.1 (one algorithm)",
            "RFC 8725bis §3.1 (names)"
        ),
        arguments: [
            (#"{"alg":"none"}"#, .algorithmMismatch), (#"{"alg":"None"}"#, .algorithmMismatch),
            (#"{"alg":"nOnE"}"#, .algorithmMismatch), (#"{"alg":""}"#, .algorithmMismatch),
            (#"{"alg":"HS256"}"#, .algorithmMismatch), (#"{"alg":"ES384"}"#, .algorithmMismatch),
            (#"{"alg":"RS256"}"#, .algorithmMismatch), (#"{"alg":"es256"}"#, .algorithmMismatch),
            (#"{"alg":"ES256 "}"#, .algorithmMismatch), (#"{"alg":"ES256\u0000"}"#, .algorithmMismatch),
            (#"{}"#, .malformedToken), (#"{"alg":null}"#, .malformedToken), (#"{"alg":256}"#, .malformedToken),
            (#"{"alg":["ES256"]}"#, .malformedToken), (#"{"ALG":"ES256"}"#, .malformedToken),
            (#"{"alg":"ES256","alg":"none"}"#, .malformedToken), (#"{"alg":"none","alg":"ES256"}"#, .malformedToken),
            (#"{"alg":"none","\u0061lg":"ES256"}"#, .malformedToken),
        ] as [(String, TokenError.Code)]
    )
    func algorithms(header: String, expected: TokenError.Code) throws {
        let (verifier, tokenVerifier) = (try JSONFixture.verifier(), try Fixture.verifier())
        let token = try Fixture.token(header: header)
        let unsigned = String(token[...(token.lastIndex(of: ".") ?? token.startIndex)])
        for text in [token, unsigned] {
            #expect(code { try verifier.verify(compact: text) } == expected)
            #expect(code { try tokenVerifier.verify(text) } == expected)
        }
        let empty = #""protected":"\#(token.prefix { $0 != "." })","signature":"""#
        for entry in [try JSONFixture.entry(header), empty] {
            #expect(JSONFixture.refusal(entry, by: verifier) == expected)
        }
    }

    @Test(
        "Ignores keys and URLs in either header, and in a JWT's",
        .shows(
            "B1",
            "B2",
            "RFC 7515 §4.1.2–4.1.8",
            "RFC 8725bis §3.10 (key ID)",
            "RFC 8725bis §3.10 (URLs)",
            "FAPI 2.0 §5.4.2"
        )
    )
    func embeddedKeys() throws {
        let attacker = try SigningKey.generate(.es256)
        let jwk = attacker.verificationKey.jwk.members.serialized()
        func refusal(_ protected: String, _ unprotected: String?, _ key: SigningKey?) throws -> TokenError.Code? {
            let entry = try JSONFixture.entry(protected, unprotected: unprotected, key: key)
            let verifier = try JSONFixture.verifier()
            return code { try verifier.verify(json: JSONFixture.flattened(entry), requiring: .any) }
        }
        for member in [
            #""jwk":\#(jwk)"#, #""jku":"https://evil.example/keys""#, #""x5u":"file:///etc/passwd""#,
            #""x5u":"data:,""#,
            #""x5c":["MII"]"#, #""x5c":5"#, #""jwk":5"#,
        ] {
            let header = #"{"alg":"ES256",\#(member)}"#
            for (protected, unprotected) in [(header, nil), (#"{"alg":"ES256"}"#, "{\(member)}")] {
                #expect(try refusal(protected, unprotected, attacker) == .signatureInvalid, "\(member)")
                #expect(try refusal(protected, unprotected, nil) == nil, "\(member)")
            }
            let forged = try Fixture.token(header: header, key: attacker)
            #expect(code { try Fixture.verifier().verify(forged) } == .signatureInvalid, "\(member)")
            #expect(try Fixture.verifier().verify(Fixture.token(header: header)).claims["exp"] != nil)
        }
    }

    @Test(
        "Rejects or ignores numbers of any size, deep nesting and malformed text in a header",
        arguments: [
            (#""x":1e999"#, nil), (#""x":-1e300"#, nil), (#""x":99999999999999999999"#, nil),
            (#""x":01"#, .malformedToken), (#""x":NaN"#, .malformedToken), (#""x":"\ud800""#, .malformedToken),
            (#""x":{"a":1,"a":1}"#, .malformedToken),
            ("\"x\":" + String(repeating: "[", count: 64) + String(repeating: "]", count: 64), .tooLarge),
        ] as [(String, TokenError.Code?)]
    )
    func values(member: String, expected: TokenError.Code?) throws {
        let verifier = try JSONFixture.verifier()
        let header = #"{"alg":"ES256",\#(member)}"#
        #expect(code { try verifier.verify(compact: Fixture.token(header: header)) } == expected)
        let json = JSONFixture.flattened(try JSONFixture.entry(header))
        #expect(code { try verifier.verify(json: json, requiring: .any) } == expected)
        let other = JSONFixture.flattened(try JSONFixture.entry(unprotected: "{\(member)}"))
        #expect(code { try verifier.verify(json: other, requiring: .any) } == expected)
    }
}
