import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Keys for encryption", .computing)
struct EncryptionKeyTests {
    private func jwk(_ changes: [String: JSONValue?] = [:]) throws -> JWK {
        var members = try DecryptionKey.generate(.ecdhESA256KW).privateJWK().members
        for (name, value) in changes { members[name] = value }
        return try JWK(members)
    }

    @Test("A key survives PEM, DER and JWK", arguments: [KeyAgreementCurve.p256, .p384, .p521, .x25519, .x448])
    func formats(curve: KeyAgreementCurve) throws {
        let key = try DecryptionKey.generate(.ecdhESA256KW, on: curve).identified(by: "k")
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        let copies = try [
            DecryptionKey(pem: key.pem(), algorithm: .ecdhESA256KW),
            DecryptionKey(pem: key.pem(.encryptedPKCS8(password: "p")), password: "p", algorithm: .ecdhESA256KW),
            DecryptionKey(der: key.der(), algorithm: .ecdhESA256KW),
            DecryptionKey(jwk: key.privateJWK()),
        ]
        for copy in copies { #expect(try JWEFixture.open(token, copy) == JWEFixture.plaintext) }
        let publicCopies = try [
            EncryptionKey(pem: key.encryptionKey.pem(), algorithm: .ecdhESA256KW),
            EncryptionKey(der: key.encryptionKey.der(), algorithm: .ecdhESA256KW),
            EncryptionKey(jwk: key.encryptionKey.jwk), EncryptionKey(jwk: key.privateJWK()),
        ]
        for copy in publicCopies {
            #expect(try JWEFixture.open(copy.encrypt(JWEFixture.plaintext), key) == JWEFixture.plaintext)
        }
        #expect(key.encryptionKey.jwk.use == "enc")
        #expect(key.encryptionKey.jwk.algorithm == "ECDH-ES+A256KW")
        #expect(key.encryptionKey.jwk.keyID == "k")
        #expect(!key.encryptionKey.jwk.isPrivate)
    }

    @Test("RSA keys survive PKCS #1, and secrets survive JWK") func otherFormats() throws {
        let key = try JWEFixture.key(.rsaOAEP256)
        let token = try EncryptionKey(pem: key.encryptionKey.pem(.traditional), algorithm: .rsaOAEP256)
            .encrypt(JWEFixture.plaintext)
        let copy = try DecryptionKey(pem: key.pem(.traditional), algorithm: .rsaOAEP256)
        #expect(try JWEFixture.open(token, copy) == JWEFixture.plaintext)
        for algorithm in [JWEAlgorithm.dir, .a128KW, .a192KW, .a256KW, .a128GCMKW, .a192GCMKW, .a256GCMKW] {
            let secret = try DecryptionKey.generate(algorithm)
            let token = try secret.encryptionKey.encrypt(JWEFixture.plaintext)
            let copy = try DecryptionKey(jwk: secret.privateJWK())
            #expect(try JWEFixture.open(token, copy) == JWEFixture.plaintext)
            #expect(secret.encryptionKey.jwk.members["k"] == nil)
            #expect(code { try secret.pem() } == .unsupportedKey)
            #expect(code { try secret.encryptionKey.pem() } == .unsupportedKey)
        }
    }

    @Test(
        "use, key_ops and alg of a JWK must allow encryption",
        .shows("E12"),
        arguments: [
            (["use": "sig"], .keyMismatch), (["use": nil, "key_ops": ["sign"]], .keyMismatch),
            (["key_ops": ["deriveKey", "sign"]], .keyMismatch), (["use": nil, "key_ops": ["verify"]], .keyMismatch),
            (["alg": "ES256"], .keyMismatch), (["alg": "RSA1_5"], .unsupportedAlgorithm),
            (["alg": "RSA-OAEP"], .keyMismatch), (["alg": "A256GCM"], .keyMismatch),
            (["alg": "PBES2-HS256+A128KW"], .unsupportedKey), (["alg": nil], .algorithmRequired),
            (["kty": "AKP"], .keyMismatch), (["kty": "NEW"], .unsupportedKey), (["crv": "secp256k1"], .keyMismatch),
            (["crv": nil], .malformedKey), (["crv": "P-384"], .malformedKey), (["x": "AAAA"], .malformedKey),
        ] as [([String: JSONValue?], TokenError.Code)]
    )
    func declarations(changes: [String: JSONValue?], expected: TokenError.Code) throws {
        let jwk = try jwk(changes)
        #expect(code { try DecryptionKey(jwk: jwk) } == expected)
        #expect(code { try EncryptionKey(jwk: jwk.publicPart) } == expected)
    }

    @Test(
        "Key agreement allows these operations",
        arguments: [["deriveKey"], ["deriveBits"], ["deriveKey", "deriveBits"], ["decrypt"], ["unwrapKey"]]
            as [JSONValue]
    )
    func operations(operations: JSONValue) throws {
        let jwk = try jwk(["key_ops": operations])
        #expect(try DecryptionKey(jwk: jwk).algorithm == .ecdhESA256KW)
        #expect(try EncryptionKey(jwk: jwk.publicPart).algorithm == .ecdhESA256KW)
        // A browser's public key for key agreement has none.
        let browser = try self.jwk(["key_ops": [], "use": nil])
        #expect(try EncryptionKey(jwk: browser.publicPart).algorithm == .ecdhESA256KW)
        #expect(code { try DecryptionKey(jwk: browser) } == .keyMismatch)
    }

    @Test("Points off the curve and mismatched halves are rejected") func invalidKeys() throws {
        let valid = try jwk()
        let other = try jwk()
        var members = valid.members
        members["x"] = other.members["x"]
        #expect(code { try EncryptionKey(jwk: JWK(members)) } == .malformedKey)
        members["y"] = other.members["y"]
        #expect(code { try DecryptionKey(jwk: JWK(members)) } == .keyMismatch)
        #expect(code { try DecryptionKey(jwk: valid.publicPart) } == .privateKeyRequired)
        #expect(code { try DecryptionKey(jwk: valid, algorithm: .ecdhES) } == .algorithmMismatch)
    }

    @Test(
        "Keys for signatures and for encryption aren't interchangeable",
        .shows("E12", "RFC 8725bis §3.1 (one algorithm)")
    ) func separation() throws {
        let signing = try SigningKey.generate(.es256)
        #expect(code { try DecryptionKey(jwk: signing.privateJWK()) } == .keyMismatch)
        #expect(code { try EncryptionKey(jwk: signing.verificationKey.jwk) } == .keyMismatch)
        let decryption = try DecryptionKey.generate(.ecdhESA256KW)
        #expect(code { try SigningKey(jwk: decryption.privateJWK()) } == .keyMismatch)
        #expect(code { try VerificationKey(jwk: decryption.encryptionKey.jwk) } == .keyMismatch)
        let montgomery = try DecryptionKey.generate(.ecdhESA256KW, on: .x25519)
        #expect(code { try SigningKey(pem: montgomery.pem()) } == .unsupportedKey)
        let publicPEM = try montgomery.encryptionKey.pem()
        #expect(code { try VerificationKey(pem: publicPEM, algorithm: .edDSA) } == .algorithmMismatch)
        for algorithm in [JWSAlgorithm.ed25519, .es256k] {
            let pem = try Fixture.key(for: algorithm).pem()
            #expect(code { try DecryptionKey(pem: pem, algorithm: .ecdhES) } == .algorithmMismatch)
        }
    }

    @Test("PEM texts of the wrong half are named") func wrongHalf() throws {
        let key = try DecryptionKey.generate(.ecdhES)
        #expect(code { try EncryptionKey(pem: key.pem(), algorithm: .ecdhES) } == .publicKeyRequired)
        #expect(code { try EncryptionKey(der: key.der(), algorithm: .ecdhES) } == .publicKeyRequired)
        #expect(code { try DecryptionKey(pem: key.encryptionKey.pem(), algorithm: .ecdhES) } == .privateKeyRequired)
        #expect(code { try DecryptionKey(pem: key.pem(), algorithm: .rsaOAEP) } == .algorithmMismatch)
    }

    @Test(
        "Secrets have the algorithm's size",
        arguments: [
            (.a128KW, 15, .weakKey), (.a128KW, 17, .malformedKey), (.a256KW, 0, .weakKey), (.a256GCMKW, 16, .weakKey),
            (.a192GCMKW, 32, .malformedKey), (.dir, 20, .malformedKey), (.dir, 32, .algorithmRequired),
            (.ecdhES, 32, .algorithmMismatch), (.rsaOAEP, 32, .algorithmMismatch),
            (.pbes2HS256A128KW, 32, .algorithmMismatch),
        ] as [(JWEAlgorithm, Int, TokenError.Code)]
    )
    func secretSizes(algorithm: JWEAlgorithm, size: Int, expected: TokenError.Code) {
        let secret = [UInt8](repeating: 7, count: size)
        #expect(code { try DecryptionKey(secret: secret, algorithm: algorithm) } == expected)
        #expect(code { try EncryptionKey(secret: secret, algorithm: algorithm) } == expected)
    }

    @Test("A secret for dir is for one content encryption", .shows("RFC 7518 §4.4, §4.5")) func direct() throws {
        let secret = [UInt8](repeating: 7, count: 32)
        let key = try DecryptionKey(secret: secret, algorithm: .dir, encryption: .a128CBCHS256)
        #expect(key.encryption == .a128CBCHS256)
        #expect(try DecryptionKey(secret: secret + secret, algorithm: .dir).encryption == .a256CBCHS512)
        #expect(code { try DecryptionKey(secret: secret, algorithm: .dir, encryption: .a128GCM) } == .malformedKey)
        #expect(
            code { try DecryptionKey(secret: secret, algorithm: .a256KW, encryption: .a256GCM) } == .algorithmMismatch
        )
        #expect(code { try DecryptionKey(secret: [UInt8](repeating: 0, count: 32), algorithm: .a256KW) } == .weakKey)
        var members = try key.privateJWK().members
        #expect(members["alg"]?.string == "A128CBC-HS256")
        members["alg"] = "dir"
        #expect(code { try DecryptionKey(jwk: JWK(members)) } == .algorithmRequired)
        #expect(try DecryptionKey(jwk: JWK(members), encryption: .a256GCM).encryption == .a256GCM)
        members["alg"] = nil
        #expect(code { try DecryptionKey(jwk: JWK(members)) } == .algorithmRequired)
    }

