import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("Secrets of HMAC algorithms", .computing)
struct SharedSecretTests {
    private static let minimum: [JWSAlgorithm: Int] = [.hs256: 32, .hs384: 48, .hs512: 64]

    @Test(
        "A secret is at least as long as the hash",
        .shows("C8", "RFC 7518 §3.2", "RFC 8725bis §3.5"),
        arguments: [JWSAlgorithm.hs256, .hs384, .hs512]
    )
    func length(algorithm: JWSAlgorithm) throws {
        let size = try #require(Self.minimum[algorithm])
        let secret = (0..<UInt8(size)).map { $0 &+ 0x60 }
        let key = try SigningKey(secret: secret, algorithm: algorithm)
        #expect(key.algorithm == algorithm)
        let short = try #require(error { try SigningKey(secret: secret.dropLast(), algorithm: algorithm) })
        #expect(short.code == .weakKey)
        #expect(short.message.contains("\(size - 1) bytes"))
        #expect(code { try VerificationKey(secret: secret.dropLast(), algorithm: algorithm) } == .weakKey)
        let jwk = try JWK([
            "kty": "oct", "alg": .string(algorithm.rawValue), "k": .string(Base64URL.encode(Array(secret.dropLast()))),
        ])
        #expect(code { try SigningKey(jwk: jwk) } == .weakKey)
        #expect(code { try VerificationKey(jwk: jwk) } == .weakKey)
    }

    @Test(
        "Accepts a short secret only through the unsafe initializer, and never an empty or blank one",
        .shows("C8", "RFC 8725bis §3.5")
    )
    func unsafeShort() throws {
        let key = try SigningKey(unsafeShortSecret: "secret".utf8, algorithm: .hs256)
        let token = try Fixture.token(header: #"{"alg":"HS256"}"#, payload: #"{"exp":4000000000}"#, key: key)
        let verifier = JWTVerifier(key: try VerificationKey(unsafeShortSecret: Data("secret".utf8), algorithm: .hs256))
        #expect(code { try verifier.verify(token) } == nil)
        for empty in ["", " ", "\n", " \t\r\n", String(repeating: " ", count: 100)] {
            #expect(code { try SigningKey(unsafeShortSecret: empty.utf8, algorithm: .hs256) } == .weakKey)
            #expect(code { try VerificationKey(unsafeShortSecret: empty.utf8, algorithm: .hs256) } == .weakKey)
            #expect(code { try SigningKey(secret: empty.utf8, algorithm: .hs256) } == .weakKey)
            let jwk = try JWK(["kty": "oct", "alg": "HS256", "k": .string(Base64URL.encode(Array(empty.utf8)))])
            #expect(code { try SigningKey(jwk: jwk) } == .weakKey)
        }
        #expect(code { try SigningKey(secret: [UInt8](repeating: 7, count: 100_000), algorithm: .hs256) } == .tooLarge)
    }

    @Test("Rejects keys in PEM, DER, JWK and SSH form as secrets, with any text before them", .shows("A1", "A2"))
    func keysAsSecrets() throws {
        let key = try SigningKey.generate(.es256)
        let pem = try key.verificationKey.pem()
        let jwk = key.verificationKey.jwk.members.serialized()
        let der = try #require(Data(base64Encoded: pem.split(separator: "\n").dropFirst().dropLast().joined()))
        let privateDER = try #require(
            Data(base64Encoded: key.pem().split(separator: "\n").dropFirst().dropLast().joined())
        )
        let texts = [
            pem, " \n" + pem, "x" + pem, "\u{FEFF}" + pem, try key.pem(),
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "-----BEGIN RSA PUBLIC KEY-----\nMIIB\n",
            jwk, " " + jwk, #"{"keys":[\#(jwk)]}"#, "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ user@host",
            "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC user@host", "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTY=",
        ]
        for octets in texts.map({ Array($0.utf8) }) + [Array(der), Array(privateDER)] {
            for algorithm in [JWSAlgorithm.hs256, .hs384, .hs512] {
                #expect(code { try VerificationKey(unsafeShortSecret: octets, algorithm: algorithm) } == .malformedKey)
                #expect(code { try SigningKey(unsafeShortSecret: octets, algorithm: algorithm) } == .malformedKey)
            }
            #expect(code { try VerificationKey(secret: octets, algorithm: .hs256) } == .malformedKey)
        }
    }

    @Test("Accepts a secret of random bytes")
    func randomSecrets() throws {
        var numbers = Fixture.SeededNumbers(state: 7)
        for size in [32, 46, 64, 91, 121] {
            for _ in 0..<200 {
                var secret = (0..<size).map { _ in UInt8.random(in: 0...255, using: &numbers) }
                secret[0] = 0x30
                secret[1] = UInt8(size - 2)
                secret[2] = 0x31
                #expect(code { try SigningKey(unsafeShortSecret: secret, algorithm: .hs256) } == nil)
            }
        }
    }

