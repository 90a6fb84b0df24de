import Foundation
import Testing
import TokenGeneration

private let zero = JSONValue.string(Base64URL.encode([UInt8](repeating: 0, count: 32)))
private let one = JSONValue.string(Base64URL.encode([UInt8](repeating: 0, count: 31) + [1]))
private let ones = JSONValue.string(Base64URL.encode([UInt8](repeating: 255, count: 32)))

@Suite("Key import", .serialized)
struct KeyImportTests {
    /// A change to the public JWK of RFC 7515 A.3 that `VerificationKey` must reject.
    struct Refusal: CustomTestStringConvertible, Sendable {
        let name: String
        let changes: [String: JSONValue?]
        let code: TokenError.Code
        var isPrivate = false
        var allowsSigning = false
        /// A Boolean value that indicates whether the error is in a private member, which a
        /// verification key drops.
        var allowsVerifying = false

        var testDescription: String { name }
    }

    @Test(
        "Rejects a JWK with a single error",
        arguments: [
            Refusal(name: "unknown kty", changes: ["kty": "XYZ"], code: .unsupportedKey),
            Refusal(
                name: "kty of another type",
                changes: ["kty": "oct", "alg": "HS256"],
                code: .malformedKey,
                isPrivate: true
            ),
            Refusal(name: "kty in lowercase", changes: ["kty": "ec"], code: .unsupportedKey),
            Refusal(
                name: "RSA without alg",
                changes: ["kty": "RSA", "n": "AQAB", "e": "AQAB"],
                code: .algorithmRequired
            ),
            Refusal(
                name: "tiny RSA",
                changes: ["kty": "RSA", "alg": "RS256", "n": "AQAB", "e": "AQAB"],
                code: .weakKey
            ),
            Refusal(name: "no crv", changes: ["crv": nil], code: .malformedKey),
            Refusal(name: "another crv", changes: ["crv": "P-384"], code: .malformedKey),
            Refusal(name: "unknown crv", changes: ["crv": "P-257"], code: .unsupportedKey),
            Refusal(name: "no x", changes: ["x": nil], code: .malformedKey),
            Refusal(name: "no y", changes: ["y": nil], code: .malformedKey),
            Refusal(name: "x is a number", changes: ["x": 1], code: .malformedKey),
            Refusal(name: "x is empty", changes: ["x": ""], code: .malformedKey),
            Refusal(
                name: "x one byte short",
                changes: ["x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVA"],
                code: .malformedKey
            ),
            Refusal(
                name: "x with a zero before",
                changes: ["x": "AH_NzidwxEXUGDy-5v20t7WAczNXvp7xO6z2489FUUQU"],
                code: .malformedKey
            ),
            Refusal(
                name: "x padded",
                changes: ["x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU="],
                code: .malformedKey
            ),
            Refusal(
                name: "x not base64url",
                changes: ["x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVE+"],
                code: .malformedKey
            ),
            Refusal(
                name: "x with unused bits",
                changes: ["x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEV"],
                code: .malformedKey
            ),
            Refusal(
                name: "x huge",
                changes: ["x": .string(String(repeating: "A", count: 500_000))],
                code: .malformedKey
            ),
            Refusal(
                name: "point off the curve",
                changes: ["y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a4"],
                code: .malformedKey
            ),
            Refusal(name: "point zero", changes: ["x": zero, "y": zero], code: .malformedKey),
            Refusal(name: "x not less than the prime", changes: ["x": ones], code: .malformedKey),
            Refusal(name: "use enc", changes: ["use": "enc"], code: .keyMismatch),
            Refusal(name: "unknown use", changes: ["use": "SIG"], code: .keyMismatch),
            Refusal(
                name: "key_ops without verify",
                changes: ["key_ops": ["sign"]],
                code: .keyMismatch,
                allowsSigning: true
            ),
            Refusal(name: "key_ops empty", changes: ["key_ops": []], code: .keyMismatch),
            Refusal(name: "key_ops deriveKey", changes: ["key_ops": ["deriveKey"]], code: .keyMismatch),
            Refusal(
                name: "use and key_ops contradict",
                changes: ["use": "sig", "key_ops": ["verify", "encrypt"]],
                code: .keyMismatch
            ),
            Refusal(name: "alg for another curve", changes: ["alg": "ES384"], code: .keyMismatch),
            Refusal(name: "alg for another key type", changes: ["alg": "HS256"], code: .keyMismatch),
            Refusal(name: "alg none", changes: ["alg": "none"], code: .unsupportedAlgorithm),
            Refusal(name: "alg for encryption", changes: ["alg": "ECDH-ES"], code: .unsupportedAlgorithm),
            Refusal(name: "alg right, crv another", changes: ["alg": "ES256", "crv": "P-384"], code: .keyMismatch),
            Refusal(name: "alg right, kty another", changes: ["alg": "ES256", "kty": "OKP"], code: .keyMismatch),
            Refusal(
                name: "private part of another key",
                changes: ["d": one],
                code: .keyMismatch,
                isPrivate: true,
                allowsVerifying: true
            ),
            Refusal(
                name: "private part zero",
                changes: ["d": zero],
                code: .malformedKey,
                isPrivate: true,
                allowsVerifying: true
            ),
            Refusal(
                name: "private part too large",
                changes: ["d": ones],
                code: .malformedKey,
                isPrivate: true,
                allowsVerifying: true
            ),
            Refusal(
                name: "private part short",
                changes: ["d": "AQ"],
                code: .malformedKey,
                isPrivate: true,
                allowsVerifying: true
            ),
            Refusal(
                name: "private part not a string",
                changes: ["d": nil, "k": "AQ"],
                code: .malformedKey,
                isPrivate: true,
                allowsVerifying: true
            ),
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

    @Test("A private JWK for signing gives a public JWK for verifying")
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

    @Test("Keys round-trip through PEM and JWK, with the leading zeros of their numbers")
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

    @Test("An ES256 service uses the key's ID unless it's given another one")
    func serviceKeyID() throws {
        let key = try SigningKey(jwk: Fixture.jwk(["kid": "from-jwk"], isPrivate: true))
        #expect(try ES256SigningService(key: key).keyID == "from-jwk")
        #expect(try ES256SigningService(key: key, keyID: "given").keyID == "given")
        #expect(try ES256SigningService.generate().keyID == nil)
        let published = try ES256SigningService(key: key, keyID: "given").verificationKey
        #expect(published.jwk.keyID == "given")
        #expect(published.keyID == "given")
        #expect(try ES256SigningService(key: key).verificationKey.thumbprint == key.verificationKey.thumbprint)
    }
}
