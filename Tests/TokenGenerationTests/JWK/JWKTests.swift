import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("JWK", .computing)
struct JWKTests {
    private static let secret = "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"

    @Test("Reads members with their types, and keeps unknown members", .shows("RFC 7517 §4.1–4.5", "RFC 7517 §4.6"))
    func members() throws {
        let jwk = try JWK(
            parsing: """
                {"kty":"EC","crv":"P-256","x":"a","y":"b","kid":"k","use":"sig","alg":"ES256",\
                "key_ops":["verify"],"x5c":["MII"],"ext":true,"vendor":{"a":[1.50]}}
                """
        )
        #expect(jwk.keyType == "EC")
        #expect(jwk.curve == "P-256")
        #expect(jwk.keyID == "k")
        #expect(jwk.use == "sig")
        #expect(jwk.algorithm == "ES256")
        #expect(jwk.keyOperations == ["verify"])
        #expect(!jwk.isPrivate)
        #expect(jwk.members["vendor"]?.object?["a"] == [.number(JSONNumber(literal: "1.50") ?? 0)])
        #expect(jwk.publicPart == jwk)
    }

    @Test("The key ID can be set and removed")
    func keyID() throws {
        var jwk = try Fixture.jwk()
        jwk.keyID = "new"
        #expect(jwk.members["kid"] == "new")
        jwk.keyID = nil
        #expect(jwk.members["kid"] == nil)
    }

