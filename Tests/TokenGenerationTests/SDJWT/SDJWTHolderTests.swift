import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("SDJWTHolder", .computing)
struct SDJWTHolderTests {
    private typealias Make = SDJWTFixture

    private static func claims(_ paths: [ClaimPath]) throws -> JSONObject {
        try Make.verify(Make.holder().presentation(disclosing: paths).compact).claims
    }

    @Test("Shows all claims and the paths that can be hidden") func content() throws {
        let holder = try Make.holder()
        #expect(holder.claims["name"] == "Alice")
        #expect(Set(holder.disclosablePaths) == ["name", "address", ["address", "city"], ["roles", 1]])
    }

    @Test("Discloses only the chosen claims", .shows("RFC 9901 §7.2")) func choice() throws {
        var claims = try Self.claims([])
        #expect(claims["name"] == nil && claims["address"] == nil)
        #expect(claims["roles"] == ["reader"])
        claims = try Self.claims(["name"])
        #expect(claims["name"] == "Alice" && claims["address"] == nil)
        claims = try Self.claims([["roles", 1]])
        #expect(claims["roles"] == ["reader", "editor"])
        claims = try Self.claims([["roles", .everyElement]])
        #expect(claims["roles"] == ["reader", "editor"])
    }

    @Test("Discloses the claims around a chosen one, but not those inside", .shows("RFC 9901 §7.2")) func nesting()
        throws
    {
        #expect(try Self.claims(["address"])["address"] == ["zip": "50667"])
        #expect(try Self.claims([["address", "city"]])["address"] == ["city": "Köln", "zip": "50667"])
        #expect(try Self.claims([["address", "zip"]])["address"] == ["zip": "50667"])
    }

    @Test("Doesn't disclose elements in which a chosen claim is missing") func everyElement() throws {
        let token = try Make.issuer().issue(["list": [["a": 1], ["b": 2]]], disclosable: [["list", .everyElement]])
        let holder = try SDJWTHolder(unverified: token.compact)
        let presentation = try holder.presentation(disclosing: [["list", .everyElement, "b"]])
        #expect(try Make.verify(presentation.compact).claims == ["list": [["b": 2]]])
    }

    @Test("Refuses paths that lead to no claim") func missing() throws {
        let holder = try Make.holder()
        #expect(code { try holder.presentation(disclosing: ["other"]) } == .missingClaim)
        #expect(code { try holder.presentation(disclosing: [["roles", 2]]) } == .missingClaim)
    }

    @Test("Rejects a presentation of another holder, compact and as JSON", .shows("V15", "RFC 9901 §7.2")) func bound()
        throws
    {
        let presentation = try Make.bound(Make.holder())
        let verifier = try Make.verifier()
        #expect(code { try SDJWTHolder(presentation.compact, verifiedBy: verifier) } == .keyBindingMismatch)
        #expect(code { try SDJWTHolder(unverified: presentation.compact) } == .keyBindingMismatch)
        let json = presentation.flattenedJSON().serializedData()
        #expect(code { try SDJWTHolder(json: json, verifiedBy: verifier) } == .keyBindingMismatch)
    }

    @Test("Verifies the issuer's signature and the policy") func verification() throws {
        let issued = try Make.issued().compact
        let other = try SDJWTVerifier(key: Make.key("holder").verificationKey, policy: Make.policy())
        #expect(code { try SDJWTHolder(issued, verifiedBy: other) } == .signatureInvalid)
        let strict = try Make.verifier { $0.issuer = "https://other.example" }
        #expect(code { try SDJWTHolder(issued, verifiedBy: strict) } == .issuerMismatch)
        #expect(try SDJWTHolder(unverified: issued).claims["name"] == "Alice")
    }

    @Test("Refuses to sign a key binding with another key, or without one in the token") func signer() throws {
        let holder = try Make.holder()
        let other = try SigningKey.generate(.es256)
        let secret = try SigningKey(secret: Array(repeating: 7, count: 32), algorithm: .hs256)
        func binding(_ holder: SDJWTHolder, _ key: SigningKey) -> TokenError.Code? {
            code { try Make.bound(holder, by: key) }
        }
        #expect(binding(holder, other) == .signatureInvalid)
        #expect(binding(holder, secret) == .unsupportedAlgorithm)
        let unbound = try SDJWTHolder(unverified: Make.issued(bound: false).compact)
        #expect(binding(unbound, other) == .confirmationMismatch)
    }

