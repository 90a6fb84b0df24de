import Foundation
import TestSupport
import Testing
import TokenGeneration

/// Tokens with a valid header and signature whose claims must be rejected or be harmless.
@Suite("Malicious claims", .computing)
struct ClaimsAttackTests {
    @Test(
        "Rejects a payload that isn't a strict JSON object",
        arguments: [
            "", "null", "[]", "1", #""text""#, "{", #"{"exp":1700000100}{"#, #"{"exp":1700000100,"exp":1}"#,
            #"{"exp":1,"exp":1700000100}"#, #"{"exp":1700000100,"sub":"a","sub":"b"}"#,
            #"{"exp":1700000100,"a":{"b":1,"b":2}}"#, #"{"exp":1700000100,"a":"\uD800"}"#,
            #"{"exp":1700000100,"a":"\uDC00\uD800"}"#, "{\"exp\":1700000100,\"a\":\"\n\"}", #"{"exp":1700000100,}"#,
            #"{"exp":01700000100}"#, "\u{FEFF}{\"exp\":1700000100}",
        ]
    )
    func malformed(payload: String) throws {
        let token = try Fixture.token(payload: payload)
        let refusal = try #require(error { try Fixture.verifier().verify(token) })
        #expect(refusal.code == .malformedToken)
        #expect((refusal.cause as? TokenError)?.code == .malformedJSON)
        #expect(code { try UnverifiedToken(token) } == .malformedToken)
    }

