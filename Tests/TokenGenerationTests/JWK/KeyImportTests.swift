import Foundation
import TestSupport
import Testing
import TokenGeneration

private let zero = JSONValue.string(Base64URL.encode([UInt8](repeating: 0, count: 32)))
private let one = JSONValue.string(Base64URL.encode([UInt8](repeating: 0, count: 31) + [1]))
private let ones = JSONValue.string(Base64URL.encode([UInt8](repeating: 255, count: 32)))

@Suite("Key import", .computing)
struct KeyImportTests {
    /// A change to the public JWK of RFC 7515 A.3 that `VerificationKey` must reject.
    struct Refusal: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let changes: [String: JSONValue?]
        let code: TokenError.Code
        let isPrivate, allowsSigning, allowsVerifying: Bool

        /// Creates a refusal; a verification key drops an error in the private part.
        init(
            _ name: String,
            _ changes: [String: JSONValue?],
            _ code: TokenError.Code,
            isPrivate: Bool = false,
            allowsSigning: Bool = false,
            inPrivatePart: Bool = false
        ) {
            (testDescription, self.changes, self.code) = (name, changes, code)
            (self.isPrivate, self.allowsSigning, allowsVerifying) =
                (isPrivate || inPrivatePart, allowsSigning, inPrivatePart)
        }
    }

    @Test(
        "Rejects a JWK with a single error",
        .shows("A10", "Z2", "RFC 7517 §4.1–4.5", "FAPI 2.0 §5.4.1 (3)"),
        arguments: [
            Refusal("unknown kty", ["kty": "XYZ"], .unsupportedKey),
            Refusal("kty of another type", ["kty": "oct", "alg": "HS256"], .malformedKey, isPrivate: true),
            Refusal("kty in lowercase", ["kty": "ec"], .unsupportedKey),
            Refusal("RSA without alg", ["kty": "RSA", "n": "AQAB", "e": "AQAB"], .algorithmRequired),
            Refusal("tiny RSA", ["kty": "RSA", "alg": "RS256", "n": "AQAB", "e": "AQAB"], .weakKey),
            Refusal("no crv", ["crv": nil], .malformedKey),
            Refusal("another crv", ["crv": "P-384"], .malformedKey),
            Refusal("unknown crv", ["crv": "P-257"], .unsupportedKey),
            Refusal("no x", ["x": nil], .malformedKey),
            Refusal("no y", ["y": nil], .malformedKey),
            Refusal("x is a number", ["x": 1], .malformedKey),
            Refusal("x is empty", ["x": ""], .malformedKey),
            Refusal("x one byte short", ["x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVA"], .malformedKey),
            Refusal("x with a zero before", ["x": "AH_NzidwxEXUGDy-5v20t7WAczNXvp7xO6z2489FUUQU"], .malformedKey),
            Refusal("x padded", ["x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU="], .malformedKey),
            Refusal("x not base64url", ["x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVE+"], .malformedKey),
            Refusal("x with unused bits", ["x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEV"], .malformedKey),
            Refusal("x huge", ["x": .string(String(repeating: "A", count: 500_000))], .malformedKey),
            Refusal("point off the curve", ["y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a4"], .malformedKey),
            Refusal("point zero", ["x": zero, "y": zero], .malformedKey),
            Refusal("x not less than the prime", ["x": ones], .malformedKey),
            Refusal("use enc", ["use": "enc"], .keyMismatch),
            Refusal("unknown use", ["use": "SIG"], .keyMismatch),
            Refusal("key_ops without verify", ["key_ops": ["sign"]], .keyMismatch, allowsSigning: true),
            Refusal("key_ops empty", ["key_ops": []], .keyMismatch),
            Refusal("key_ops deriveKey", ["key_ops": ["deriveKey"]], .keyMismatch),
            Refusal("use and key_ops contradict", ["use": "sig", "key_ops": ["verify", "encrypt"]], .keyMismatch),
            Refusal("alg for another curve", ["alg": "ES384"], .keyMismatch),
            Refusal("alg for another key type", ["alg": "HS256"], .keyMismatch),
            Refusal("alg none", ["alg": "none"], .unsupportedAlgorithm),
            Refusal("alg for encryption", ["alg": "ECDH-ES"], .unsupportedAlgorithm),
            Refusal("alg right, crv another", ["alg": "ES256", "crv": "P-384"], .keyMismatch),
            Refusal("alg right, kty another", ["alg": "ES256", "kty": "OKP"], .keyMismatch),
            Refusal("private part of another key", ["d": one], .keyMismatch, inPrivatePart: true),
            Refusal("private part zero", ["d": zero], .malformedKey, inPrivatePart: true),
            Refusal("private part too large", ["d": ones], .malformedKey, inPrivatePart: true),
            Refusal("private part short", ["d": "AQ"], .malformedKey, inPrivatePart: true),
            Refusal("private part not a string", ["d": nil, "k": "AQ"], .malformedKey, inPrivatePart: true),
        ]
    )
    func refusals(refusal: Refusal) throws {
        let jwk = try Fixture.jwk(refusal.changes, isPrivate: refusal.isPrivate)
        #expect(code { try VerificationKey(jwk: jwk) } == (refusal.allowsVerifying ? nil : refusal.code))
        guard !refusal.allowsSigning else { return }
        #expect(code { try SigningKey(jwk: Fixture.jwk(refusal.changes, isPrivate: true)) } == refusal.code)
    }

    @Test("Accepts a consistent JWK")
    func accepted() throws {
        for changes: [String: JSONValue?] in [
            [:], ["use": "sig"], ["alg": "ES256"], ["key_ops": ["verify"]],
            ["use": "sig", "key_ops": ["sign", "verify"]],
            ["key_ops": ["verify", "deriveKey"]], ["kid": "a", "vendor": true],
        ] {
            let key = try VerificationKey(jwk: Fixture.jwk(changes))
            #expect(key.algorithm == .es256)
            #expect(key.jwk.members["alg"] == "ES256")
            #expect(key.keyID == (changes["kid"] as? JSONValue)?.string)
        }
        let key = try VerificationKey(jwk: Fixture.jwk(["vendor": true, "kid": "a"]))
        #expect(key.jwk.members["vendor"] == true)
    }

    @Test("A private JWK for signing gives a public JWK for verifying", .shows("J15", "RFC 7517 §4.1–4.5"))
    func privateOperations() throws {
        let jwk = try Fixture.jwk(["key_ops": ["sign"], "kid": "a"], isPrivate: true)
        let key = try SigningKey(jwk: jwk)
        #expect(key.keyID == "a")
        #expect(try VerificationKey(jwk: jwk).jwk.keyOperations == ["verify"])
        #expect(key.verificationKey.jwk.isPrivate == false)
        #expect(try key.privateJWK().keyOperations == ["sign"])
        #expect(try key.privateJWK().members["d"] == jwk.members["d"])
        let verifyOnly = try Fixture.jwk(["key_ops": ["verify"]], isPrivate: true)
        #expect(code { try SigningKey(jwk: verifyOnly) } == .keyMismatch)
    }

    @Test("The error names a public key where a private one is needed, and the reverse")
    func halves() throws {
        let key = try Fixture.signingKey()
        let noPrivate = try #require(error { try SigningKey(jwk: Fixture.jwk()) })
        #expect(noPrivate.code == .privateKeyRequired)
        #expect(code { try SigningKey(pem: key.verificationKey.pem()) } == .privateKeyRequired)
        let noPublic = try #require(error { try VerificationKey(pem: key.pem()) })
        #expect(noPublic.code == .publicKeyRequired)
        #expect(noPublic.message.contains("verificationKey"))
        #expect(code { try VerificationKey(pem: "-----BEGIN RSA PRIVATE KEY-----") } == .publicKeyRequired)
    }

    @Test("Keys round-trip through PEM and JWK, with the leading zeros of their numbers", .shows("J13", "Q4"))
    func roundTrips() throws {
        for _ in 0..<20 {
            let key = try SigningKey.generate(.es256)
            let jwk = try key.privateJWK()
            for name in ["x", "y", "d"] { #expect(jwk.members[name]?.string?.utf8.count == 43) }
            let copies = [
                try SigningKey(pem: key.pem()), try SigningKey(jwk: jwk),
                try SigningKey(jwk: JWK(parsing: jwk.members.serialized())),
            ]
            for copy in copies {
                #expect(copy.algorithm == .es256)
                #expect(try copy.privateJWK() == jwk)
                #expect(try copy.pem() == key.pem())
                #expect(try copy.verificationKey.pem() == key.verificationKey.pem())
            }
            #expect(try VerificationKey(pem: key.verificationKey.pem()).jwk == key.verificationKey.jwk)
            #expect(try VerificationKey(jwk: key.verificationKey.jwk).jwk == key.verificationKey.jwk)
        }
    }

    @Test(
        "Accepts numbers with a leading zero byte at their full length only",
        .shows("RFC 7518 §6.2"),
        arguments: [
            (
                "x", "AFVDiUrz0A7X10Cr29dclrBod7eH219w7qeLkKjXwAo", "u0yFo9jqKe-q-iRAaRLdhNWxTcMr9lbvbGvVil2UP5I",
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAXs"
            ),
            (
                "y", "mGriUG8f8QTQQjCGHY9LSY9LxMbQCbMPdUTcEpuC0o0", "ADzMwKZGDgrjKKTZfTx7YdhvxiicGJ8lJREMRBuwfpc",
                "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAACs"
            ),
        ]
    )
    func leadingZero(name: String, x: String, y: String, d: String) throws {
        var jwk = try JWK(["kty": "EC", "crv": "P-256", "x": .string(x), "y": .string(y), "d": .string(d)])
        let key = try SigningKey(jwk: jwk)
        #expect(try key.privateJWK().members["d"] == jwk.members["d"])
        #expect(try SigningKey(pem: key.pem()).verificationKey.jwk.members[name] == jwk.members[name])
        let token = try Fixture.token(key: key)
        #expect(code { try JWTVerifier(key: key.verificationKey).verify(token) } == .expired)
        for shortened in ["d", name] {
            let octets = try Base64URL.decode(#require(jwk.members[shortened]?.string))
            jwk.members[shortened] = .string(Base64URL.encode(Array(octets.drop { $0 == 0 })))
            #expect(code { try SigningKey(jwk: jwk) } == .malformedKey)
        }
        #expect(code { try VerificationKey(jwk: jwk.publicPart) } == .malformedKey)
    }
}