    @Test(
        "Rejects JSON that isn't a JWK",
        arguments: [
            ("{}", .malformedKey), (#"{"kty":5}"#, .malformedKey), (#"{"kty":null}"#, .malformedKey),
            (#"{"kty":""}"#, .malformedKey), (#"{"kty":"EC","crv":1}"#, .malformedKey),
            (#"{"kty":"EC","kid":1}"#, .malformedKey),
            (#"{"kty":"EC","alg":["ES256"]}"#, .malformedKey), (#"{"kty":"EC","use":true}"#, .malformedKey),
            (#"{"kty":"EC","key_ops":"sign"}"#, .malformedKey), (#"{"kty":"EC","key_ops":["sign",1]}"#, .malformedKey),
            (#"{"kty":"EC","key_ops":["sign","sign"]}"#, .malformedKey), (#"{"kty":"EC","x5c":"MII"}"#, .malformedKey),
            (#"{"kty":"EC","kty":"oct"}"#, .malformedJSON), (#"["EC"]"#, .malformedJSON), ("", .malformedJSON),
        ] as [(String, TokenError.Code)]
    )
    func refused(json: String, expected: TokenError.Code) {
        #expect(code { try JWK(parsing: json) } == expected)
        #expect(code { try JWK(parsing: Data(json.utf8)) } == expected)
    }

    @Test("The public part of any key type has no private member, and only public operations")
    func publicPart() throws {
        let jwk = try JWK([
            "kty": "RSA", "n": "n", "e": "AQAB", "d": "1", "p": "2", "q": "3", "dp": "4", "dq": "5", "qi": "6",
            "oth": [["r": "7"]], "k": "8", "priv": "9", "kid": "x",
            "key_ops": ["sign", "verify", "decrypt", "unwrapKey", "other"],
        ])
        #expect(jwk.isPrivate)
        #expect(
            jwk.publicPart.members == [
                "kty": "RSA", "n": "n", "e": "AQAB", "kid": "x", "key_ops": ["verify", "encrypt", "wrapKey", "other"],
            ]
        )
        #expect(!jwk.publicPart.isPrivate)
    }

    @Test("Descriptions, dumps and mirrors never show a private member", .shows("Y1"))
    func redaction() throws {
        let jwk = try Fixture.jwk(isPrivate: true)
        let key = try SigningKey(jwk: jwk)
        let service = try ES256SigningService(key: key)
        let set = JWKSet(keys: [jwk])
        let scalar = try #require(jwk.members["d"]?.string)
        #expect(scalar == Self.secret)
        for value: Any in [jwk, key, service, set, key.verificationKey, Optional(jwk) as Any, [key], ["a": key]] {
            var dumped = ""
            dump(value, to: &dumped)
            for text in [dumped, "\(value)", String(describing: value), String(reflecting: value)] {
                #expect(!text.contains(scalar))
                #expect(!text.isEmpty)
            }
        }
        #expect(jwk.description.contains("not shown"))
        #expect(set.serialized().contains("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"))
        #expect(!set.serialized().contains(scalar))
        #expect(!String(decoding: set.serializedData(), as: UTF8.self).contains(scalar))
    }
}

@Suite("Thumbprints", .computing)
struct ThumbprintTests {
    @Test("A private key, its public part and the imported keys have the same thumbprint")
    func invariance() throws {
        let jwk = try Fixture.jwk(["kid": "x", "alg": "ES256", "vendor": 1], isPrivate: true)
        let thumbprint = try jwk.thumbprint
        #expect(try jwk.publicPart.thumbprint == thumbprint)
        #expect(try Fixture.jwk().thumbprint == thumbprint)
        let key = try SigningKey(jwk: jwk)
        #expect(key.verificationKey.thumbprint == thumbprint)
        #expect(try VerificationKey(pem: key.verificationKey.pem()).thumbprint == thumbprint)
        let uri = try key.verificationKey.jwk.thumbprintURI()
        #expect(uri == "urn:ietf:params:oauth:jwk-thumbprint:sha-256:\(thumbprint)")
    }

    @Test("Rejects a missing member and an unknown key type")
    func refused() throws {
        #expect(code { try JWK(["kty": "EC", "crv": "P-256", "x": "a"]).thumbprint } == .malformedKey)
        #expect(code { try JWK(["kty": "RSA", "n": 1, "e": "AQAB"]).thumbprint } == .malformedKey)
        #expect(code { try JWK(["kty": "XYZ", "x": "a"]).thumbprintURI() } == .unsupportedKey)
    }
}

@Suite("JWK sets", .computing)
struct JWKSetTests {
    @Test("A bad entry doesn't affect the set, and its reason is kept", .shows("B8", "J14", "Z2", "RFC 7517 §5 (sets)"))
    func tolerance() throws {
        let good = try Fixture.jwk(["kid": "good"]).members.serialized()
        let set = try JWKSet(parsing: #"{"keys":[{"kid":"x"},\#(good),7,{"kty":"NEW","kid":"new"}],"other":1}"#)
        #expect(set.keys.map(\.keyID) == ["good", "new"])
        #expect(set.rejections.map(\.index) == [0, 2])
        #expect(set.rejections.map(\.reason.code) == [.malformedKey, .malformedKey])
        #expect(set.rejections[1].reason.message.contains("a number"))
        #expect(set.keys(withID: "good").map(\.keyType) == ["EC"])
        #expect(set.keys(withID: "GOOD").isEmpty)
    }

    @Test("An ID of several keys returns all of them")
    func repeatedIDs() throws {
        let set = JWKSet(keys: [try Fixture.jwk(["kid": "a"]), try Fixture.jwk(["kid": "a", "alg": "ES256"])])
        #expect(set.keys(withID: "a").count == 2)
        #expect(set.keys(withID: "b").isEmpty)
    }

    @Test(
        "Rejects JSON that isn't a key set",
        arguments: [
            ("{}", .malformedKey), (#"{"keys":{}}"#, .malformedKey), (#"{"keys":null}"#, .malformedKey),
            ("[]", .malformedJSON), (#"{"keys":[],"keys":[]}"#, .malformedJSON),
        ] as [(String, TokenError.Code)]
    )
    func refused(json: String, expected: TokenError.Code) {
        #expect(code { try JWKSet(parsing: json) } == expected)
        #expect(code { try JWKSet(parsing: Data(json.utf8)) } == expected)
    }

    @Test("Limits the number of keys")
    func limit() throws {
        func json(_ count: Int) -> String {
            "{\"keys\":[" + repeatElement(#"{"kty":"X"}"#, count: count).joined(separator: ",") + "]}"
        }
        #expect(try JWKSet(parsing: json(JWKSet.maximumCount)).keys.count == 1_000)
        #expect(code { try JWKSet(parsing: json(JWKSet.maximumCount + 1)) } == .tooLarge)
    }
}

@Suite(.computing)
struct JWKSetVerificationKeyTests {
    private func key(_ id: String, _ algorithm: JWSAlgorithm = .es256) throws -> JWK {
        try SigningKey.generate(algorithm).identified(by: id).verificationKey.jwk
    }

    @Test("returns the only key with an ID")
    func selection() throws {
        let set = JWKSet(keys: [try key("a"), try key("b")])
        let found = try set.verificationKey(withID: "b")
        #expect(try found.thumbprint == set.keys[1].thumbprint)
        #expect(throws: TokenError(.unknownKey, "")) { _ = try set.verificationKey(withID: "c") }
        // Canonically equivalent text is another ID.
        let equivalent = JWKSet(keys: [try key("\u{E9}")])
        #expect(throws: TokenError(.unknownKey, "")) { _ = try equivalent.verificationKey(withID: "e\u{301}") }
    }

    @Test("rejects an ID of different keys, and accepts a repeated key")
    func ambiguity() throws {
        let first = try key("a")
        #expect(code { try JWKSet(keys: [first, try key("a")]).verificationKey(withID: "a") } == .ambiguousKey)
        _ = try JWKSet(keys: [first, first]).verificationKey(withID: "a")
    }

    @Test("rejects a key that can't verify, for its reason")
    func unusableKeys() throws {
        var encryption = try key("a").members
        encryption["use"] = "enc"
        #expect(code { try JWKSet(keys: [JWK(encryption)]).verificationKey(withID: "a") } == .keyMismatch)
        var rsa = try key("a", .rs256).members
        rsa["alg"] = nil
        let set = JWKSet(keys: [try JWK(rsa)])
        #expect(throws: TokenError(.algorithmRequired, "")) { _ = try set.verificationKey(withID: "a") }
        let found = try set.verificationKey(withID: "a", selection: KeySelection(assumedAlgorithms: [.ps256]))
        #expect(found.algorithm == .ps256)
    }

    @Test("ignores symmetric keys unless they are used and alone")
    func symmetricKeys() throws {
        let secret = try JWK([
            "kty": "oct", "kid": "s", "alg": "HS256", "k": .string(String(repeating: "QUFB", count: 10) + "QUE"),
        ])
        let used = KeySelection(symmetricKeys: .unsafelyUsed)
        #expect(throws: TokenError(.unsupportedKey, "")) { _ = try JWKSet(keys: [secret]).verificationKey(withID: "s") }
        #expect(try JWKSet(keys: [secret]).verificationKey(withID: "s", selection: used).algorithm == .hs256)
        #expect(throws: TokenError(.unsupportedKey, "")) {
            _ = try JWKSet(keys: [secret, try key("a")]).verificationKey(withID: "s", selection: used)
        }
    }

    @Test("prepares a key once")
    func preparation() throws {
        let set = JWKSet(keys: [try key("a"), try key("b")])
        for _ in 0..<3 { _ = try set.verificationKey(withID: "a") }
        #expect(set.preparationCount == 1)
    }
}