    @Test("Passwords have limits", .shows("RFC 8725bis §3.5")) func passwords() throws {
        #expect(code { try EncryptionPassword("") } == .weakKey)
        #expect(code { try EncryptionPassword(" \n") } == .weakKey)
        #expect(code { try EncryptionPassword(String(repeating: "a", count: 1025)) } == .tooLarge)
        let password = try EncryptionPassword("secret text")
        #expect("\(password)" == "EncryptionPassword(not shown)")
        #expect(!String(reflecting: password).contains("secret"))
        #expect(code { try EncryptionKey(password: password, algorithm: .a128KW) } == .algorithmMismatch)
        #expect(code { try DecryptionKey(password: password, algorithm: .dir) } == .algorithmMismatch)
        for (count, expected) in [(999, TokenError.Code.weakKey), (0, .weakKey), (10_000_001, .tooLarge)] {
            let found = code { try EncryptionKey(password: password, algorithm: .pbes2HS256A128KW, iterations: count) }
            #expect(found == expected)
        }
        #expect(code { try DecryptionKey.generate(.pbes2HS256A128KW) } == .algorithmMismatch)
        let key = try DecryptionKey(password: password, algorithm: .pbes2HS256A128KW)
        #expect(code { try key.privateJWK() } == .unsupportedKey)
    }