    @Test("More than four trailing zeros of a secret don't count, because HMAC pads with them", .shows("K8"))
    func trailingZeros() throws {
        let secret = (1...32).map { UInt8($0) }
        #expect(code { try SigningKey(secret: secret + [0, 0], algorithm: .hs256) } == nil)
        #expect(code { try SigningKey(secret: [0, 0] + secret, algorithm: .hs256) } == nil)
        for count in 1...4 {
            let random = Array(secret.dropLast(count)) + [UInt8](repeating: 0, count: count)
            #expect(code { try SigningKey(secret: random, algorithm: .hs256) } == nil)
        }
        let padded = Array(secret.dropLast(5)) + [0, 0, 0, 0, 0]
        #expect(code { try SigningKey(secret: padded, algorithm: .hs256) } == .weakKey)
        #expect(code { try VerificationKey(secret: padded + [0, 0], algorithm: .hs256) } == .weakKey)
        let jwk = try JWK(["kty": "oct", "alg": "HS256", "k": .string(Base64URL.encode(padded))])
        #expect(code { try SigningKey(jwk: jwk) } == .weakKey)
        #expect(code { try SigningKey(unsafeShortSecret: padded, algorithm: .hs256) } == nil)
        for count in [1, 4, 32, 64, 1_000] {
            let zeros = [UInt8](repeating: 0, count: count)
            #expect(code { try SigningKey(secret: zeros, algorithm: .hs256) } == .weakKey)
            #expect(code { try SigningKey(unsafeShortSecret: zeros, algorithm: .hs256) } == .weakKey)
        }
    }

