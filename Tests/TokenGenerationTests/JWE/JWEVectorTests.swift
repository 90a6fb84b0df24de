import Foundation
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("JWE vectors of the RFCs", .computing)
struct JWEVectorTests {
    private func vector(_ name: String) throws -> JSONObject {
        try JSONObject(parsing: Vector.data(name))
    }

    private func key(_ vector: JSONObject, _ algorithm: JWEAlgorithm) throws -> DecryptionKey {
        try DecryptionKey(jwk: JWK(#require(vector["key"]?.object)), algorithm: algorithm)
    }

    @Test(
        "Decrypts RFC 7516 A.1 and A.3, and rejects RSA1_5 of RFC 7516 A.2, RFC 7519 A.1 and A.2",
        .shows("E7", "RFC 7516 §3.1, §7.1", "RFC 7516 A.1–A.5", "RFC 8725bis §3.2 (agility)"),
        arguments: [
            ("rfc7516-a1-rsa-oaep-a256gcm", .rsaOAEP, nil), ("rfc7516-a3-a128kw-a128cbc-hs256", .a128KW, nil),
            ("rfc7516-a2-rsa1_5-a128cbc-hs256", .rsaOAEP, .unsupportedAlgorithm),
            ("rfc7519-a1-encrypted-jwt", .rsaOAEP, .unsupportedAlgorithm),
            ("rfc7519-a2-nested-jwt", .rsaOAEP, .unsupportedAlgorithm),
        ] as [(String, JWEAlgorithm, TokenError.Code?)]
    )
    func compact(name: String, algorithm: JWEAlgorithm, expected: TokenError.Code?) throws {
        let vector = try vector(name)
        let (token, key) = (try #require(vector["compact"]?.string), try key(vector, algorithm))
        #expect(code { try JWEFixture.open(token, key) } == expected)
        guard expected == nil else { return }
        let content = try JWEFixture.open(token, key)
        #expect(String(decoding: content, as: UTF8.self) == vector["plaintext_utf8"]?.string)
    }

    @Test("Decrypts RFC 7516 A.4 for its second recipient", .shows("RFC 7516 §7.2", "RFC 7516 A.1–A.5")) func general()
        throws
    {
        let vector = try vector("rfc7516-a4-general-json")
        let jwk = try #require(vector["keys"]?.array?.last?.object)
        let key = try DecryptionKey(jwk: JWK(jwk), algorithm: .a128KW)
        let jwe = try JWEDecrypter(key: key, policy: JWEFixture.anyPolicy)
            .decrypt(json: #require(vector["json"]?.object))
        #expect(String(decoding: jwe.plaintext, as: UTF8.self) == "Live long and prosper.")
        #expect(jwe.recipientIndex == 1)
        #expect(jwe.unprotectedHeader["jku"] != nil)
        #expect(jwe.unprotectedHeader["kid"]?.string == "7")
    }

    @Test("Decrypts RFC 7516 A.5", .shows("RFC 7516 §7.2", "RFC 7516 A.1–A.5")) func flattened() throws {
        let vector = try vector("rfc7516-a5-flattened-json")
        let jwe = try JWEDecrypter(key: key(vector, .a128KW), policy: JWEFixture.anyPolicy)
            .decrypt(json: #require(vector["json"]?.object).serialized())
        #expect(String(decoding: jwe.plaintext, as: UTF8.self) == "Live long and prosper.")
    }

    @Test("Decrypts the encrypted JWK of RFC 7517 C with its password", .shows("RFC 7518 §4.8", "RFC 7517 §7"))
    func encryptedJWK() throws {
        let vector = try vector("rfc7517-c-pbes2-encrypted-jwk")
        let password = try EncryptionPassword(#require(vector["passphrase_utf8"]?.string))
        let key = try DecryptionKey(password: password, algorithm: .pbes2HS256A128KW)
        let content = try JWEFixture.open(#require(vector["compact"]?.string), key)
        #expect(try JSONObject(parsing: content) == #require(vector["plaintext_jwk"]?.object))
    }

    @Test("Derives the key of RFC 7518 C with the parties' names", .shows("RFC 7518 §4.6")) func agreement() throws {
        // The RFCs state the derived key, with which a token can be made.
        let vector = try vector("rfc7518-c-ecdh-es")
        let header = try #require(vector["header"]?.object)
        let derived = try Base64URL.decode(#require(vector["derived_key_b64u"]?.string))
        let token = try JWEFixture.sealed(header: header.serialized(), encryptedKey: [], contentKey: derived)
        let jwk = try JWK(#require(vector["bob"]?.object))
        let key = try DecryptionKey(jwk: jwk, algorithm: .ecdhES)
        let jwe = try JWEDecrypter(key: key, policy: JWEFixture.anyPolicy).decrypt(compact: token)
        #expect(jwe.plaintext == JWEFixture.plaintext)
        #expect(jwe.partyUInfo == Data("Alice".utf8))
        #expect(jwe.partyVInfo == Data("Bob".utf8))
    }

    @Test(
        "Agrees on the keys of RFC 8037 A.6 and A.7",
        .shows("RFC 8037 §2, §3, A"),
        arguments: ["a6_ecdh_es_x25519", "a7_ecdh_es_x448"]
    )
    func montgomery(name: String) throws {
        let example = try #require(vector("rfc8037-a")[name]?.object)
        var members = try #require(example["recipient_public"]?.object)
        members["d"] = .string(Base64URL.encode([UInt8](hex: example["recipient_private_hex"]?.string ?? "")))
        let header = try #require(example["header"]?.object)
        let algorithm = try #require(JWEAlgorithm(rawValue: header["alg"]?.string ?? ""))
        let key = try DecryptionKey(jwk: JWK(members), algorithm: algorithm)
        // The key of RFC 7518 §4.6.2, from the RFC's shared secret.
        let size = algorithm == .ecdhESA128KW ? 16 : 32
        let other =
            [0, 0, 0, 14] + Array(algorithm.rawValue.utf8) + [
                0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(size >> 5), UInt8(size * 8 & 0xFF),
            ]
        let hash = try ([0, 0, 0, 1] + [UInt8](hex: example["z_hex"]?.string ?? "") + other).withBytes {
            try HashFunction.sha256.hash($0)
        }
        let wrapper = try AESKeyWrap(key: Array(hash.prefix(size)).withBytes { SecretBytes(copying: $0) })
        let contentKey = [UInt8](repeating: 9, count: size)
        let token = try JWEFixture.sealed(
            header: header.serialized(),
            encryptedKey: wrapper.wrap(contentKey.withBytes { SecretBytes(copying: $0) }),
            contentKey: contentKey,
            cipher: size == 16 ? .aes128GCM : .aes256GCM
        )
        #expect(try JWEFixture.open(token, key) == JWEFixture.plaintext)
    }
}

/// Tests of RFC 7520 §5 and curve25519, from the folder in `JOSE_VECTORS_DIR`.
@Suite("RFC 7520 §5", .enabled(if: ExternalVector.exists("rfc7520/jwe"), "\(ExternalVector.hint)"), .computing)
struct JWECookbookTests {
    private struct Example {
        let plaintext: String
        let keys: [DecryptionKey]
        let compact: String?
        let json: [JSONObject]
        let additionalData: String?

        init(_ path: String) throws {
            let vector = try JSONObject(parsing: ExternalVector.data(path))
            let input = try #require(vector["input"]?.object)
            plaintext = try #require(input["plaintext"]?.string)
            let algorithms = try #require(input["alg"]?.array ?? input["alg"].map { [$0] })
                .map { JWEAlgorithm(rawValue: $0.string ?? "") }
            if let password = input["pwd"]?.string {
                let password = try EncryptionPassword(password)
                keys = try algorithms.compactMap(\.self).map { try DecryptionKey(password: password, algorithm: $0) }
            } else {
                let jwks = try #require(input["key"]?.array ?? input["key"].map { [$0] })
                keys = try zip(jwks, algorithms).compactMap { jwk, algorithm in
                    guard let algorithm else { return nil }
                    return try DecryptionKey(jwk: JWK(#require(jwk.object)), algorithm: algorithm)
                }
            }
            let output = try #require(vector["output"]?.object)
            compact = output["compact"]?.string
            json = ["json", "json_flat"].compactMap { output[$0]?.object }
            additionalData = input["aad"]?.string
        }
    }

    private static func path(_ prefix: String) -> String {
        if prefix == "ecdh-es" { return "rfc7520/curve25519/ecdh-es.json" }
        return ExternalVector.paths(in: "rfc7520/jwe").first { $0.contains("/\(prefix)") } ?? prefix
    }

    private static let accepted = ["5_2.", "5_3.", "5_4.", "5_5.", "5_6.", "5_7.", "5_8.", "5_10.", "5_13.", "ecdh-es"]

    @Test("Every form of an example decrypts", .shows("RFC 7520 §5, §6"), arguments: accepted)
    func decrypts(section: String) throws {
        let example = try Example(Self.path(section))
        for (index, key) in example.keys.enumerated() {
            let decrypter = JWEDecrypter(key: key, policy: JWEFixture.anyPolicy)
            if let compact = example.compact {
                let content = try decrypter.decrypt(compact: compact).plaintext
                #expect(String(decoding: content, as: UTF8.self) == example.plaintext)
            }
            for json in example.json {
                let jwe = try decrypter.decrypt(json: json)
                #expect(String(decoding: jwe.plaintext, as: UTF8.self) == example.plaintext)
                // The first recipient of 5.13 uses RSA1_5.
                #expect(jwe.recipientIndex == (section == "5_13." ? index + 1 : 0))
                #expect(jwe.additionalData.map { String(decoding: $0, as: UTF8.self) } == example.additionalData)
            }
        }
        #expect(example.keys.count == (section == "5_13." ? 2 : 1))
    }

    @Test("RSA1_5 of 5.1 and compression of 5.9 are rejected", .shows("RFC 7516 §4.1.3", "RFC 7520 §5, §6"))
    func refusals() throws {
        let compressed = try Example(Self.path("5_9."))
        let decrypter = JWEDecrypter(keys: compressed.keys, policy: JWEFixture.anyPolicy)
        #expect(code { try decrypter.decrypt(compact: compressed.compact ?? "") } == .compressionRejected)
        for json in compressed.json { #expect(code { try decrypter.decrypt(json: json) } == .compressionRejected) }
        let old = try Example(Self.path("5_1."))
        #expect(code { try decrypter.decrypt(compact: old.compact ?? "") } == .unsupportedAlgorithm)
    }

    @Test(
        "Unprotected algorithms of 5.11 and 5.12 need a setting",
        .shows("E11", "RFC 7520 §5, §6"),
        arguments: ["5_11.", "5_12."]
    )
    func unprotected(section: String) throws {
        let example = try Example(Self.path(section))
        var policy = JWEFixture.anyPolicy
        #expect(example.json.count == 2)
        for json in example.json {
            let decrypter = JWEDecrypter(keys: example.keys, policy: policy)
            #expect(code { try decrypter.decrypt(json: json) } == .unprotectedParameter)
        }
        policy.headerPlacement = .unsafelyUnprotected
        for json in example.json {
            let content = try JWEDecrypter(keys: example.keys, policy: policy).decrypt(json: json).plaintext
            #expect(String(decoding: content, as: UTF8.self) == example.plaintext)
        }
    }

    @Test("The nested token of §6 decrypts and verifies", .shows("RFC 7520 §5, §6")) func nested() throws {
        let vector = try JSONObject(
            parsing: ExternalVector.data("rfc7520/6.nesting_signatures_and_encryption.json")
        )
        let sign = try #require(vector["sign"]?.object)
        let encrypt = try #require(vector["encrypt"]?.object)
        let signingJWK = try JWK(#require(sign["input"]?.object?["key"]?.object))
        let decryptionJWK = try JWK(#require(encrypt["input"]?.object?["key"]?.object))
        let token = try #require(encrypt["output"]?.object?["compact"]?.string)
        let decrypter = try JWEDecrypter(
            key: DecryptionKey(jwk: decryptionJWK, algorithm: .rsaOAEP),
            policy: DecryptionPolicy(algorithms: [.rsaOAEP], encryptions: [.a128GCM])
        )
        var policy = ValidationPolicy(issuer: "hobbiton.example")
        policy.currentDate = { Date(timeIntervalSince1970: 1_300_819_379) }
        let verifier = try JWTVerifier(
            key: VerificationKey(jwk: signingJWK.publicPart, algorithm: .ps256),
            policy: policy
        )
        let claims = try verifier.verify(encrypted: token, with: decrypter).claims
        #expect(claims["iss"]?.string == "hobbiton.example")
    }
}
