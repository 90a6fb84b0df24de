import Foundation
import OpenSSLCrypto
import TestSupport
import Testing

@testable import TokenGeneration

/// The attacks on encrypted tokens in Docs/Attacks.md.
@Suite("Attacks on encrypted tokens", .computing)
struct JWEAttackTests {
    @Test(
        "Every failure that depends on the key is the same error",
        .shows("E5", "RFC 7516 §5.1, §5.2", "RFC 7516 §11.5")
    ) func oneError() throws {
        var messages: Set<String> = []
        func check(_ token: String, _ key: DecryptionKey, line: Int = #line) throws {
            let refusal = try #require(error { try JWEFixture.open(token, key) }, "line \(line)")
            #expect(refusal.code == .decryptionFailed, "line \(line)")
            #expect(refusal.cause == nil)
            messages.insert(refusal.message)
        }
        for algorithm in JWEAlgorithm.implemented {
            let key = try JWEFixture.key(algorithm, encryption: .a128CBCHS256)
            let token = try JWEFixture.encryptionKey(key).encrypt(JWEFixture.plaintext, encryption: .a128CBCHS256)
            // The initialization vector, the ciphertext, the tag and the encrypted key.
            for segment in 1...4 {
                guard segment > 1 || !JWEFixture.segments(token)[1].isEmpty else { continue }
                try check(JWEFixture.changing(token, segment) { $0[$0.count - 1] ^= 1 }, key)
                try check(JWEFixture.changing(token, segment) { $0[0] ^= 0x80 }, key)
            }
            try check(JWEFixture.changing(token, 3) { $0.removeLast(16) }, key)
            try check(JWEFixture.changing(token, 3) { $0.removeLast() }, key)
            try check(JWEFixture.changing(token, 3) { $0 = [] }, key)
            try check(JWEFixture.changingHeader(token, ["typ": "JWT"]), key)
        }
        // Another key.
        let token = try DecryptionKey.generate(.a256KW).encryptionKey.encrypt(JWEFixture.plaintext)
        try check(token, .generate(.a256KW))
        #expect(messages.count == 1)
    }

    @Test("A wrong key gives a random content key of the right size each time", .shows("E9", "RFC 7516 §11.5"))
    func substitution() throws {
        for algorithm in JWEAlgorithm.implemented where !algorithm.details.determinesContentKey {
            for encryption in [JWEEncryption.a128GCM, .a256CBCHS512] {
                let key = try JWEFixture.key(algorithm)
                let text = try JWEFixture.changing(
                    JWEFixture.encryptionKey(key).encrypt(Data(), encryption: encryption),
                    1
                ) {
                    $0[3] ^= 1
                }
                let token = try EncryptedToken(compact: text, limits: JWELimits())
                let accepted = try AcceptedJWE(token, [RecipientIdentity(key)], JWEFixture.anyPolicy)
                let keys = try (0..<3).map { _ in
                    try accepted.management.contentKey(with: key.material, for: encryption)
                }
                #expect(keys.allSatisfy { $0.count == encryption.cipher.keySize && !$0.isZero })
                #expect(keys[0] != keys[1] && keys[1] != keys[2])
            }
        }
    }

    @Test("A content key of zeros doesn't open tokens whose key can't be unwrapped", .shows("E9")) func zeroKey() throws
    {
        let zeros = [UInt8](repeating: 0, count: 16)
        let made = try JWEFixture.made(contentKey: zeros, wrapping: [UInt8](repeating: 3, count: 16))
        #expect(code { try JWEFixture.open(made, JWEFixture.secretKey()) } == .decryptionFailed)
        let changed = try JWEFixture.changing(JWEFixture.made(contentKey: zeros), 1) { $0[0] ^= 1 }
        #expect(code { try JWEFixture.open(changed, JWEFixture.secretKey()) } == .decryptionFailed)
    }

    @Test("Empty, short and long encrypted keys are rejected", .shows("E8"), arguments: [0, 8, 16, 23, 25, 32, 40])
    func encryptedKeySizes(size: Int) throws {
        let changed = try JWEFixture.changing(JWEFixture.made(), 1) { $0 = [UInt8](repeating: 1, count: size) }
        #expect(code { try JWEFixture.open(changed, JWEFixture.secretKey()) } == .malformedToken)
        let huge = try JWEFixture.changing(JWEFixture.made(), 1) { $0 = [UInt8](repeating: 1, count: 1025) }
        #expect(code { try JWEFixture.open(huge, JWEFixture.secretKey()) } == .tooLarge)
    }

