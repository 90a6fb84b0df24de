import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Key formats", .computing)
struct KeyFormatTests {
    private static let pairs = JWSAlgorithm.implemented.filter { !$0.isSymmetric }

    @Test("Each written format is read as the same key", .shows("J11"), arguments: pairs)
    func roundTrips(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let jwk = try key.privateJWK()
        var copies = [
            try SigningKey(jwk: jwk), try SigningKey(jwk: JWK(parsing: jwk.members.serialized())),
            try SigningKey(pem: key.pem(), algorithm: algorithm), try SigningKey(der: key.der(), algorithm: algorithm),
        ]
        if jwk.keyType != "OKP", jwk.keyType != "AKP" {
            copies.append(try SigningKey(pem: key.pem(.traditional), algorithm: algorithm))
            copies.append(try SigningKey(der: key.der(.traditional), algorithm: algorithm))
        }
        for copy in copies {
            #expect(copy.algorithm == algorithm)
            #expect(try copy.privateJWK() == jwk)
            #expect(copy.verificationKey.jwk == key.verificationKey.jwk)
        }
        let publicKey = key.verificationKey
        var publicCopies = [
            try VerificationKey(jwk: publicKey.jwk), try VerificationKey(pem: publicKey.pem(), algorithm: algorithm),
            try VerificationKey(der: publicKey.der(), algorithm: algorithm), try VerificationKey(jwk: jwk),
        ]
        if jwk.keyType == "RSA" {
            publicCopies.append(try VerificationKey(pem: publicKey.pem(.traditional), algorithm: algorithm))
            publicCopies.append(try VerificationKey(der: publicKey.der(.traditional), algorithm: algorithm))
        }
        for copy in publicCopies {
            #expect(copy.algorithm == algorithm)
            #expect(copy.jwk == publicKey.jwk)
            #expect(copy.thumbprint == publicKey.thumbprint)
        }
    }

    @Test("An encrypted key requires its password, in PEM and DER", .shows("J12"), arguments: [JWSAlgorithm.ed25519])
    func encrypted(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let format = PrivateKeyFormat.encryptedPKCS8(password: "correct horse")
        let pem = try key.pem(format)
        #expect(pem.hasPrefix("-----BEGIN ENCRYPTED PRIVATE KEY-----\n"))
        let fromPEM = try SigningKey(pem: pem, password: "correct horse", algorithm: algorithm)
        #expect(try fromPEM.privateJWK() == key.privateJWK())
        #expect(code { try SigningKey(pem: pem, password: "wrong", algorithm: algorithm) } == .incorrectPassword)
        #expect(code { try SigningKey(pem: pem, algorithm: algorithm) } == .passwordRequired)
        let der = try key.der(format)
        let fromDER = try SigningKey(der: der, password: "correct horse", algorithm: algorithm)
        #expect(try fromDER.privateJWK() == key.privateJWK())
        #expect(code { try SigningKey(der: der, algorithm: algorithm) } == .passwordRequired)
        #expect(code { try VerificationKey(pem: pem) } == .publicKeyRequired)
        #expect(code { try VerificationKey(der: der) } == .publicKeyRequired)
        #expect(code { try key.pem(.encryptedPKCS8(password: "")) } == .passwordRequired)
        #expect(code { try key.der(.encryptedPKCS8(password: "")) } == .passwordRequired)
    }

    @Test("Rejects a format that the key type doesn't have, and the wrong half of a pair")
    func impossible() throws {
        let edwards = try Fixture.key(for: .ed25519)
        #expect(code { try edwards.pem(.traditional) } == .unsupportedKey)
        #expect(code { try edwards.der(.traditional) } == .unsupportedKey)
        let secret = try Fixture.key(for: .hs256)
        #expect(code { try secret.der() } == .unsupportedKey)
        #expect(code { try secret.verificationKey.der() } == .unsupportedKey)
        let ec = try Fixture.key(for: .es256)
        #expect(code { try ec.verificationKey.pem(.traditional) } == .unsupportedKey)
        #expect(code { try ec.verificationKey.der(.traditional) } == .unsupportedKey)
        #expect(code { try SigningKey(der: ec.verificationKey.der()) } == .privateKeyRequired)
        #expect(code { try VerificationKey(der: ec.der()) } == .publicKeyRequired)
        for octets: [UInt8] in [[], [0x30], [0x30, 0x00], [0x30, 0x03, 0x02, 0x01, 0x00], Array("text".utf8)] {
            #expect(code { try SigningKey(der: octets) } == .malformedKey)
            #expect(code { try VerificationKey(der: octets) } == .malformedKey)
        }
    }

    @Test(
        "Rejects text that isn't a PEM key",
        arguments: [
            "", "garbage", "-----BEGIN PUBLIC KEY-----", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\n!!!!\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
            "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\n-----END PUBLIC KEY-----\n",
        ]
    )
    func malformedPEM(pem: String) {
        #expect(code { try VerificationKey(pem: pem) } == .malformedKey)
        let asPrivate = pem.replacing("PUBLIC", with: "PRIVATE")
        #expect(code { try SigningKey(pem: asPrivate) } == .malformedKey)
    }

    @Test("Rejects PEM without an algorithm for an RSA key, and algorithms other than the key's")
    func otherKinds() throws {
        let rsa = try Fixture.key(for: .rs256)
        #expect(code { try VerificationKey(pem: rsa.verificationKey.pem()) } == .algorithmRequired)
        let p384 = try Fixture.key(for: .es384).verificationKey.pem()
        #expect(try VerificationKey(pem: p384).algorithm == .es384)
        #expect(code { try VerificationKey(pem: p384, algorithm: .es256) } == .algorithmMismatch)
        let p256 = try Fixture.signingKey().pem()
        #expect(try SigningKey(pem: p256, algorithm: .es256).algorithm == .es256)
        #expect(code { try SigningKey(pem: p256, algorithm: .rs256) } == .algorithmMismatch)
    }
}
