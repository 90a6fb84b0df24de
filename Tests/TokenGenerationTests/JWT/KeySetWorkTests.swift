import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Preparation of keys in a set", .computing, .tags(.concurrency))
struct KeySetWorkTests {
    private static let payload = #"{"exp":4000000000}"#

    private func jwk(_ key: SigningKey, _ changes: [String: JSONValue?] = [:]) throws -> JWK {
        var members = key.verificationKey.jwk.members
        for (name, value) in changes { members[name] = value }
        return try JWK(members)
    }

    private func token(_ key: SigningKey, keyID: String? = nil) throws -> String {
        var header: JSONObject = ["alg": .string(key.algorithm.rawValue)]
        header["kid"] = keyID.map(JSONValue.string)
        return try Fixture.token(header: header.serialized(), payload: Self.payload, key: key)
    }

    /// Returns different keys for one algorithm, with numbers that aren't valid.
    private func damagedKeys(_ count: Int, keyID: String?) throws -> [JWK] {
        try (0..<count).map { number in
            var members: JSONObject = [
                "kty": "EC", "crv": "P-256", "alg": "ES256",
                "x": .string(Base64URL.encode([UInt8](repeating: UInt8(number), count: 32))),
                "y": .string(Base64URL.encode([UInt8](repeating: 0xFF, count: 32))),
            ]
            members["kid"] = keyID.map(JSONValue.string)
            return try JWK(members)
        }
    }

    @Test("Parsing a set and creating verifiers prepares no key; a token prepares its key once", .shows("K2"))
    func lazy() throws {
        let keys = try (0..<20).map { _ in try SigningKey.generate(.es256) }
        let document = JWKSet(keys: try keys.enumerated().map { try jwk($1, ["kid": .string("\($0)")]) }).serialized()
        let set = try JWKSet(parsing: document)
        let verifiers = [JWTVerifier(keys: set), JWTVerifier(keys: set)]
        let signatures = JWSVerifier(keys: set)
        #expect(set.preparationCount == 0)
        for _ in 1...3 {
            for verifier in verifiers {
                #expect(code { try verifier.verify(token(keys[3], keyID: "3")) } == nil)
                #expect(code { try verifier.verify(token(keys[3], keyID: "none")) } == .unknownKey)
                #expect(code { try verifier.verify(token(keys[3], keyID: "3") + "A") } != nil)
            }
            #expect(code { try signatures.verify(compact: token(keys[3], keyID: "3")) } == nil)
            #expect(set.preparationCount == 1)
        }
        #expect(code { try verifiers[0].verify(token(keys[4], keyID: "4")) } == nil)
        #expect(set.preparationCount == 2)
    }

