import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("SDJWTIssuer", .computing)
struct SDJWTIssuerTests {
    private typealias Make = SDJWTFixture

    /// Returns the signed payload.
    private static func payload(_ token: SDJWT) throws -> JSONObject {
        let text = try #require(token.flattenedJSON()["payload"]?.string)
        return try JSONObject(parsing: Data(Base64URL.decode(text)))
    }

    private static func disclosures(_ token: SDJWT) throws -> [[JSONValue]] {
        let texts = try #require(token.flattenedJSON()["header"]?.object?["disclosures"]?.array).compactMap(\.string)
        return try texts.map { text in
            let json = try JSONObject(parsing: #"{"a":\#(String(decoding: Base64URL.decode(text), as: UTF8.self))}"#)
            return try #require(json["a"]?.array)
        }
    }

    @Test("Hides exactly the chosen claims", .shows("RFC 9901 §4.2")) func hiding() throws {
        let token = try Make.issued()
        let payload = try Self.payload(token)
        #expect(payload["iss"]?.string == Make.issuer)
        #expect(payload["_sd_alg"] == "sha-256")
        #expect(payload["_sd"]?.array?.count == 2)
        #expect(payload["name"] == nil && payload["address"] == nil)
        #expect(payload["roles"]?.array?.first == "reader")
        #expect(payload["roles"]?.array?.last?.object?["..."]?.string != nil)
        let jwk = try #require(payload["cnf"]?.object?["jwk"]?.object)
        #expect(Set(jwk.map(\.name)) == ["crv", "kty", "x", "y"])
        #expect(token.compact.hasSuffix("~"))
        let names = try Self.disclosures(token).map { $0.count == 3 ? $0[1].string : nil }
        #expect(names == ["name", "editor" == names[1] ? nil : names[1], names[2], names[3]])
        #expect(Set(names) == ["name", "city", "address", nil])
        let claims = try Make.verify(token.compact).claims
        #expect(claims["address"] == ["city": "Köln", "zip": "50667"])
        #expect(claims["roles"] == ["reader", "editor"])
    }

    @Test("Salts every claim with 128 bits of the random source", .shows("V14", "RFC 9901 §9.3")) func salts() throws {
        let salts = try Self.disclosures(Make.issued()).compactMap { $0[0].string }
        #expect(salts.count == 4)
        #expect(Set(salts).count == 4)
        #expect(try salts.allSatisfy { try Base64URL.decode($0).count == 16 })
        let fixed = try Make.issued { issuer in
            issuer.random = { count in [UInt8](repeating: 1, count: count) }
        }
        let found = try Self.disclosures(fixed).compactMap { $0[0].string }
        #expect(Set(found) == [Base64URL.encode([UInt8](repeating: 1, count: 16))])
    }

    @Test("Fails without random numbers", .shows("RFC 9901 §9.3")) func noRandom() throws {
        let issuer = try Make.issuer { issuer in
            issuer.random = { _ in throw CryptoError(.randomUnavailable, "no random numbers") }
        }
        #expect(code { try issuer.issue(["a": 1], disclosable: ["a"]) } == .signingFailed)
    }

    @Test("Sorts digests, so that they don't show the order of claims", .shows("V14", "RFC 9901 §4.2")) func order()
        throws
    {
        let claims = JSONObject((0..<20).map { ("c\($0)", 1) })
        let token = try Make.issuer().issue(claims, disclosable: claims.map { ClaimPath([.name($0.name)]) })
        let digests = try #require(Self.payload(token)["_sd"]?.array).compactMap(\.string)
        #expect(digests == digests.sorted())
        #expect(digests.count == 20)
    }

    @Test(
        "Issues and verifies with every hash algorithm",
        .shows("RFC 9901 §4.1.1"),
        arguments: [NamedHash.sha256, .sha384, .sha512]
    )
    func hashes(hash: NamedHash) throws {
        let token = try Make.issued { $0.hashAlgorithm = hash }
        #expect(try Self.payload(token)["_sd_alg"]?.string == hash.rawValue)
        let holder = try SDJWTHolder(token.compact, verifiedBy: Make.verifier())
        let presentation = try Make.bound(holder, disclosing: ["name"])
        #expect(try Make.verifier().verify(presentation.compact, keyBinding: Make.required).claims["name"] == "Alice")
        #expect(NamedHash(rawValue: hash.rawValue) == hash)
        #expect(NamedHash(rawValue: "sha-1") == nil)
    }

    @Test("Signs with every asymmetric algorithm", arguments: JWSAlgorithm.implemented.filter { !$0.isSymmetric })
    func algorithms(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let token = try SDJWTIssuer(type: "sd-jwt", signingService: key).issue(
            ["a": 1],
            disclosable: ["a"],
            holderKey: key.verificationKey
        )
        let verifier = SDJWTVerifier(key: key.verificationKey, policy: Make.policy())
        let presentation = try Make.bound(SDJWTHolder(token.compact, verifiedBy: verifier), disclosing: ["a"], by: key)
        #expect(try verifier.verify(presentation.compact, keyBinding: Make.required).claims["a"] == 1)
    }

    @Test("Adds decoys to objects and arrays with disclosable claims", .shows("V14", "RFC 9901 §4.2")) func decoys()
        throws
    {
        let token = try Make.issued { $0.decoys = 3...3 }
        let payload = try Self.payload(token)
        #expect(payload["_sd"]?.array?.count == 5)
        let roles = try #require(payload["roles"]?.array)
        #expect(roles.count == 5)
        #expect(roles.count { $0.object?["..."] != nil } == 4)
        #expect(try Make.verify(token.compact).claims["roles"] == ["reader", "editor"])
        var counts: Set<Int> = []
        for _ in 0..<40 {
            let token = try Make.issuer { $0.decoys = -1...2 }.issue(["a": 1], disclosable: ["a"])
            counts.insert(try #require(Self.payload(token)["_sd"]?.array).count)
        }
        #expect(counts.isSubset(of: [1, 2, 3]))
        #expect(counts.count > 1)
    }

    @Test("Puts decoys between the elements of an array", .shows("V14")) func decoyPositions() throws {
        var positions: Set<Int> = []
        for _ in 0..<60 {
            let token = try Make.issuer { $0.decoys = 1...1 }.issue(["a": [1, 2, 3]], disclosable: [["a", 0]])
            let elements = try #require(Self.payload(token)["a"]?.array)
            positions.insert(try #require(elements.firstIndex(of: 2)))
            #expect(try Make.verify(token.compact).claims["a"] == [1, 2, 3])
        }
        #expect(positions == [1, 2])
    }

    @Test(
        "Refuses to hide claims that control the validity",
        .shows("RFC 9901 §9.7"),
        arguments: [
            ["iss"], ["exp"], ["nbf"], ["cnf"], ["status"], ["vct"], ["aud"], ["cnf", "jwk"],
            ["status", "status_list"],
        ]
    )
    func validityClaims(names: [String]) throws {
        let claims: JSONObject = [
            "iss": "a", "exp": 1, "nbf": 1, "vct": "t", "aud": ["x", "y"], "cnf": ["jwk": [:]],
            "status": ["status_list": [:]],
        ]
        let path = ClaimPath(names.map(ClaimPath.Element.name))
        let issuer = try Make.issuer()
        #expect(code { try issuer.issue(claims, disclosable: [path]) } == .prohibitedClaim)
        #expect(try Self.payload(issuer.issue(claims, disclosable: [["aud", 1]]))["aud"]?.array?.count == 2)
    }

    @Test(
        "Refuses reserved names anywhere in the claims",
        arguments: [
            #"{"_sd":1}"#, #"{"...":1}"#, #"{"_sd_alg":1}"#, #"{"a":{"_sd":1}}"#, #"{"a":[{"...":1}]}"#,
        ]
    )
    func reservedNames(json: String) throws {
        let claims = try JSONObject(parsing: json)
        let issuer = try Make.issuer()
        #expect(code { try issuer.issue(claims, disclosable: []) } == .prohibitedClaim)
    }

    @Test(
        "Refuses paths that lead to no claim",
        arguments: [
            ClaimPath(["b"]), ["a", "b"], ["a", 2], ["a", -1], ["o", 0], [], ["n", .everyElement],
            ["empty", .everyElement],
        ]
    )
    func paths(path: ClaimPath) throws {
        let issuer = try Make.issuer()
        let claims: JSONObject = ["a": [1, 2], "o": ["x": 1], "n": 1, "empty": []]
        #expect(code { try issuer.issue(claims, disclosable: [path]) } == .missingClaim)
    }

    @Test("Refuses a second confirmation key and a secret as the holder's key") func confirmation() throws {
        let issuer = try Make.issuer()
        let key = try Make.key("holder").verificationKey
        #expect(code { try issuer.issue(["cnf": [:]], disclosable: [], holderKey: key) } == .prohibitedClaim)
        let secret = try SigningKey(secret: Array(repeating: 7, count: 32), algorithm: .hs256).verificationKey
        #expect(code { try issuer.issue([:], disclosable: [], holderKey: secret) } == .unsupportedAlgorithm)
    }

    @Test("Refuses other types, and headers that contradict the issuer") func header() throws {
        let key = try Make.key("issuer")
        #expect(code { try SDJWTIssuer(type: "JWT", signingService: key) } == .typeMismatch)
        #expect(code { try SDJWTIssuer(type: "sd-jwt-vc", signingService: key) } == .typeMismatch)
        let issuer = try Make.issuer()
        #expect(code { try issuer.issue([:], disclosable: [], header: ["typ": "JWT"]) } == .typeMismatch)
        #expect(code { try issuer.issue([:], disclosable: [], header: ["alg": "none"]) } == .algorithmMismatch)
        let token = try issuer.issue([:], disclosable: [], header: ["kid": "1", "typ": "example+sd-jwt"])
        #expect(try Make.verify(token.compact).header == ["alg": "ES256", "kid": "1", "typ": "example+sd-jwt"])
    }
}
