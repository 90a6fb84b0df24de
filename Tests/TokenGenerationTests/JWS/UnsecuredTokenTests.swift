import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Unsecured tokens", .computing)
struct UnsecuredTokenTests {
    @Test(
        "Parses the examples of the RFCs",
        .shows("A4", "RFC 7518 §3.6", "RFC 7519 §6.1", "RFC 8725bis §3.2 (none)"),
        arguments: ["rfc7515-a5-none", "rfc7519-6.1-unsecured"]
    )
    func examples(id: String) throws {
        let compact = try #require(Vector.object(id)["compact"] as? String)
        let token = try UnsecuredToken(unsecured: compact)
        #expect(token.unsecuredHeader == ["alg": "none"])
        #expect(token.unsecuredClaims["iss"] == "joe")
        for algorithm in JWSAlgorithm.implemented {
            let key = try Fixture.key(for: algorithm)
            #expect(code { try JWTVerifier(key: key.verificationKey).verify(compact) } == .algorithmMismatch)
            let set = JWKSet(keys: [key.verificationKey.jwk])
            #expect(code { try JWTVerifier(keys: set).verify(compact) } == .algorithmMismatch)
        }
    }

    @Test(
        "A generated token can be parsed, and no verifier accepts it",
        .shows("A4", "RFC 7518 §3.6", "RFC 8725bis §3.2 (none)")
    )
    func made() throws {
        let text = UnsecuredToken(claims: ["exp": 4_000_000_000]).serialized()
        #expect(text.hasSuffix("."))
        #expect(try UnsecuredToken(unsecured: text).unsecuredClaims == ["exp": 4_000_000_000])
        #expect(try UnsecuredToken(unsecured: text).serialized() == text)
        #expect(code { try Fixture.verifier().verify(text) } == .algorithmMismatch)
    }

    @Test("Rejects a token that is signed, has another algorithm, or is malformed")
    func refused() throws {
        let claims = Base64URL.encode(Array("{}".utf8))
        func token(_ header: String, _ signature: String = "") -> String {
            Base64URL.encode(Array(header.utf8)) + "." + claims + "." + signature
        }
        #expect(code { try UnsecuredToken(unsecured: token(#"{"alg":"none"}"#)) } == nil)
        #expect(code { try UnsecuredToken(unsecured: token(#"{"alg":"none"}"#, "AA")) } == .signatureInvalid)
        for name in ["None", "nOnE", "NONE", "", "HS256", " none"] {
            #expect(code { try UnsecuredToken(unsecured: token(#"{"alg":"\#(name)"}"#)) } == .algorithmMismatch)
        }
        #expect(code { try UnsecuredToken(unsecured: token("{}")) } == .malformedToken)
        #expect(
            code { try UnsecuredToken(unsecured: token(#"{"alg":"none","crit":["x"],"x":1}"#)) }
                == .criticalHeaderUnsupported
        )
        #expect(code { try UnsecuredToken(unsecured: token(#"{"alg":"none"}"#), maximumSize: 10) } == .tooLarge)
        #expect(code { try UnsecuredToken(unsecured: "a.b") } == .malformedToken)
    }
}