    @Test(
        "A missing encrypted key is rejected, and one next to dir or ECDH-ES",
        .shows("E8", "E10"),
        arguments: [JWEAlgorithm.rsaOAEP, .a128GCMKW, .ecdhESA128KW, .dir, .ecdhES]
    )
    func missingKey(algorithm: JWEAlgorithm) throws {
        let key = try JWEFixture.key(algorithm)
        let encryptedKey: [UInt8] = [.dir, .ecdhES].contains(algorithm) ? [1, 2, 3] : []
        let changed = try JWEFixture.changing(key.encryptionKey.encrypt(Data()), 1) { $0 = encryptedKey }
        #expect(code { try JWEFixture.open(changed, key) } == .malformedToken)
    }

    @Test("Tags and initialization vectors have one size", .shows("E4"), arguments: JWEEncryption.implemented)
    func truncation(encryption: JWEEncryption) throws {
        let key = try DecryptionKey.generate(.a256KW)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext, encryption: encryption)
        for segment in [2, 4] {
            let size = try Base64URL.decode(JWEFixture.segments(token)[segment]).count
            for other in [0, 1, 4, 8, size - 1, size + 1] {
                let changed = try JWEFixture.changing(token, segment) { octets in
                    octets = Array((octets + [0]).prefix(other))
                }
                #expect(code { try JWEFixture.open(changed, key) } == .malformedToken)
            }
        }
    }

    @Test("The tag and initialization vector of a wrapped key have one size", .shows("E4", "RFC 7518 §4.7"))
    func wrappedKeyTag() throws {
        let key = try DecryptionKey.generate(.a128GCMKW)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        for (name, size) in [("tag", 4), ("tag", 0), ("tag", 15), ("iv", 8), ("iv", 0), ("iv", 11)] {
            let value = JSONValue.string(Base64URL.encode([UInt8](repeating: 0, count: size)))
            #expect(JWEFixture.refusal(token, changing: [name: value], key) == .malformedToken)
        }
        #expect(JWEFixture.refusal(token, changing: ["iv": nil], key) == .malformedToken)
        #expect(JWEFixture.refusal(token, changing: ["tag": 1], key) == .malformedToken)
        let long = JSONValue.string(String(repeating: "A", count: 400))
        #expect(JWEFixture.refusal(token, changing: ["tag": long], key) == .tooLarge)
    }

    @Test(
        "Compression is rejected, protected or not",
        .shows("E2", "RFC 7516 §4.1.3", "RFC 8725bis §3.6", "RFC 8725bis §3.15"),
        arguments: ["DEF", "", "GZ"]
    )
    func compression(value: String) throws {
        let made = try JWEFixture.made(header: #"{"alg":"A128KW","enc":"A128GCM","zip":"\#(value)"}"#)
        #expect(code { try JWEFixture.open(made, JWEFixture.secretKey()) } == .compressionRejected)
        let key = try JWEFixture.secretKey().encryptionKey
        #expect(code { try key.encrypt(Data(), header: ["zip": .string(value)]) } == .compressionRejected)
        var json = try JWEGenerator(plaintext: Data(), recipients: [JWERecipient(key: key)]).flattenedJSON()
        json["unprotected"] = ["zip": .string(value)]
        let decrypter = try JWEDecrypter(key: JWEFixture.secretKey(), policy: JWEFixture.anyPolicy)
        #expect(code { try decrypter.decrypt(json: json) } == .unprotectedParameter)
    }

    @Test(
        "Ephemeral keys that aren't valid points of the recipient's curve are rejected",
        .shows("E3", "RFC 8725bis §3.4"),
        arguments: [
            (#"{"kty":"EC","crv":"P-256","x":"{x}","y":"{x}"}"#, .malformedToken),
            (#"{"kty":"EC","crv":"P-256","x":"{x}"}"#, .malformedToken),
            (#"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, .malformedToken),
            (#"{"kty":"EC","crv":"P-256","x":"","y":""}"#, .malformedToken),
            (#"{"kty":"EC","crv":"P-256","x":"{0}","y":"{0}"}"#, .malformedToken),
            (#"{"kty":"EC","crv":"P-256","x":"{x}","y":"{y}","d":"{x}"}"#, .malformedToken),
            (#"{"kty":"EC","crv":"P-384","x":"{x}","y":"{y}"}"#, .algorithmMismatch),
            (#"{"kty":"EC","crv":"secp256k1","x":"{x}","y":"{y}"}"#, .algorithmMismatch),
            (#"{"kty":"OKP","crv":"X25519","x":"{x}"}"#, .algorithmMismatch),
            (#"{"kty":"OKP","crv":"P-256","x":"{x}"}"#, .malformedToken),
            (#"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#, .malformedToken),
            (#"{"kty":"EC","x":"{x}","y":"{y}"}"#, .malformedToken), (#"{}"#, .malformedToken),
            (#"[]"#, .malformedToken), (#""text""#, .malformedToken), (#"null"#, .malformedToken),
        ] as [(String, TokenError.Code)]
    )
    func invalidCurve(epk: String, expected: TokenError.Code) throws {
        let key = try DecryptionKey.generate(.ecdhESA128KW)
        let other = try DecryptionKey.generate(.ecdhESA128KW).encryptionKey.jwk.members
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        let text = epk.replacing("{x}", with: other["x"]?.string ?? "").replacing("{y}", with: other["y"]?.string ?? "")
            .replacing("{0}", with: Base64URL.encode([UInt8](repeating: 0, count: 32)))
        let value = try JSONObject(parsing: #"{"epk":\#(text)}"#)["epk"]
        #expect(JWEFixture.refusal(token, changing: ["epk": value], key) == expected)
        #expect(JWEFixture.refusal(token, changing: ["epk": nil], key) == .malformedToken)
    }

    @Test(
        "Ephemeral keys of small order end like any other failure",
        .shows("E3", "RFC 8725bis §3.4"),
        arguments: [KeyAgreementCurve.x25519, .x448]
    )
    func smallOrder(curve: KeyAgreementCurve) throws {
        for algorithm in [JWEAlgorithm.ecdhES, .ecdhESA256KW] {
            let key = try DecryptionKey.generate(algorithm, on: curve)
            let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
            for first in [0, 1] as [UInt8] {
                let size = curve == .x25519 ? 32 : 56
                let octets = [first] + [UInt8](repeating: 0, count: size - 1)
                let epk: JSONObject = [
                    "kty": "OKP", "crv": .string(curve.rawValue), "x": .string(Base64URL.encode(octets)),
                ]
                let changed = try JWEFixture.changingHeader(token, ["epk": .object(epk)])
                #expect(code { try JWEFixture.open(changed, key) } == .decryptionFailed)
            }
        }
        let members: JSONObject = [
            "kty": "OKP", "crv": .string(curve.rawValue),
            "x": .string(Base64URL.encode([UInt8](repeating: 0, count: curve == .x25519 ? 32 : 56))),
        ]
        let weak = try EncryptionKey(jwk: JWK(members), algorithm: .ecdhES)
        #expect(code { try weak.encrypt(Data()) } == .encryptionFailed)
    }

    @Test("The names of the parties are part of the key, and limited", .shows("RFC 7518 §4.6")) func parties() throws {
        let key = try DecryptionKey.generate(.ecdhESA128KW)
        let token = try key.encryptionKey.encrypt(Data(), header: ["apu": "QWxpY2U", "apv": "Qm9i"])
        let jwe = try JWEDecrypter(key: key, policy: JWEFixture.anyPolicy).decrypt(compact: token)
        #expect(jwe.partyUInfo == Data("Alice".utf8))
        #expect(jwe.partyVInfo == Data("Bob".utf8))
        for value in ["Qm9i", nil] as [JSONValue?] {
            #expect(JWEFixture.refusal(token, changing: ["apu": value], key) == .decryptionFailed)
        }
        #expect(JWEFixture.refusal(token, changing: ["apu": "Q"], key) == .malformedToken)
        #expect(JWEFixture.refusal(token, changing: ["apv": 1], key) == .malformedToken)
        let long = JSONValue.string(Base64URL.encode([UInt8](repeating: 1, count: 257)))
        #expect(JWEFixture.refusal(token, changing: ["apu": long], key) == .tooLarge)
        #expect(code { try key.encryptionKey.encrypt(Data(), header: ["apu": long]) } == .unencodableContent)
        #expect(code { try key.encryptionKey.encrypt(Data(), header: ["apv": 7]) } == .unencodableContent)
    }

    @Test(
        "Iteration counts and salts of passwords are limited",
        .shows("E1", "RFC 7518 §4.8", "RFC 8725bis §3.13"),
        arguments: [
            ("p2c", 10_001, .tooLarge), ("p2c", 2_147_483_648, .tooLarge), ("p2c", 999, .weakKey), ("p2c", 0, .weakKey),
            ("p2c", -1, .weakKey), ("p2c", "1000", .malformedToken), ("p2c", nil, .malformedToken),
            ("p2s", "AAAAAAAAAA", .weakKey), ("p2s", "", .weakKey), ("p2s", nil, .malformedToken),
            ("p2s", 1, .malformedToken),
        ] as [(String, JSONValue?, TokenError.Code)]
    )
    func iterations(name: String, value: JSONValue?, expected: TokenError.Code) throws {
        let key = try JWEFixture.key(.pbes2HS256A128KW)
        let token = try JWEFixture.encryptionKey(key).encrypt(Data())
        #expect(JWEFixture.refusal(token, changing: [name: value], key) == expected)
    }

    @Test("Iteration counts that aren't integers or don't fit are rejected", .shows("E1")) func strangeCounts() throws {
        let key = try JWEFixture.key(.pbes2HS256A128KW)
        for literal in ["1000.5", "1e300", "99999999999999999999999"] {
            let header = #"{"alg":"PBES2-HS256+A128KW","enc":"A128GCM","p2s":"AAAAAAAAAAAAAAAA","p2c":\#(literal)}"#
            let token = try JWEFixture.sealed(
                header: header,
                encryptedKey: [UInt8](repeating: 0, count: 24),
                contentKey: [UInt8](repeating: 0, count: 16)
            )
            #expect(code { try JWEFixture.open(token, key) } == .malformedToken)
        }
    }

    @Test("Passwords need a limit in the policy", .shows("E1", "RFC 7518 §4.8", "RFC 8725bis §3.13"))
    func passwordsAreOff() throws {
        let key = try JWEFixture.key(.pbes2HS512A256KW)
        let token = try JWEFixture.encryptionKey(key).encrypt(Data())
        let policy = DecryptionPolicy(algorithms: [.pbes2HS512A256KW], encryptions: [.a256GCM])
        #expect(code { try JWEDecrypter(key: key, policy: policy).decrypt(compact: token) } == .algorithmMismatch)
    }

    @Test("Every bit of a token counts", .shows("E24", "RFC 8725bis §3.3 (every operation)")) func everyBit() throws {
        let key = try DecryptionKey.generate(.ecdhESA128KW, on: .x25519)
        let token = try key.encryptionKey.encrypt(Data("{}".utf8))
        let decrypter = JWEDecrypter(key: key, policy: JWEFixture.anyPolicy)
        let bytes = Array(token.utf8)
        for index in bytes.indices {
            for bit in 0..<7 {
                var changed = bytes
                changed[index] ^= 1 << bit
                guard let text = String(validating: changed, as: UTF8.self) else { continue }
                #expect(code { try decrypter.decrypt(compact: text) } != nil, "byte \(index), bit \(bit)")
            }
        }
    }

    @Test("Truncated and random texts are rejected without a trap", .shows("E24")) func randomTexts() throws {
        let key = try DecryptionKey.generate(.a128GCMKW)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        let decrypter = JWEDecrypter(key: key, policy: JWEFixture.anyPolicy)
        for count in 0..<token.utf8.count {
            #expect(code { try decrypter.decrypt(compact: String(token.prefix(count))) } != nil)
        }
        var numbers = Fixture.SeededNumbers(state: 20)
        let json = try JWEGenerator(plaintext: Data(), recipients: [JWERecipient(key: key.encryptionKey)])
            .generalJSON().serialized()
        for text in [token, json] {
            for _ in 0..<2_000 {
                var bytes = Array(text.utf8)
                for _ in 0..<Int.random(in: 1...4, using: &numbers) {
                    let index = Int.random(in: bytes.indices, using: &numbers)
                    switch Int.random(in: 0..<3, using: &numbers) {
                    case 0: bytes[index] = UInt8.random(in: 32...126, using: &numbers)
                    case 1: bytes.insert(UInt8.random(in: 32...126, using: &numbers), at: index)
                    default: bytes.remove(at: index)
                    }
                }
                let changed = String(decoding: bytes, as: UTF8.self)
                guard changed != text else { continue }
                _ = code { try decrypter.decrypt(compact: changed) }
                _ = code { try decrypter.decrypt(json: changed) }
            }
        }
    }

    @Test("Errors never quote a token, a header's value or a key") func messages() throws {
        let key = try JWEFixture.secretKey()
        let made = try JWEFixture.made(
            header: #"{"alg":"A128KW","enc":"A128GCM","kid":"\#(String(repeating: "k", count: 500))"}"#
        )
        let other = try DecryptionKey.generate(.a128KW).identified(by: "other")
        let third = try DecryptionKey.generate(.a128KW).identified(by: "third")
        let decrypter = JWEDecrypter(keys: [other, third], policy: JWEFixture.anyPolicy)
        let refusals = [
            error { try decrypter.decrypt(compact: made) },
            error { try JWEFixture.open(made + "x", key) },
            error { try JWEFixture.open(JWEFixture.changing(made, 4) { $0[0] ^= 1 }, key) },
        ]
        for refusal in refusals {
            let text = try #require(refusal?.description)
            #expect(!text.contains(JWEFixture.segments(made)[3]))
            #expect(!text.contains(String(repeating: "k", count: 50)))
            #expect(text.utf8.count < 300)
        }
    }
}