    @Test("Rejects keys in base64, hexadecimal, UTF-16 and with JSON escapes as secrets", .shows("K7"))
    func encodedKeys() throws {
        let key = try SigningKey.generate(.es256)
        let pem = try key.verificationKey.pem()
        let der = try #require(Data(base64Encoded: pem.split(separator: "\n").dropFirst().dropLast().joined()))
        let hex = der.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        let ssh = "AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29tAAAAIEVMU1phaG92fYSLkpmgp661vMPK0djf5u30+wIJEBceAAAABHNzaDo="
        let texts = [
            der.base64EncodedString(), der.base64EncodedString(options: .lineLength64Characters) + "\n",
            Base64URL.encode(Array(der)), Base64URL.encode(Array(der)) + "=", Data(pem.utf8).base64EncodedString(),
            hex.joined(), hex.joined().uppercased(), hex.joined(separator: ":"), "0x" + hex.joined(),
            Base64URL.encode(Array(key.verificationKey.jwk.members.serialized().utf8)),
            #"{"\u006bty":"EC","crv":"P-256"}"#, #"{"k\u0074\u0079" : "EC"}"#,
            #"{"keys":[{"\u006B\u0054y":1,"\u006B\u0074y":1}]}"#, #""{\"kty\":\"EC\"}""#,
            "---- BEGIN SSH2 PUBLIC KEY ----\nComment: \"x\"\nAAAAB3NzaC1yc2E=\n---- END SSH2 PUBLIC KEY ----\n",
            "sk-ssh-ed25519@openssh.com \(ssh) user@host", "sk-ecdsa-sha2-nistp256@openssh.com AAAAInNrLWVj user@host",
            ssh, "ssh-dss AAAAB3NzaC1kc3M user@host", "ssh-rsa\tAAAAB3NzaC1yc2E",
        ]
        var secrets = texts.map { Array($0.utf8) }
        for text in [pem, key.verificationKey.jwk.members.serialized(), der.base64EncodedString()] {
            let units = Array(text.utf16)
            let little = units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
            let big = units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
            secrets += [little, big, [0xFF, 0xFE] + little, [0xFE, 0xFF] + big]
        }
        secrets.append(Array(try #require(Data(base64Encoded: ssh))))
        for (index, secret) in secrets.enumerated() {
            let refusals = [
                code { try SigningKey(unsafeShortSecret: secret, algorithm: .hs256) },
                code { try VerificationKey(unsafeShortSecret: secret, algorithm: .hs256) },
            ]
            #expect(refusals == [.malformedKey, .malformedKey], "secret \(index)")
        }
        // Other bytes in the same encodings are accepted as a secret.
        let random = Data((0..<91).map { UInt8(($0 &* 37 &+ 11) & 0xFF) })
        for text in [random.base64EncodedString(), random.map { String($0, radix: 16) }.joined(), #"{"\u006b":"ty"}"#] {
            #expect(code { try SigningKey(unsafeShortSecret: text.utf8, algorithm: .hs256) } == nil)
        }
    }

    @Test(
        "Secrets are for HMAC algorithms only, and HMAC algorithms take only secrets",
        .shows("A2", "RFC 8725bis §3.5")
    )
    func kinds() throws {
        let secret = [UInt8](0..<64)
        for algorithm in JWSAlgorithm.implemented where !algorithm.isSymmetric {
            #expect(code { try SigningKey(secret: secret, algorithm: algorithm) } == .algorithmMismatch)
            #expect(code { try VerificationKey(secret: secret, algorithm: algorithm) } == .algorithmMismatch)
        }
        let pem = try SigningKey.generate(.es256).pem()
        #expect(code { try SigningKey(pem: pem, algorithm: .hs256) } == .algorithmMismatch)
        let unknown = try #require(JWSAlgorithm(rawValue: "X1"))
        #expect(code { try SigningKey(secret: secret, algorithm: unknown) } == .unsupportedAlgorithm)
    }

    @Test("The JWK or the caller must name the algorithm of a symmetric key", .shows("RFC 7518 §6.4"))
    func named() throws {
        let k = JSONValue.string(Base64URL.encode([UInt8](0..<64)))
        let unnamed = try JWK(["kty": "oct", "k": k])
        let refusal = try #require(error { try SigningKey(jwk: unnamed) })
        #expect(refusal.code == .algorithmRequired)
        #expect(refusal.message.contains("HS256, HS384, HS512"))
        #expect(try SigningKey(jwk: unnamed, algorithm: .hs384).algorithm == .hs384)
        let named = try JWK(["kty": "oct", "k": k, "alg": "HS512", "key_ops": ["sign"]])
        #expect(try SigningKey(jwk: named).algorithm == .hs512)
        #expect(try SigningKey(jwk: named, algorithm: .hs512).algorithm == .hs512)
        #expect(code { try SigningKey(jwk: named, algorithm: .hs256) } == .algorithmMismatch)
        #expect(code { try SigningKey(jwk: JWK(["kty": "oct", "alg": "HS256"])) } == .privateKeyRequired)
        #expect(code { try VerificationKey(jwk: JWK(["kty": "oct", "alg": "HS256"])) } == .malformedKey)
        #expect(code { try VerificationKey(jwk: JWK(["kty": "oct", "alg": "ES256", "k": k])) } == .keyMismatch)
    }

    @Test("Published JSON and descriptions contain neither the secret nor its hash", .shows("Y1", "RFC 7518 §6.4"))
    func redaction() throws {
        let text = "correct horse battery staple correct horse"
        let key = try SigningKey(secret: text.utf8, algorithm: .hs256)
        #expect(key.verificationKey.jwk.members == ["kty": "oct", "alg": "HS256"])
        #expect(try key.privateJWK().members["k"] == .string(Base64URL.encode(Array(text.utf8))))
        #expect(try SigningKey(jwk: key.privateJWK()).verificationKey.thumbprint == key.verificationKey.thumbprint)
        let service = key.identified(by: "1")
        var dumped = ""
        for value in [key, key.verificationKey, service, service.verificationKey] as [Any] {
            dump(value, to: &dumped)
            dumped += "\(value) \(String(reflecting: value))"
        }
        #expect(dumped.contains("HS256"))
        for secret in [text, Base64URL.encode(Array(text.utf8)), key.verificationKey.thumbprint] {
            #expect(!dumped.contains(secret))
        }
        #expect(code { try key.pem() } == .unsupportedKey)
        #expect(code { try key.verificationKey.pem() } == .unsupportedKey)
        #expect(JWKSet(keys: [try key.privateJWK()]).serialized() == #"{"keys":[]}"#)
    }

    @Test("Generated secrets are as long as the hash, and differ", .shows("RFC 8725bis §3.5"))
    func generated() throws {
        for (algorithm, size) in Self.minimum {
            let k = try SigningKey.generate(algorithm).privateJWK().members["k"]?.string
            #expect(try Base64URL.decode(#require(k)).count == size)
            #expect(try SigningKey.generate(algorithm).privateJWK().members["k"]?.string != k)
        }
    }

    @Test("A public key doesn't verify a signature whose secret is the key's text", .shows("A1"))
    func confusion() throws {
        let key = try SigningKey.generate(.es256)
        let forged =
            Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8)) + "."
            + Base64URL.encode(Array(#"{"exp":4000000000}"#.utf8))
        let context = try HMAC(
            .sha256,
            key: Array(key.verificationKey.pem().utf8).withBytes { SecretBytes(copying: $0) }
        )
        let code = try Array(forged.utf8).withBytes { try context.authenticationCode(for: $0) }
        let token = forged + "." + Base64URL.encode(code)
        let verifiers = [
            JWTVerifier(key: key.verificationKey),
            JWTVerifier(keys: JWKSet(keys: [key.verificationKey.jwk])),
        ]
        for verifier in verifiers {
            #expect(TokenGenerationTests.code { try verifier.verify(token) } == .algorithmMismatch)
        }
    }
}
