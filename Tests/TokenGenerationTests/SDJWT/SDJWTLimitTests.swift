import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("Limits of SD-JWTs", .computing)
struct SDJWTLimitTests {
    private typealias Make = SDJWTFixture

    private static func refusal(_ token: String, _ limits: SDJWTLimits = SDJWTLimits()) throws -> TokenError.Code? {
        var verifier = try Make.verifier()
        verifier.limits = limits
        let refusal = code { try Make.verify(token, by: verifier) }
        #expect(code { try SDJWTHolder(unverified: token, limits: limits) } == refusal)
        return refusal
    }

    private static func token(count: Int) throws -> String {
        let disclosures = (0..<count).map { Make.disclosure(#"["\#($0)","c\#($0)",1]"#) }
        let digests = try disclosures.map { "\"\(try Make.digest($0))\"" }.joined(separator: ",")
        return try Make.token(#"{"_sd":[\#(digests)]}"#, disclosures)
    }

    @Test("Limits the number of disclosures", .shows("V13"), arguments: [(256, nil), (257, TokenError.Code.tooLarge)])
    func count(count: Int, expected: TokenError.Code?) throws {
        let token = try Self.token(count: count)
        #expect(try Self.refusal(token) == expected)
        let parts = token.split(separator: "~").map(String.init)
        let jwt = parts[0].split(separator: ".").map { JSONValue.string(String($0)) }
        let json: JSONObject = [
            "protected": jwt[0], "payload": jwt[1], "signature": jwt[2],
            "header": ["disclosures": .array(parts.dropFirst().map(JSONValue.string))],
        ]
        let text = json.serializedData()
        let verifier = try Make.verifier()
        #expect(code { try verifier.verify(json: text, keyBinding: .notRequired) } == expected)
    }

    @Test("Limits the size of the whole text", .shows("V13")) func size() throws {
        let token = try Self.token(count: 1)
        #expect(try Self.refusal(token, SDJWTLimits(size: token.utf8.count)) == nil)
        #expect(try Self.refusal(token, SDJWTLimits(size: token.utf8.count - 1)) == .tooLarge)
        #expect(try Self.refusal(String(repeating: "~", count: 300)) == .tooLarge)
        #expect(try Self.refusal(String(repeating: "a", count: 300_000)) == .tooLarge)
    }

    @Test("Limits the size of a disclosure", arguments: [(12_250, nil), (12_280, TokenError.Code.tooLarge)])
    func disclosureSize(count: Int, expected: TokenError.Code?) throws {
        let text = Make.disclosure(#"["salt","a","\#(String(repeating: "a", count: count))"]"#)
        let token = try Make.token(#"{"_sd":["\#(Make.digest(text))"]}"#, [text])
        #expect(try Self.refusal(token) == expected)
    }

    @Test("Limits the number of digests", .shows("V13"), arguments: [(1_024, nil), (1_025, TokenError.Code.tooLarge)])
    func digests(count: Int, expected: TokenError.Code?) throws {
        let digests = (0..<count).map { "\"\($0)\"" }.joined(separator: ",")
        #expect(try Self.refusal(Make.token(#"{"_sd":[\#(digests)]}"#)) == expected)
    }

    @Test("Limits the issuer-signed JWT only with the whole text, in every form") func issuerJWT() throws {
        let claims: JSONObject = ["a": .string(String(repeating: "a", count: 100_000))]
        let issued = try Make.issuer().issue(claims, disclosable: [])
        let (compact, json) = (issued.compact, issued.flattenedJSON().serializedData())
        #expect(try Self.refusal(compact) == nil)
        #expect(try Make.verifier().verify(json: json, keyBinding: .notRequired).claims == claims)
        #expect(try SDJWTHolder(compact, verifiedBy: Make.verifier()).claims == claims)
        #expect(try SDJWTHolder(json: json, verifiedBy: Make.verifier()).claims == claims)
        #expect(try SDJWTHolder(unverifiedJSON: json).claims == claims)
        let strict = try Make.verifier { $0.limits.headerSize = 10 }
        #expect(code { try Make.verify(compact, by: strict) } == .tooLarge)
        #expect(code { try strict.verify(json: json, keyBinding: .notRequired) } == .tooLarge)
    }

    @Test("Limits the depth of the claims", .shows("V13"), arguments: [(15, nil), (16, TokenError.Code.tooLarge)])
    func depth(count: Int, expected: TokenError.Code?) throws {
        let value = String(repeating: "[", count: count) + String(repeating: "]", count: count)
        #expect(try Self.refusal(Make.token(#"{"a":\#(value)}"#)) == expected)
        let text = Make.disclosure(#"["salt","a",\#(value)]"#)
        #expect(try Self.refusal(Make.token(#"{"_sd":["\#(Make.digest(text))"]}"#, [text])) == expected)
    }

    @Test("Limits the recursion of disclosures", .shows("V13"), arguments: [(15, nil), (16, TokenError.Code.tooLarge)])
    func recursion(count: Int, expected: TokenError.Code?) throws {
        var texts = [Make.disclosure(#"["salt","a",{}]"#)]
        for _ in 1..<count {
            texts.append(Make.disclosure(#"["salt","a",{"_sd":["\#(try Make.digest(texts[texts.count - 1]))"]}]"#))
        }
        let token = try Make.token(#"{"_sd":["\#(Make.digest(texts[count - 1]))"]}"#, texts)
        #expect(try Self.refusal(token) == expected)
    }

    @Test("Never limits the depth less than the stack requires") func stack() {
        var limits = SDJWTLimits()
        limits.depth = 10_000
        #expect(limits.depth == JWSLimits.maximumDepth)
    }

    @Test("Limits what an issuer issues") func issuing() throws {
        let many = JSONObject((0..<257).map { ("c\($0)", 1) })
        let paths = many.map { ClaimPath([.name($0.name)]) }
        let issuer = try Make.issuer()
        #expect(code { try issuer.issue(many, disclosable: paths) } == .tooLarge)
        #expect(
            code { try Make.issuer { $0.limits.disclosureSize = 20 }.issue(many, disclosable: ["c1"]) } == .tooLarge
        )
        #expect(code { try Make.issuer { $0.limits.size = 500 }.issue(many, disclosable: ["c1"]) } == .tooLarge)
        #expect(code { try Make.issuer { $0.limits.depth = 1 }.issue(["a": [1]], disclosable: ["a"]) } == .tooLarge)
        #expect(code { try Make.issuer { $0.decoys = 1_024...1_024 }.issue(many, disclosable: ["c1"]) } == .tooLarge)
        #expect(code { try Make.issuer { $0.decoys = 1_024...Int.max }.issue(many, disclosable: ["c1"]) } == .tooLarge)
    }
}
