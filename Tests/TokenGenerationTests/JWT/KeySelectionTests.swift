import TestSupport
import Testing
import TokenGeneration

@Suite("Key selection", .computing)
struct KeySelectionTests {
    private let first: SigningKey
    private let second: SigningKey

    init() throws {
        first = try SigningKey.generate(.es256)
        second = try SigningKey.generate(.es256)
    }

    private func jwk(_ key: SigningKey, _ changes: [String: JSONValue?]) throws -> JWK {
        var members = key.verificationKey.jwk.members
        for (name, value) in changes { members[name] = value }
        return try JWK(members)
    }

    private func result(_ keys: [JWK], header: String, key: SigningKey) throws -> TokenError.Code? {
        let token = try Self.token(header, key: key)
        return code { try JWTVerifier(keys: JWKSet(keys: keys)).verify(token) }
    }

    private static func token(_ header: String, key: SigningKey) throws -> String {
        try Fixture.token(header: header, payload: #"{"exp":4000000000}"#, key: key)
    }

    @Test("Only the kid selects the key", .shows("B4", "RFC 7515 §4.1.4", "RFC 8725bis §3.10 (key ID)"))
    func byKeyID() throws {
        let keys = [try jwk(first, ["kid": "1"]), try jwk(second, ["kid": "2"])]
        #expect(try result(keys, header: #"{"alg":"ES256","kid":"2"}"#, key: second) == nil)
        for (header, expected) in [
            (#"{"alg":"ES256","kid":"1"}"#, nil), (#"{"alg":"ES256","kid":"2"}"#, .signatureInvalid),
            (#"{"alg":"ES256","kid":"3"}"#, .unknownKey), (#"{"alg":"ES256","kid":""}"#, .unknownKey),
            (#"{"alg":"ES256","kid":"../1"}"#, .unknownKey), (#"{"alg":"ES256","kid":1}"#, .malformedToken),
            (#"{"alg":"HS256","kid":"1"}"#, .algorithmMismatch), (#"{"alg":"none","kid":"1"}"#, .algorithmMismatch),
        ] as [(String, TokenError.Code?)] {
            #expect(try result(keys, header: header, key: first) == expected, "\(header)")
        }
    }

    @Test(
        "Doesn't fall back to the only key for an unknown or merely equivalent kid",
        .shows("B5", "RFC 7515 §4.1.4", "RFC 8725bis §3.1 (key ID)")
    )
    func noFallback() throws {
        let named = [try jwk(first, ["kid": "K"])]
        #expect(try result(named, header: #"{"alg":"ES256","kid":"other"}"#, key: first) == .unknownKey)
        #expect(try result(named, header: "{\"alg\":\"ES256\",\"kid\":\"\u{212A}\"}", key: first) == .unknownKey)
        #expect(try result([jwk(first, [:])], header: #"{"alg":"ES256","kid":"x"}"#, key: first) == .unknownKey)
        #expect(try result([], header: #"{"alg":"ES256","kid":"x"}"#, key: first) == .unknownKey)
    }

    @Test("Uses the only key for the algorithm without a kid, ignoring other keys", .shows("B5"))
    func withoutKeyID() throws {
        let header = #"{"alg":"ES256"}"#
        let others: [JWK] = [
            try JWK(["kty": "oct", "k": "AAAA"]), try JWK(["kty": "RSA", "n": "AQAB", "e": "AQAB"]),
            try JWK(["kty": "NEW"]), try jwk(second, ["use": "enc"]), try jwk(second, ["key_ops": ["sign"]]),
            try jwk(second, ["alg": "ECDH-ES"]), try SigningKey.generate(.es384).verificationKey.jwk,
            try jwk(second, ["x": "AAAA"]),
        ]
        #expect(try result([jwk(first, ["kid": "1"])], header: header, key: first) == nil)
        #expect(try result(others + [jwk(first, [:])], header: header, key: first) == nil)
        #expect(try result(others, header: header, key: second) == .algorithmMismatch)
        let two = [try jwk(first, ["kid": "1"]), try jwk(second, ["kid": "2"])]
        #expect(try result(two, header: header, key: first) == .ambiguousKey)
        #expect(try result([], header: header, key: first) == .algorithmMismatch)
    }

    @Test("A kid of two keys is ambiguous, unless only one of them can match", .shows("A12", "FAPI 2.0 §5.4.3"))
    func repeatedKeyID() throws {
        let header = #"{"alg":"ES256","kid":"1"}"#
        let key = try jwk(first, ["kid": "1"])
        #expect(try result([key, jwk(second, ["kid": "1"])], header: header, key: first) == .ambiguousKey)
        #expect(try result([key, key, jwk(second, ["kid": "1"])], header: header, key: first) == .ambiguousKey)
        #expect(try result([jwk(second, ["kid": "1", "use": "enc"]), key], header: header, key: first) == nil)
    }

    @Test("A kid of a valid and a damaged key is ambiguous, even though one key is usable", .shows("A12"))
    func damagedTwin() throws {
        for (kid, expected) in [("1", TokenError.Code.ambiguousKey), ("2", nil)] {
            let keys = [try jwk(first, ["kid": "1"]), try jwk(second, ["kid": .string(kid), "x": "AAAA"])]
            #expect(try result(keys, header: #"{"alg":"ES256","kid":"1"}"#, key: first) == expected)
        }
    }

    @Test(
        "The error for an unusable key that a token names has the reason",
        .shows("J15"),
        arguments: [
            (["use": "enc"], .keyMismatch), (["key_ops": ["sign"]], .keyMismatch), (["y": "AAAA"], .malformedKey),
            (["kty": "oct", "k": "AA", "crv": nil, "alg": nil], .unsupportedKey), (["alg": "ES512"], .keyMismatch),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func unusableKey(changes: [String: JSONValue?], expected: TokenError.Code) throws {
        let keys = [try jwk(first, changes.merging(["kid": "1"]) { $1 })]
        #expect(try result(keys, header: #"{"alg":"ES256","kid":"1"}"#, key: first) == expected)
    }

    @Test("A bad key doesn't affect the set, and each reason is kept", .shows("B8", "RFC 7517 §5 (sets)"))
    func reasons() throws {
        let text = """
            {"keys":[5,{"kid":"x"},{"kty":"NEW"},{"kty":"RSA","alg":"RSA-OAEP-256","n":"AQAB","e":"AQAB"},
            {"kty":"OKP","crv":"X25519","x":"AAAA"},{"kty":"AKP","alg":"ML-DSA-44","pub":"AAAA"},
            {"kty":"EC","crv":"P-256","x":"AAAA","y":"AAAA"},{"kty":"oct","k":"AAAA"},{"kty":"RSA","n":"AQAB","e":"AQAB"},
            \(first.verificationKey.jwk.members.serialized())]}
            """
        let set = try JWKSet(parsing: text)
        #expect(set.rejections.map(\.index) == [0, 1])
        #expect(set.rejections.map(\.reason.code) == [.malformedKey, .malformedKey])
        #expect(
            set.unusableKeys().map(\.reason.code) == [
                .unsupportedKey, .unsupportedAlgorithm, .unsupportedKey, .malformedKey, .malformedKey, .unsupportedKey,
                .algorithmRequired,
            ]
        )
        let token = try Fixture.token(payload: #"{"exp":4000000000}"#, key: first)
        #expect(code { try JWTVerifier(keys: set).verify(token) } == nil)
        #expect(code { try JWKSet(parsing: #"{"keys":[],"keys":[]}"#) } == .malformedJSON)
        let many = #"{"keys":["# + [String](repeating: "{}", count: 1_001).joined(separator: ",") + "]}"
        #expect(code { try JWKSet(parsing: many) } == .tooLarge)
    }

    @Test("A verifier for one key ignores the kid")
    func oneKey() throws {
        let token = try Self.token(#"{"alg":"ES256","kid":"any"}"#, key: first)
        #expect(try JWTVerifier(key: first.verificationKey).verify(token).header["kid"] == "any")
    }

    @Test("Tries several keys up to the limit, if the caller allows it")
    func trials() throws {
        let third = try SigningKey.generate(.es256)
        let header = #"{"alg":"ES256"}"#
        let keys = JWKSet(keys: [try jwk(first, [:]), try jwk(second, [:]), try jwk(third, ["kid": "3"])])
        let selection = KeySelection(maximumCandidates: 3)
        for key in [first, second, third] {
            let token = try Self.token(header, key: key)
            #expect(code { try JWTVerifier(keys: keys, selection: selection).verify(token) } == nil)
            #expect(code { try JWTVerifier(keys: keys).verify(token) } == .ambiguousKey)
            let tooFew = KeySelection(maximumCandidates: 2)
            #expect(code { try JWTVerifier(keys: keys, selection: tooFew).verify(token) } == .ambiguousKey)
        }
        let stranger = try Self.token(header, key: .generate(.es256))
        #expect(code { try JWTVerifier(keys: keys, selection: selection).verify(stranger) } == .signatureInvalid)
        let unknown = try Self.token(#"{"alg":"ES256","kid":"4"}"#, key: first)
        #expect(code { try JWTVerifier(keys: keys, selection: selection).verify(unknown) } == .unknownKey)
        #expect(KeySelection(maximumCandidates: 1_000).maximumCandidates == 16)
        #expect(KeySelection(maximumCandidates: -1).maximumCandidates == 1)
    }

    @Test("Uses a symmetric key of a set only if the caller opts in, and never publishes it", .shows("A11"))
    func symmetric() throws {
        let secret = try SigningKey.generate(.hs256)
        var jwk = try secret.privateJWK()
        jwk.keyID = "s"
        let keys = JWKSet(keys: [try self.jwk(first, ["kid": "1"]), jwk])
        let token = try Self.token(#"{"alg":"HS256","kid":"s"}"#, key: secret)
        #expect(code { try JWTVerifier(keys: keys).verify(token) } == .unsupportedKey)
        let nameless = try Self.token(#"{"alg":"HS256"}"#, key: secret)
        #expect(code { try JWTVerifier(keys: keys).verify(nameless) } == .algorithmMismatch)
        let selection = KeySelection(symmetricKeys: .unsafelyUsed)
        #expect(code { try JWTVerifier(keys: keys, selection: selection).verify(token) } == .unsupportedKey)
        #expect(keys.unusableKeys(selection).map(\.key) == [jwk])
        let secrets = JWKSet(keys: [jwk])
        #expect(code { try JWTVerifier(keys: secrets).verify(token) } == .unsupportedKey)
        #expect(code { try JWTVerifier(keys: secrets, selection: selection).verify(token) } == nil)
        #expect(code { try JWTVerifier(keys: secrets, selection: selection).verify(nameless) } == nil)
        #expect(secrets.unusableKeys(selection).isEmpty)
        #expect(!keys.serialized().contains("oct"))
    }

    @Test("An RSA key without an algorithm uses the caller's assumed algorithm, never the token's", .shows("A9"))
    func assumed() throws {
        let rsa = try Fixture.key(for: .rs256)
        let unnamed = JWKSet(keys: [try jwk(rsa, ["alg": nil, "kid": "r"]), try jwk(first, ["kid": "1"])])
        let good = try Self.token(#"{"alg":"RS256","kid":"r"}"#, key: rsa)
        #expect(code { try JWTVerifier(keys: unnamed).verify(good) } == .algorithmRequired)
        let assumes = KeySelection(assumedAlgorithms: [.es384, .rs256])
        #expect(code { try JWTVerifier(keys: unnamed, selection: assumes).verify(good) } == nil)
        for other in ["RS384", "PS256", "none", "HS256"] {
            let token = try Self.token(#"{"alg":"\#(other)","kid":"r"}"#, key: rsa)
            #expect(code { try JWTVerifier(keys: unnamed, selection: assumes).verify(token) } == .algorithmMismatch)
            #expect(code { try JWTVerifier(keys: unnamed, selection: assumes).verify(good) } == nil)
        }
        let several = KeySelection(assumedAlgorithms: [.ps256, .rs256])
        #expect(code { try JWTVerifier(keys: unnamed, selection: several).verify(good) } == .algorithmRequired)
        var policy = ValidationPolicy()
        policy.algorithms = [.rs256, .es256]
        #expect(code { try JWTVerifier(keys: unnamed, policy: policy).verify(good) } == nil)
        policy.algorithms = [.rs256, .ps256]
        #expect(code { try JWTVerifier(keys: unnamed, policy: policy).verify(good) } == .algorithmRequired)
        let stated = JWKSet(keys: [try jwk(rsa, ["kid": "r"])])
        let other = KeySelection(assumedAlgorithms: [.ps256])
        #expect(code { try JWTVerifier(keys: stated, selection: other).verify(good) } == nil)
    }

    @Test("The error for a key without an algorithm names the algorithms and the setting")
    func advice() throws {
        let rsa = try Fixture.key(for: .rs256)
        let unnamed = JWKSet(keys: [try jwk(rsa, ["alg": nil, "kid": "r"])])
        let setting = "name exactly one algorithm in the policy's `algorithms` or in `assumedAlgorithms`"
        func message(_ header: String, _ assumed: [JWSAlgorithm]) throws -> String? {
            let token = try Self.token(header, key: rsa)
            let verifier = JWTVerifier(keys: unnamed, selection: KeySelection(assumedAlgorithms: assumed))
            do { _ = try verifier.verify(token) } catch { return error.message }
            return nil
        }
        let rows: [(String, [JWSAlgorithm], String)] = [
            (
                #"{"alg":"RS256","kid":"r"}"#, [],
                "“alg” of the token is “RS256”, but the key with its “kid” states none"
            ),
            (
                #"{"alg":"PS256","kid":"r"}"#, [.rs256],
                "“alg” of the token is “PS256”, but the key with its “kid” is for RS256"
            ),
            (
                #"{"alg":"RS256"}"#, [],
                "the token has no “kid”, and no key of the set is for its “alg” “RS256”"
            ),
        ]
        for (header, assumed, reason) in rows {
            #expect(try message(header, assumed) == "\(reason); for a key without “alg”, \(setting)")
        }
        let stated = JWKSet(keys: [try jwk(rsa, ["kid": "r"])])
        let other = try Self.token(#"{"alg":"PS256","kid":"r"}"#, key: rsa)
        let error = #expect(throws: TokenError.self) { try JWTVerifier(keys: stated).verify(other) }
        #expect(error?.message == rows[1].2)
    }

    @Test(
        "A token of one algorithm can't change the verification of later tokens",
        .shows("A9", "RFC 8725bis §3.1 (one algorithm)")
    )
    func noPinning() throws {
        let verifier = JWTVerifier(keys: JWKSet(keys: [try jwk(first, ["kid": "1", "alg": nil])]))
        let good = try Self.token(#"{"alg":"ES256","kid":"1"}"#, key: first)
        let bad = try Fixture.token(header: #"{"alg":"ES512","kid":"1"}"#, payload: "{}", key: second)
        #expect(code { try verifier.verify(bad) } == .algorithmMismatch)
        #expect(code { try verifier.verify(good) } == nil)
    }
}
