import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

/// Tokens with a valid signature and a malicious header.
@Suite("Malicious headers", .computing)
struct HeaderAttackTests {
    private let verifier: JWTVerifier

    init() throws {
        verifier = try Fixture.verifier()
    }

    @Test("Rejects RFC 7515 Appendix E, in compact form and as printed", .shows("D12", "RFC 7515 E"))
    func rfc7515E() throws {
        let vector = try Vector.object("rfc7515-e-crit-negative")
        #expect(code { try verifier.verify(#require(vector["compact"] as? String)) } == .criticalHeaderUnsupported)
        let printed = try JSONSerialization.data(withJSONObject: #require(vector["header_as_printed"]))
        let token = try Fixture.token(header: String(decoding: printed, as: UTF8.self))
        #expect(code { try verifier.verify(token) } == .criticalHeaderUnsupported)
    }

    @Test(
        "Rejects tokens with other algorithm names",
        arguments: ["rfc7515-a1-hs256", "rfc7515-a2-rs256", "rfc7515-a4-es512", "rfc7519-3.1-jwt-hs256"]
    )
    func otherAlgorithms(name: String) throws {
        let token = try #require(Vector.object(name)["compact"] as? String)
        #expect(code { try verifier.verify(token) } == .algorithmMismatch)
    }

    @Test(
        "Rejects headers that aren't JSON objects with the right types",
        .shows("RFC 7515 §4"),
        arguments: [
            "", "null", "[]", #""ES256""#, "{", #"{"alg":"ES256"}x"#, #"{"alg":"ES256","typ":1}"#,
            #"{"alg":"ES256","kid":1}"#, #"{"alg":"ES256","kid":null}"#, #"{"alg":"ES256","cty":[]}"#,
            #"{"alg":"ES256","typ":null}"#, #"{"alg":"ES256","x":"\uD800"}"#,
        ]
    )
    func malformed(header: String) throws {
        #expect(code { try verifier.verify(Fixture.token(header: header)) } == .malformedToken)
        #expect(code { try UnverifiedToken(Fixture.token(header: header)) } == .malformedToken)
    }

    @Test(
        "Numbers of any size in the header are harmless",
        .shows("D5"),
        arguments: ["1e300", "1e999", "-1e999", "99999999999999999999999", "1e-999", "0.1"]
    )
    func numbers(number: String) throws {
        let token = try Fixture.token(header: #"{"alg":"ES256","x":\#(number)}"#)
        #expect(try verifier.verify(token).header["x"]?.number?.literal == number)
        #expect(try UnverifiedToken(token).unverifiedHeader["x"]?.number?.literal == number)
    }

    @Test(
        "The type is a case-insensitive media type, with or without application/",
        .shows("RFC 7515 §4.1.9", "RFC 8725bis §3.11 (types)"),
        arguments: [
            ("at+jwt", "at+jwt", true), ("AT+JWT", "at+jwt", true), ("application/at+jwt", "at+jwt", true),
            ("Application/AT+jwt", "at+jwt", true), ("at+jwt", "application/at+jwt", true), ("JWT", "jwt", true),
            ("JWT", "at+jwt", false), ("text/at+jwt", "at+jwt", false), ("at+jwt ", "at+jwt", false),
            ("", "at+jwt", false), ("x/y", "x/Y", true), ("application/x/y", "x/y", false),
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
        let typed = try Fixture.verifier(ValidationPolicy(type: "at+jwt"))
        #expect(code { try typed.verify(Fixture.token()) } == .typeMismatch)
        let token = try Fixture.token(header: #"{"alg":"ES256","typ":"whatever"}"#)
        #expect(try verifier.verify(token).header["typ"] == "whatever")
    }
}