    @Test("Requiring every key doesn't prepare a set with more than 16 entries and fewer signatures")
    func everyKey() throws {
        let keys = try (0..<17).map { _ in try SigningKey.generate(.es256) }
        let document = JWKSet(keys: try keys.enumerated().map { try jwk($1, ["kid": .string("\($0)")]) }).serialized()
        func json(_ count: Int) throws -> JSONObject {
            let signers = try keys.prefix(count).enumerated().map { index, key in
                JWSSigner(signingService: try ES256SigningService(key: key, keyID: "\(index)"))
            }
            return try JWSGenerator(payload: Data(Self.payload.utf8), signers: signers).generalJSON()
        }
        for count in [1, 16] {
            let set = try JWKSet(parsing: document)
            let verifier = JWSVerifier(keys: set)
            #expect(
                code { try verifier.verify(json: json(count), requiring: .everyKey) } == .insufficientSignatures
            )
            #expect(set.preparationCount == count)
        }
        let set = try JWKSet(parsing: document)
        #expect(try JWSVerifier(keys: set).verify(json: json(17), requiring: .everyKey).signatures.count == 17)
        #expect(set.preparationCount == 17)
    }

    @Test("A token that more than 16 keys could have signed prepares none", .shows("K2"), arguments: [nil, "1"])
    func manyCandidates(keyID: String?) throws {
        let key = try SigningKey.generate(.es256)
        let selection = KeySelection(maximumCandidates: 16)
        let good = try jwk(key, ["kid": keyID.map(JSONValue.string)])
        let many = JWKSet(keys: [good] + (try damagedKeys(16, keyID: keyID)))
        let verifier = JWTVerifier(keys: many, selection: selection)
        for _ in 1...10 { #expect(code { try verifier.verify(token(key, keyID: keyID)) } == .ambiguousKey) }
        #expect(many.preparationCount == 0)
        let few = JWKSet(keys: [good] + (try damagedKeys(15, keyID: keyID)))
        let limited = JWTVerifier(keys: few, selection: selection)
        for _ in 1...10 {
            // A damaged key with the same ID may be the token's key.
            #expect(code { try limited.verify(token(key, keyID: keyID)) } == (keyID == nil ? nil : .ambiguousKey))
        }
        #expect(few.preparationCount == 16)
    }

    @Test("Doesn't prepare a key whose declarations exclude the token")
    func statements() throws {
        let key = try SigningKey.generate(.es256)
        let others: [JWK] = [
            try jwk(key, ["use": "enc"]), try jwk(key, ["key_ops": ["sign"]]), try jwk(key, ["alg": "ES384"]),
            try jwk(key, ["crv": "P-384"]), try jwk(.generate(.es384)), try jwk(.generate(.ed25519)),
            try JWK(["kty": "oct", "k": "AAAA"]),
        ]
        let set = JWKSet(keys: others + [try jwk(key)])
        #expect(code { try JWTVerifier(keys: set).verify(token(key)) } == nil)
        #expect(set.preparationCount == 1)
        #expect(code { try JWTVerifier(keys: JWKSet(keys: others)).verify(token(key)) } == .algorithmMismatch)
    }

    @Test("Concurrent threads prepare a key once", .shows("K2"))
    func singleFlight() async throws {
        for _ in 1...5 {
            let key = try Fixture.key(for: .ps256)
            let set = JWKSet(keys: [try jwk(key, ["kid": "1"])])
            let verifier = JWTVerifier(keys: set)
            let text = try token(key, keyID: "1")
            let codes = await withTaskGroup(of: TokenError.Code?.self) { group in
                for _ in 1...32 { group.addTask { code { try verifier.verify(text) } } }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(codes.allSatisfy { $0 == nil })
            #expect(set.preparationCount == 1)
        }
    }

    @Test("The reason why a key can't be used is determined on demand, once")
    func reasons() throws {
        let set = JWKSet(keys: try damagedKeys(3, keyID: nil) + [JWK(["kty": "NEW"]), jwk(.generate(.es256))])
        #expect(set.preparationCount == 0)
        for _ in 1...2 {
            #expect(
                set.unusableKeys().map(\.reason.code) == [
                    .malformedKey, .malformedKey, .malformedKey, .unsupportedKey,
                ]
            )
            #expect(set.preparationCount == 4)
        }
    }

    @Test("A duplicate key is one key, with and without a kid", arguments: [JWSAlgorithm.es256, .ps256, .ed25519])
    func twice(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let plain = try jwk(key, ["kid": "1"])
        var twins = [
            plain, try jwk(key, ["kid": "1", "alg": .string(algorithm.rawValue), "use": "sig", "vendor": 5]),
        ]
        if let modulus = try plain.members["n"]?.string.map(Base64URL.decode) {
            twins.append(try jwk(key, ["kid": "1", "n": .string(Base64URL.encode([0] + modulus))]))
        }
        for twin in twins {
            let verifier = JWTVerifier(keys: JWKSet(keys: [plain, twin, plain]))
            #expect(code { try verifier.verify(token(key, keyID: "1")) } == nil)
            #expect(code { try verifier.verify(token(key)) } == nil)
        }
        let other = try SigningKey.generate(algorithm)
        let verifier = JWTVerifier(keys: JWKSet(keys: [plain, plain, try jwk(other, ["kid": "1"])]))
        #expect(code { try verifier.verify(token(key, keyID: "1")) } == .ambiguousKey)
        let repeated = JWKSet(keys: [JWK](repeating: plain, count: 1_000))
        #expect(code { try JWTVerifier(keys: repeated).verify(token(key, keyID: "1")) } == nil)
        #expect(repeated.preparationCount == 1)
    }

    @Test("The token's algorithm selects one of two entries with the same kid")
    func twoAlgorithms() throws {
        let key = try Fixture.key(for: .rs256)
        let set = JWKSet(keys: [try jwk(key, ["kid": "1"]), try jwk(key, ["kid": "1", "alg": "PS256"])])
        #expect(code { try JWTVerifier(keys: set).verify(token(key, keyID: "1")) } == nil)
        #expect(set.preparationCount == 1)
    }

    @Test("A private key in a set verifies without reading its private members")
    func privateMembers() throws {
        let key = try Fixture.key(for: .rs256)
        let huge = JSONValue.string(String(repeating: "_", count: 100_000))
        let members: [String: JSONValue?] = ["kid": "1", "d": huge, "p": huge, "q": 7]
        let set = JWKSet(keys: [try jwk(key, members)])
        #expect(code { try JWTVerifier(keys: set).verify(token(key, keyID: "1")) } == nil)
        #expect(set.unusableKeys().isEmpty)
    }

    @Test(
        "The maximum RSA modulus size of a set can be lowered, but not raised",
        arguments: [(4_096, true), (8_192, false), (9_000, false)]
    )
    func rsaLimit(limit: Int, isRefused: Bool) throws {
        let modulus = JSONValue.string(Base64URL.encode([0x80] + [UInt8](repeating: 0, count: 1_022) + [3]))
        let text = JWKSet(keys: [try JWK(["kty": "RSA", "alg": "RS256", "n": modulus, "e": "Aw"])]).serialized()
        let set = try JWKSet(parsing: text, maximumRSAKeySize: limit)
        #expect(set.maximumRSAKeySize == min(limit, 8_192))
        #expect(set.unusableKeys().map(\.reason.code) == (isRefused ? [.tooLarge] : []))
    }

    @Test("Rejects a JWK with too many members, and can't use one with too many certificates", .shows("K3"))
    func sizes() throws {
        var members = try SigningKey.generate(.es256).verificationKey.jwk.members
        let chain = JSONValue.array([JSONValue](repeating: "AAAA", count: 11))
        let certified = try JWK(JSONObject(members.map { ($0.name, $0.value) } + [("x5c", chain)]))
        #expect(code { try VerificationKey(jwk: certified) } == .tooLarge)
        for number in members.count..<128 { members["m\(number)"] = 1 }
        #expect(code { try JWK(members) } == nil)
        members["one more"] = 1
        #expect(code { try JWK(members) } == .tooLarge)
        let set = try JWKSet(parsing: (["keys": [.object(members)]] as JSONObject).serialized())
        #expect(set.keys.isEmpty)
        #expect(set.rejections.map(\.reason.code) == [.tooLarge])
    }
}
