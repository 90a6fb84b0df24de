import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("UnverifiedSDJWT", .computing)
struct UnverifiedSDJWTTests {
    private typealias Make = SDJWTFixture

    @Test("Shows the header, the payload and every disclosure with its path and digest") func content() throws {
        let issued = try Make.issued()
        for token in [
            try UnverifiedSDJWT(issued.compact), try UnverifiedSDJWT(json: issued.flattenedJSON().serializedData()),
        ] {
            #expect(token.unverifiedHeader == ["alg": "ES256", "typ": "example+sd-jwt"])
            #expect(token.unverifiedPayload["iss"]?.string == Make.issuer)
            #expect(token.unverifiedPayload["_sd"]?.array?.count == 2)
            let values = Dictionary(uniqueKeysWithValues: token.disclosures.map { ($0.path, $0.value) })
            #expect(values.count == 4 && values["name"] == "Alice" && values[["address", "city"]] == "Köln")
            #expect(values[["roles", 1]] == "editor")
            #expect(values["address"]??.object?["_sd"]?.array?.count == 1)
            let texts = issued.compact.split(separator: "~").dropFirst()
            #expect(try token.disclosures.map(\.digest) == texts.map { try Make.digest(String($0)) })
            #expect(token.problems == [] && token.undisclosedCount == 0 && token.keyBinding == nil)
        }
    }

    @Test("Counts hidden claims and decoys, and numbers the elements that are disclosed") func hidden() throws {
        let issued = try Make.issuer { $0.decoys = 2...2 }.issue(
            ["a": 1, "b": [1, 2, 3]],
            disclosable: ["a", ["b", 0], ["b", 2]]
        )
        let holder = try SDJWTHolder(unverified: issued.compact)
        let token = try UnverifiedSDJWT(holder.presentation(disclosing: [["b", 2]]).compact)
        #expect(token.disclosures.map(\.path) == [["b", 1]])
        #expect(token.undisclosedCount == 6)
    }

    @Test("Shows a key binding, and the headers of every signature") func binding() throws {
        let presented = try Make.bound(Make.holder(), disclosing: ["name"])
        let token = try UnverifiedSDJWT(presented.compact)
        #expect(token.keyBinding?.header == ["alg": "ES256", "typ": "kb+jwt"])
        #expect(token.keyBinding?.claims["nonce"]?.string == Make.nonce)
        #expect(token.problems == [])
        var first = presented.flattenedJSON()
        let payload = try #require(first["payload"])
        first["payload"] = nil
        var second = first
        second["header"] = ["kid": "2"]
        let json: JSONObject = ["payload": payload, "signatures": .array([.object(first), .object(second)])]
        let general = try UnverifiedSDJWT(json: json.serializedData())
        #expect(general.signatures.count == 2 && general.signatures[1].unprotectedHeader == ["kid": "2"])
        #expect(general.keyBinding?.claims == token.keyBinding?.claims)
    }

    @Test(
        "Shows what verifiers reject, with the reason",
        arguments: [
            (#"["salt","admin",true]"#, TokenError.Code.disclosureMismatch), ("[1]", .disclosureMismatch),
        ]
    )
    func unreferenced(json: String, expected: TokenError.Code) throws {
        let extra = Make.disclosure(json)
        let token = try UnverifiedSDJWT(Make.issued().compact + extra + "~")
        #expect(token.problems.map(\.code) == [expected])
        let last = try #require(token.disclosures.last)
        #expect(try last.path == nil && last.digest == Make.digest(extra))
        #expect((last.name, last.value) == (json == "[1]" ? (nil, nil) : ("admin", true)))
    }

    @Test("Shows malformed parts as problems") func malformed() throws {
        let element = Make.disclosure(#"["salt","value"]"#)
        let wrongForm = try UnverifiedSDJWT(Make.token(#"{"_sd":["\#(Make.digest(element))"]}"#, [element]))
        #expect(wrongForm.problems.map(\.code) == [.malformedDisclosure])
        #expect(wrongForm.disclosures.map(\.path) == [nil])
        let member = Make.disclosure(#"["salt","a",1]"#)
        let repeated = try UnverifiedSDJWT(
            Make.token(#"{"_sd":["\#(Make.digest(member))"]}"#, [member, member], binding: "x.y")
        )
        #expect(repeated.problems.map(\.code) == [.disclosureMismatch, .malformedToken])
        #expect(repeated.disclosures.map(\.path) == ["a", nil])
        #expect(repeated.keyBinding == nil)
        let unknownHash = try UnverifiedSDJWT(Make.token(#"{"_sd":["x"],"_sd_alg":"sha-1"}"#, [member]))
        #expect(unknownHash.problems.map(\.code) == [.unsupportedAlgorithm])
        #expect(unknownHash.disclosures.map(\.digest) == [nil])
        #expect(unknownHash.disclosures.map(\.value) == [1])
    }

    @Test("Visits a digest in itself and deep claims only so far") func depth() throws {
        var texts = [Make.disclosure(#"["salt","a",{}]"#)]
        for _ in 1..<20 {
            texts.append(Make.disclosure(#"["salt","a",{"_sd":["\#(try Make.digest(texts[texts.count - 1]))"]}]"#))
        }
        let digest = try Make.digest(texts[19])
        let token = try UnverifiedSDJWT(Make.token(#"{"_sd":["\#(digest)"],"b":{"_sd":["\#(digest)"]}}"#, texts))
        #expect(token.disclosures.count { $0.path != nil } == 16)
        #expect(token.problems.map(\.code) == [.tooLarge])
    }

    @Test(
        "Rejects text that isn't an SD-JWT",
        arguments: [
            ("", TokenError.Code.malformedToken), ("a.b.c", .malformedToken), ("~", .malformedToken),
            ("e30.e30.~~", .malformedDisclosure), ("e30.e30.!~", .malformedToken), ("e30..~", .malformedToken),
            ("{}", .malformedToken),
        ]
    )
    func otherText(text: String, expected: TokenError.Code) throws {
        #expect(code { try UnverifiedSDJWT(text) } == expected)
        #expect(code { try UnverifiedSDJWT(json: Data(text.utf8)) } == .malformedToken)
        let long = try Make.issued().compact
        #expect(code { try UnverifiedSDJWT(long, limits: SDJWTLimits(size: long.utf8.count - 1)) } == .tooLarge)
    }

    @Test("Shows no content in descriptions and dumps") func redaction() throws {
        let token = try UnverifiedSDJWT(Make.issued().compact)
        var text = "\(token) \(String(reflecting: token))"
        dump(token, to: &text)
        #expect(text.contains("UnverifiedSDJWT(4 disclosures)"))
        #expect(!text.contains("Alice") && !text.contains("ES256"))
    }
}
