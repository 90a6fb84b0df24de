import Foundation
import TestSupport
import Testing
import TokenGeneration

/// The attacks on the headers of encrypted tokens in Docs/Attacks.md.
@Suite("Attacks on the headers of encrypted tokens", .computing)
struct JWEHeaderAttackTests {
    @Test(
        "A token for another algorithm never reaches the key",
        .shows("E7", "E12", "RFC 7516 §4.1.1, §4.1.2", "RFC 8725bis §3.1 (key ID)")
    ) func confusion() throws {
        let key = try JWEFixture.key(.rsaOAEP256)
        let token = try key.encryptionKey.encrypt(Data())
        for name in ["RSA-OAEP", "RSA-OAEP-384", "A128KW", "dir", "ECDH-ES"] {
            #expect(JWEFixture.refusal(token, changing: ["alg": .string(name)], key) == .algorithmMismatch)
        }
        for name in ["RSA1_5", "none", "RS256", "rsa-oaep-256", "RSA-OAEP-256 ", ""] {
            #expect(JWEFixture.refusal(token, changing: ["alg": .string(name)], key) == .unsupportedAlgorithm)
        }
        for name in ["none", "a256gcm", "C20P", "A256CBC", ""] {
            #expect(JWEFixture.refusal(token, changing: ["enc": .string(name)], key) == .unsupportedAlgorithm)
        }
        // The content key has the same size, so only the tag detects it.
        let changed = try JWEFixture.changingHeader(token, ["enc": "A128CBC-HS256"])
        #expect([.decryptionFailed, .malformedToken].contains(code { try JWEFixture.open(changed, key) }))
    }

    @Test(
        "The policy's lists apply before any key is used",
        .shows("RFC 7516 §4.1.1, §4.1.2", "RFC 8725bis §3.1 (restriction)")
    ) func lists() throws {
        let key = try DecryptionKey.generate(.a256KW)
        let token = try key.encryptionKey.encrypt(Data(), encryption: .a128GCM)
        let policies = [
            DecryptionPolicy(algorithms: [.a128KW], encryptions: [.a128GCM]),
            DecryptionPolicy(algorithms: [.a256KW], encryptions: [.a256GCM]),
            DecryptionPolicy(algorithms: [], encryptions: []),
        ]
        for policy in policies {
            #expect(code { try JWEDecrypter(key: key, policy: policy).decrypt(compact: token) } == .algorithmMismatch)
        }
    }

    @Test(
        "crit and b64 follow the rules",
        .shows("RFC 7516 §4.1.13"),
        arguments: [
            (#""crit":["exp"],"exp":1"#, .criticalHeaderUnsupported), (#""crit":[]"#, .malformedToken),
            (#""crit":["exp"]"#, .malformedToken), (#""crit":["enc"]"#, .malformedToken),
            (#""crit":["zip"],"zip":"DEF""#, .malformedToken), (#""crit":["epk"],"epk":{}"#, .malformedToken),
            (#""crit":["kid"],"kid":"1""#, .malformedToken), (#""b64":false"#, .malformedToken),
            (#""crit":["b64"],"b64":false"#, .criticalHeaderUnsupported), (#""kid":1"#, .malformedToken),
            (#""typ":1"#, .malformedToken), (#""cty":{}"#, .malformedToken), (#""alg":"A128KW""#, .malformedToken),
        ] as [(String, TokenError.Code)]
    )
    func critical(members: String, expected: TokenError.Code) throws {
        let made = try JWEFixture.made(header: #"{"alg":"A128KW","enc":"A128GCM",\#(members)}"#)
        #expect(code { try JWEFixture.open(made, JWEFixture.secretKey()) } == expected)
    }

    @Test("Extensions are accepted if the policy understands them", .shows("RFC 7516 §4.1.13")) func extensions() throws
    {
        let made = try JWEFixture.made(header: #"{"alg":"A128KW","enc":"A128GCM","crit":["exp"],"exp":1}"#)
        var policy = JWEFixture.anyPolicy
        policy.understoodExtensions = ["exp"]
        let jwe = try JWEDecrypter(key: JWEFixture.secretKey(), policy: policy).decrypt(compact: made)
        #expect(jwe.header["exp"] == 1)
        policy.understoodExtensions = ["b64"]
        let b64 = try JWEFixture.made(header: #"{"alg":"A128KW","enc":"A128GCM","crit":["b64"],"b64":false}"#)
        #expect(
            code { try JWEDecrypter(key: JWEFixture.secretKey(), policy: policy).decrypt(compact: b64) }
                == .criticalHeaderUnsupported
        )
    }

    @Test("Keys and URLs in the header are ignored", .shows("RFC 7516 §4.1.4–4.1.10")) func embeddedKeys() throws {
        let header = #"{"alg":"A128KW","enc":"A128GCM","jwk":{"kty":"oct","k":"AA"},"jku":"https://x","x5c":["AA"]}"#
        #expect(try JWEFixture.open(JWEFixture.made(header: header), JWEFixture.secretKey()) == JWEFixture.plaintext)
    }

    @Test(
        "Signed and encrypted tokens aren't confused",
        .shows("RFC 7516 §9"),
        arguments: ["", "a.b.c", "a.b.c.d", "a.b.c.d.e.f", "{}", "...."]
    )
    func segments(text: String) throws {
        #expect(code { try JWEFixture.open(text, JWEFixture.secretKey()) } == .malformedToken)
    }

    @Test(
        "A token that an attacker encrypts with a verifier's public key isn't a signed one",
        .shows("E18", "RFC 8725bis §3.3 (kinds)")
    ) func publicKey() throws {
        let signing = try SigningKey.generate(.es256)
        // The attacker uses the published key for another purpose.
        var members = signing.verificationKey.jwk.members
        members["alg"] = nil
        let key = try EncryptionKey(jwk: JWK(members), algorithm: .ecdhES)
        let token = try key.encrypt(RegisteredClaims(issuer: "me", expiration: .distantFuture))
        let verifier = JWTVerifier(key: signing.verificationKey, policy: ValidationPolicy(issuer: "me"))
        #expect(code { try verifier.verify(token) } == .malformedToken)
        #expect(error { try verifier.verify(token) }?.message.contains("JWE") == true)
    }
}