    @Test(
        "Discloses its key with a key binding",
        .shows("RFC 9901 §4.1.2", "RFC 9901 §7.2"),
        arguments: ["cnf", "jwk"]
    ) func disclosedKey(name: String) throws {
        let jwk = JSONValue.object(try Make.key("holder").verificationKey.jwk.members)
        let value = name == "cnf" ? ["jwk": jwk] : jwk
        let json: JSONObject = ["a": .array(["salt", .string(name), value])]
        let disclosure = Make.disclosure(String(json.serialized().dropFirst(5).dropLast()))
        let digests = #"{"_sd":["\#(try Make.digest(disclosure))"]}"#
        let token = try Make.token(name == "cnf" ? digests : #"{"cnf":\#(digests)}"#, [disclosure])
        let presentation = try Make.bound(SDJWTHolder(token, verifiedBy: Make.verifier()))
        let found = try Make.verifier().verify(presentation.compact, keyBinding: Make.required)
        #expect(found.disclosedPaths == [name == "cnf" ? "cnf" : ["cnf", "jwk"]])
        let unbound = try SDJWTHolder(unverified: token).presentation(disclosing: [])
        #expect(try Make.verify(unbound.compact).disclosedPaths == [])
    }

    @Test("Reads its own copy of an SD-JWT in JSON without the issuer's key", .shows("RFC 9901 §7.2"))
    func unverifiedJSON() throws {
        let issued = try Make.issued()
        let json = issued.flattenedJSON().serializedData()
        let holder = try SDJWTHolder(unverifiedJSON: json)
        #expect(try holder.claims == SDJWTHolder(unverified: issued.compact).claims)
        #expect(try holder.presentation(disclosing: holder.disclosablePaths).flattenedJSON() == issued.flattenedJSON())
        let bound = try Make.bound(Make.holder())
        let presented = bound.flattenedJSON().serializedData()
        #expect(code { try SDJWTHolder(unverifiedJSON: presented) } == .keyBindingMismatch)
        #expect(code { try SDJWTHolder(unverifiedJSON: Data(issued.compact.utf8)) } == .malformedToken)
        let limits = SDJWTLimits(size: json.count - 1)
        #expect(code { try SDJWTHolder(unverifiedJSON: json, limits: limits) } == .tooLarge)
        var extra = issued.flattenedJSON()
        extra["header"] = ["disclosures": ["AA"]]
        let unconnected = extra.serializedData()
        #expect(code { try SDJWTHolder(unverifiedJSON: unconnected) } == .disclosureMismatch)
    }

    @Test("Keeps disclosures byte for byte", .shows("V9")) func bytes() throws {
        let disclosure = Make.disclosure("[ \"salt\" , \"a\",\n\"\\u00e9\" ]")
        let token = try Make.token(#"{"_sd":["\#(Make.digest(disclosure))"]}"#, [disclosure])
        let presented = try SDJWTHolder(token, verifiedBy: Make.verifier()).presentation(disclosing: ["a"])
        #expect(presented.compact == token)
        #expect(try Make.verify(presented.compact).claims == ["a": "é"])
    }

    @Test("Uses the verified signature of a general serialization", .shows("RFC 9901 §8")) func general() throws {
        let vector = try Make.issued().flattenedJSON()
        var own = vector
        own["payload"] = nil
        own["header"] = ["kid": "1"]
        var foreign = own
        foreign["signature"] = .string(Base64URL.encode([UInt8](repeating: 1, count: 64)))
        foreign["header"] = vector["header"]
        let json: JSONObject = [
            "payload": try #require(vector["payload"]), "signatures": .array([.object(foreign), .object(own)]),
        ]
        let holder = try SDJWTHolder(json: json.serializedData(), verifiedBy: Make.verifier())
        let presentation = try holder.presentation(disclosing: ["name"])
        #expect(try Make.verify(presentation.compact).claims["name"] == "Alice")
        #expect(presentation.flattenedJSON()["header"]?.object?["kid"] == "1")
    }

    @Test("Shows no claims or tokens in descriptions and dumps") func redaction() throws {
        let token = try Make.issued()
        let holder = try SDJWTHolder(unverified: token.compact)
        var text = "\(token) \(holder) \(String(reflecting: holder))"
        dump(token, to: &text)
        dump(holder, to: &text)
        #expect(text.contains("SDJWTHolder(4 disclosable claims)"))
        #expect(!text.contains("Alice") && !text.contains("eyJ") && !text.contains("~"))
    }
}