    @Test("Rejects claims in malformed UTF-8", .shows("D8", "RFC 8725bis §3.7"))
    func malformedUTF8() throws {
        for bytes: [UInt8] in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]] {
            let payload = Array(#"{"exp":1700000100,"a":""#.utf8) + bytes + Array("\"}".utf8)
            let token = try Fixture.token(headerBytes: Array(#"{"alg":"ES256"}"#.utf8), payloadBytes: payload)
            #expect(code { try Fixture.verifier().verify(token) } == .malformedToken)
        }
    }

    @Test(
        "Rejects a time that isn't a finite number",
        .shows("D6", "RFC 7519 §2"),
        arguments: ["exp", "nbf", "iat"],
        [
            #""1700000100""#, #""never""#, "null", "true", "false", "[]", "[1700000100]", "{}", #"{"a":1}"#, "1e999",
            "-1e999", "9e99999999999999999999",
        ]
    )
    func malformedTimes(claim: String, value: String) throws {
        var members = ["exp": "1700000100"]
        members[claim] = value
        let payload = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        #expect(code { try Fixture.verifier().verify(Fixture.token(payload: payload)) } == .malformedClaim)
    }

    @Test(
        "Compares times of any size without trapping",
        .shows("D5", "RFC 7519 §2"),
        arguments: [
            ("exp", "1e300", .malformedClaim), ("exp", "99999999999999999999999999", .malformedClaim),
            ("exp", "9223372036854775807", .malformedClaim), ("exp", "253402300799", nil),
            ("exp", "2.53402300799e11", nil), ("exp", "253402300799.5", nil), ("exp", "253402300800", .malformedClaim),
            ("exp", "9999999999", nil), ("exp", "-9223372036854775809", .malformedClaim),
            ("exp", "-1e300", .malformedClaim), ("exp", "0", .expired), ("exp", "-62135596800", .expired),
            ("exp", "-62135596801", .malformedClaim), ("exp", "-0", .expired), ("exp", "1e-300", .expired),
            ("exp", "1700000100.999999999999999999", nil), ("exp", "1.7000001e9", nil),
            ("nbf", "1e300", .malformedClaim), ("nbf", "-1e300", .malformedClaim), ("iat", "1e300", .malformedClaim),
            ("iat", "-1e300", .malformedClaim), ("nbf", "253402300799", .notYetValid),
            ("iat", "253402300799", .issuedInFuture), ("iat", "1e-400", nil), ("iat", "-1", nil),
        ] as [(String, String, TokenError.Code?)]
    )
    func hugeTimes(claim: String, value: String, expected: TokenError.Code?) throws {
        var members = ["exp": "1700000100"]
        members[claim] = value
        let payload = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        let token = try Fixture.token(payload: payload)
        #expect(code { try Fixture.verifier().verify(token) } == expected)
        struct Times: Decodable {
            let exp: Date
            let nbf: Date?
            let iat: Date?
        }
        let whole = ValidationPolicy(leeway: .seconds(Int64.max))
        _ = code { try Fixture.verifier(whole).verify(token, as: Times.self) }
    }

    @Test(
        "Rejects an audience that isn't a string or array of strings, expected or not",
        .shows("D9"),
        arguments: ["[]", "[1]", #"["a",1]"#, #"["a",null]"#, #"[["a"]]"#, "null", "1", "true", "{}", #"{"a":"a"}"#]
    )
    func malformedAudience(value: String) throws {
        let token = try Fixture.token(payload: #"{"exp":1700000100,"aud":\#(value)}"#)
        #expect(code { try Fixture.verifier().verify(token) } == .malformedClaim)
        #expect(code { try Fixture.verifier(ValidationPolicy(audience: "a")).verify(token) } == .malformedClaim)
    }

    @Test(
        "Rejects an issuer, subject or ID that isn't a string, expected or not",
        .shows("D10"),
        arguments: ["iss", "sub", "jti"],
        ["1", "null", "[]", #"["a"]"#, #"{"a":1}"#, "true"]
    )
    func malformedStrings(claim: String, value: String) throws {
        let token = try Fixture.token(payload: #"{"exp":1700000100,"\#(claim)":\#(value)}"#)
        #expect(code { try Fixture.verifier().verify(token) } == .malformedClaim)
    }

    @Test("Members whose names differ in case aren't registered claims", .shows("D3"))
    func caseOfNames() throws {
        let token = try Fixture.token(payload: #"{"Exp":1700000100,"EXP":1700000100}"#)
        #expect(code { try Fixture.verifier().verify(token) } == .missingClaim)
    }

    @Test(
        "The custom type decodes nothing before the policy has accepted the claims",
        .shows("Y5", "RFC 7519 §7.1, §7.2")
    )
    func policyFirst() throws {
        struct Claims: Decodable {
            struct WasDecoded: Error {}
            init(from decoder: any Decoder) throws { throw WasDecoded() }
        }
        let expired = try Fixture.token(payload: #"{"exp":1}"#)
        #expect(code { try Fixture.verifier().verify(expired, as: Claims.self) } == .expired)
        let refusal = try #require(error { try Fixture.verifier().verify(Fixture.token(), as: Claims.self) })
        #expect(refusal.code == .malformedClaim)
        #expect(refusal.cause is Claims.WasDecoded)
    }

    @Test("The error for claims that don't match the custom type has the path, but not the value", .shows("J18"))
    func decoding() throws {
        struct Claims: Decodable, Equatable {
            struct Inner: Decodable, Equatable { let level: Int }
            let exp: Date
            let inner: [Inner]
        }
        let good = try Fixture.token(payload: #"{"exp":1700000100,"inner":[{"level":3}]}"#)
        let expected = Claims(exp: Date(timeIntervalSince1970: 1_700_000_100), inner: [.init(level: 3)])
        #expect(try Fixture.verifier().verify(good, as: Claims.self) == expected)
        #expect(try Fixture.verifier().verify(good).decode() == expected)
        for (inner, word) in [
            (#"[{"level":"s3cr3t"}]"#, "wrong type"), ("[{}]", "missing"), (#"[{"level":null}]"#, "null"),

        ] {
            let token = try Fixture.token(payload: #"{"exp":1700000100,"inner":\#(inner)}"#)
            let refusal = try #require(error { try Fixture.verifier().verify(token, as: Claims.self) })
            #expect(refusal.code == .malformedClaim)
            #expect(refusal.message.contains("inner") && refusal.message.contains("level"), "\(refusal.message)")
            #expect(refusal.message.contains(word), "\(refusal.message)")
            #expect(!refusal.description.contains("s3cr3t"))
        }
        let huge = try Fixture.token(payload: #"{"exp":1700000100,"inner":[{"level":1e300}]}"#)
        let refusal = try #require(error { try Fixture.verifier().verify(huge, as: Claims.self) })
        #expect(refusal.code == .malformedClaim)
        #expect(refusal.message.contains("inner.0.level"))
    }

    @Test("Messages never contain the token or a claim's value", .shows("C15", "D16"))
    func messages() throws {
        let secret = "s3cr3t-value"
        let policy = ValidationPolicy(issuer: "i", audience: "a", subject: "s")
        for payload in [
            #"{"exp":1,"sub":"\#(secret)"}"#, #"{"exp":"\#(secret)"}"#, #"{"exp":1700000100,"iss":"\#(secret)"}"#,
            #"{"exp":1700000100,"iss":"i","sub":"\#(secret)"}"#,
            #"{"exp":1700000100,"iss":"i","sub":"s","aud":["\#(secret)"]}"#,
            #"{"exp":1700000100,"x":"\#(secret)""#, #"{"exp":1700000100,"x":"\#(secret)","x":"\#(secret)"}"#,
        ] {
            let token = try Fixture.token(payload: payload)
            let refusal = try #require(error { try Fixture.verifier(policy).verify(token) })
            for text in [refusal.message, refusal.description, refusal.localizedDescription, "\(refusal.cause as Any)"]
            {
                #expect(!text.contains(secret))
                for part in token.split(separator: ".") { #expect(!text.contains(part)) }
            }
        }
    }
}