    @Test("Descriptions don't show secrets") func descriptions() throws {
        let key = try DecryptionKey(secret: Array("0123456789abcdef".utf8), algorithm: .a128KW)
        for text in ["\(key)", String(reflecting: key), "\(key.encryptionKey)", String(reflecting: key.encryptionKey)] {
            #expect(!text.contains("0123456789abcdef"))
            #expect(!text.contains("MDEyMzQ1"))
        }
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!dumped.contains("MDEyMzQ1"))
    }

    @Test("A key set selects the key to encrypt with") func keySet() throws {
        let (first, second) = (
            try DecryptionKey.generate(.ecdhESA256KW).identified(by: "1"),
            try DecryptionKey.generate(.ecdhES, on: .x25519).identified(by: "2")
        )
        let signing = try SigningKey.generate(.es256)
        var keys = [first.encryptionKey.jwk, second.encryptionKey.jwk, signing.verificationKey.jwk]
        let set = JWKSet(keys: keys)
        #expect(try set.encryptionKey(for: .ecdhESA256KW).keyID == "1")
        #expect(try set.encryptionKey(for: .ecdhES, keyID: "2").keyID == "2")
        #expect(code { try set.encryptionKey(for: .ecdhES, keyID: "1") } == .unknownKey)
        #expect(code { try set.encryptionKey(for: .rsaOAEP) } == .unknownKey)
        keys.append(try DecryptionKey.generate(.ecdhESA256KW).identified(by: "3").encryptionKey.jwk)
        #expect(code { try JWKSet(keys: keys).encryptionKey(for: .ecdhESA256KW) } == .ambiguousKey)
        #expect(try JWKSet(keys: keys).encryptionKey(for: .ecdhESA256KW, keyID: "3").keyID == "3")
        let secret = try DecryptionKey.generate(.a256KW)
        #expect(code { try JWKSet(keys: [secret.privateJWK()]).encryptionKey(for: .a256KW) } == .unknownKey)
    }
}
