import Foundation
import OpenSSLCrypto
import Testing
import TokenGeneration

@Suite("Attacks with disclosures", .serialized)
struct DisclosureAttackTests {
    private typealias Make = SDJWTFixture

    private static func refusal(_ payload: String, _ disclosures: [String] = []) throws -> TokenError.Code? {
        let token = try Make.token(payload, disclosures)
        let verifier = try Make.verifier()
        let refusal = code { try Make.verify(token, by: verifier) }
        // A holder runs the same checks.
        #expect(code { try SDJWTHolder(token, verifiedBy: verifier) } == refusal)
        #expect(code { try SDJWTHolder(unverified: token) } == refusal)
        return refusal
    }

    @Test(
        "Rejects a digest that occurs twice",
        arguments: [
            #"{"_sd":["D","D"]}"#, #"{"_sd":["D"],"a":{"_sd":["D"]}}"#, #"{"_sd":["D","decoy"],"a":[{"...":"decoy"}]}"#,
            #"{"_sd":["decoy","decoy","D"]}"#,
        ]
    )
    func repeatedDigest(payload: String) throws {
        let disclosure = Make.disclosure(#"["salt","name","Alice"]"#)
        let payload = payload.replacing("D", with: try Make.digest(disclosure))
        #expect(try Self.refusal(payload, [disclosure]) == .disclosureMismatch)
    }

    @Test("Rejects a digest that a disclosure repeats") func digestInDisclosure() throws {
        let inner = Make.disclosure(#"["salt","b",1]"#)
        let digest = try Make.digest(inner)
        let outer = Make.disclosure(#"["salt","a",{"_sd":["\#(digest)"]}]"#)
        let payload = #"{"_sd":["\#(try Make.digest(outer))","\#(digest)"]}"#
        #expect(try Self.refusal(payload, [outer, inner]) == .disclosureMismatch)
    }

    @Test("Rejects a disclosure that nothing refers to") func unreferenced() throws {
        let used = Make.disclosure(#"["salt","name","Alice"]"#)
        let other = Make.disclosure(#"["salt","admin",true]"#)
        let payload = #"{"_sd":["\#(try Make.digest(used))"]}"#
        #expect(try Self.refusal(payload, [used]) == nil)
        #expect(try Self.refusal(payload, [used, other]) == .disclosureMismatch)
        #expect(try Self.refusal("{}", [used]) == .disclosureMismatch)
    }

    @Test("Rejects an inner disclosure without the one around it") func unconnected() throws {
        let inner = Make.disclosure(#"["salt","city","Köln"]"#)
        let outer = Make.disclosure(#"["salt","address",{"_sd":["\#(try Make.digest(inner))"]}]"#)
        let payload = #"{"_sd":["\#(try Make.digest(outer))"]}"#
        #expect(try Self.refusal(payload, [inner, outer]) == nil)
        #expect(try Self.refusal(payload, [inner]) == .disclosureMismatch)
    }

    @Test("Rejects a repeated disclosure") func repeatedDisclosure() throws {
        let disclosure = Make.disclosure(#"["salt","name","Alice"]"#)
        let payload = #"{"_sd":["\#(try Make.digest(disclosure))"]}"#
        #expect(try Self.refusal(payload, [disclosure, disclosure]) == .disclosureMismatch)
    }

    @Test("Rejects reserved names in disclosures", arguments: ["_sd", "...", "_sd_alg"])
    func reservedName(name: String) throws {
        let disclosure = Make.disclosure(#"["salt","\#(name)",[]]"#)
        let payload = #"{"_sd":["\#(try Make.digest(disclosure))"]}"#
        #expect(try Self.refusal(payload, [disclosure]) == .malformedDisclosure)
    }

    @Test("Rejects a disclosed claim that the object already has", arguments: ["iss", "exp", "name"])
    func collision(name: String) throws {
        let disclosure = Make.disclosure(#"["salt","\#(name)",1]"#)
        let digest = try Make.digest(disclosure)
        let payload = #"{"iss":"a","exp":1700000100,"name":"Bob","_sd":["\#(digest)"]}"#
        #expect(try Self.refusal(payload, [disclosure]) == .disclosureMismatch)
    }

    @Test("Rejects two disclosures of one claim") func twoValues() throws {
        let texts = [Make.disclosure(#"["1","role","user"]"#), Make.disclosure(#"["2","role","admin"]"#)]
        let digests = try texts.map { "\"\(try Make.digest($0))\"" }.joined(separator: ",")
        #expect(try Self.refusal(#"{"_sd":[\#(digests)]}"#, texts) == .disclosureMismatch)
    }

    @Test("Rejects the disclosure of an element as a member, and the reverse") func wrongForm() throws {
        let element = Make.disclosure(#"["salt","value"]"#)
        let member = Make.disclosure(#"["salt","name","value"]"#)
        let asMember = #"{"_sd":["\#(try Make.digest(element))"]}"#
        let asElement = #"{"a":[{"...":"\#(try Make.digest(member))"}]}"#
        #expect(try Self.refusal(asMember, [element]) == .malformedDisclosure)
        #expect(try Self.refusal(asElement, [member]) == .malformedDisclosure)
    }

    @Test(
        "Rejects malformed disclosures",
        arguments: [
            "[]", #"["salt"]"#, #"["salt","a","b","c"]"#, #"{"salt":"a"}"#, #""text""#, "[1,\"a\",2]", #"["salt",1,2]"#,
            #"["salt","a",{"b":1,"b":2}]"#, #"["salt","a",01]"#, #"["salt","a","\#u{1}"]"#, #"["salt","a",1] x"#, "",
            #"["salt","a","\ud800"]"#,
        ]
    )
    func malformed(json: String) throws {
        let disclosure = Make.disclosure(json)
        let payload = #"{"_sd":["\#(try Make.digest(disclosure))"]}"#
        #expect(try Self.refusal(payload, [disclosure]) == .malformedDisclosure)
    }

    @Test(
        "Rejects a disclosure that isn't strict base64url of UTF-8",
        arguments: [
            "WyJzIiwiYSIsMV0=", "WyJzIiwiYSIsMV", "WyJz IiwiYSIsMV0", "WyJzIiwiYSIsMV1", "W+", "\u{212A}",
            Base64URL.encode([0x5B, 0x22, 0xFF, 0x22, 0x5D]),
        ]
    )
    func encoding(text: String) throws {
        let payload = #"{"_sd":["\#(try Make.digest(text))"]}"#
        #expect(try Self.refusal(payload, [text]) == .malformedDisclosure)
    }

    @Test(
        "Rejects digests in the wrong place",
        arguments: [
            #"{"_sd":"x"}"#, #"{"_sd":{}}"#, #"{"_sd":[1]}"#, #"{"_sd":["x",null]}"#, #"{"a":{"_sd":null}}"#,
            #"{"...":"x"}"#, #"{"a":{"...":"x"}}"#, #"{"a":[{"...":"x","b":1}]}"#, #"{"a":[{"...":1}]}"#,
            #"{"a":[[{"...":null}]]}"#,
        ]
    )
    func misplacedDigest(payload: String) throws {
        #expect(try Self.refusal(payload) == .malformedClaim)
    }

    @Test(
        "Rejects digests in the wrong place of a disclosed value",
        arguments: [
            #"{"_sd":"x"}"#, #"{"...":"x"}"#, #"{"_sd_alg":"sha-256"}"#, #"[{"...":"x","b":1}]"#,
        ]
    )
    func misplacedInDisclosure(value: String) throws {
        let disclosure = Make.disclosure(#"["salt","a",\#(value)]"#)
        let payload = #"{"_sd":["\#(try Make.digest(disclosure))"]}"#
        #expect(try Self.refusal(payload, [disclosure]) == .malformedClaim)
    }

    @Test(
        "Rejects hash algorithms other than SHA-256, SHA-384 and SHA-512",
        arguments: [
            ("\"sha-1\"", TokenError.Code.unsupportedAlgorithm), ("\"md5\"", .unsupportedAlgorithm),
            ("\"sha-256-128\"", .unsupportedAlgorithm), ("\"SHA-256\"", .unsupportedAlgorithm),
            ("\"\"", .unsupportedAlgorithm), ("1", .malformedClaim), ("null", .malformedClaim),
        ]
    )
    func hash(value: String, expected: TokenError.Code) throws {
        #expect(try Self.refusal(#"{"_sd_alg":\#(value)}"#) == expected)
    }

    @Test("Rejects a hash algorithm inside the payload") func nestedHash() throws {
        #expect(try Self.refusal(#"{"a":{"_sd_alg":"sha-256"}}"#) == .malformedClaim)
        #expect(try Self.refusal(#"{"a":[{"_sd_alg":"sha-256"}]}"#) == .malformedClaim)
    }

    @Test("Ignores decoys, and removes digests from the claims") func decoys() throws {
        let payload = #"{"_sd":["x"],"_sd_alg":"sha-256","a":[{"...":"y"},1],"b":{"_sd":[]}}"#
        let claims = try Make.verify(Make.token(payload)).claims
        #expect(claims == ["a": [1], "b": [:]])
    }

    @Test(
        "Checks claims that only a disclosure has",
        arguments: [
            (#"["salt","exp",1699999000]"#, TokenError.Code.expired), (#"["salt","nbf",1700009999]"#, .notYetValid),
            (#"["salt","exp","soon"]"#, .malformedClaim), (#"["salt","aud","other"]"#, .audienceMismatch),
        ]
    )
    func disclosedValidity(json: String, expected: TokenError.Code) throws {
        let disclosure = Make.disclosure(json)
        let token = try Make.token(#"{"_sd":["\#(Make.digest(disclosure))"]}"#, [disclosure])
        let verifier = try Make.verifier()
        #expect(code { try Make.verify(token, by: verifier) } == expected)
    }

    @Test("Rejects a token whose required claim isn't disclosed") func undisclosedClaim() throws {
        let disclosure = Make.disclosure(#"["salt","exp",1700000100]"#)
        let payload = #"{"_sd":["\#(try Make.digest(disclosure))"]}"#
        let verifier = try Make.verifier { $0.expiration = .required }
        let hidden = try Make.token(payload)
        let disclosed = try Make.token(payload, [disclosure])
        #expect(code { try Make.verify(hidden, by: verifier) } == .missingClaim)
        #expect(try Make.verify(disclosed, by: verifier).registered.expiration != nil)
    }

    @Test("Checks the issuer's signature before anything else in the token") func signatureFirst() throws {
        let token = try Make.token(#"{"_sd":1}"#, ["AA", "AA"])
        let other = try SDJWTVerifier(key: Make.key("holder").verificationKey, policy: Make.policy())
        #expect(code { try Make.verify(token, by: other) } == .signatureInvalid)
        let changed = token.replacing("~", with: "A~", maxReplacements: 1)
        let verifier = try Make.verifier()
        #expect([.signatureInvalid, .malformedToken].contains(code { try Make.verify(changed, by: verifier) }))
    }
}
