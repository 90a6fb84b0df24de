import Foundation
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("RSA keys", .computing)
struct RSAKeyTests {
    /// The private JWK of RFC 7515 A.2.
    private static func jwk(_ changes: [String: JSONValue?] = [:]) throws -> JWK {
        var members = try Fixture.jwk(vector: "rfc7515-a2-rs256").members
        members["alg"] = "RS256"
        for (name, value) in changes { members[name] = value }
        return try JWK(members)
    }

    private static func number(_ name: String, prefix: [UInt8] = [], dropping count: Int = 0) throws -> JSONValue {
        let octets = try Base64URL.decode(#require(jwk().members[name]?.string))
        return .string(Base64URL.encode(prefix + octets.dropFirst(count)))
    }

    @Test("The JWK or the caller must name an RSA algorithm")
    func named() throws {
        let unnamed = try Self.jwk(["alg": nil])
        for key in [unnamed, unnamed.publicPart] {
            #expect(code { try VerificationKey(jwk: key) } == .algorithmRequired)
        }
        #expect(code { try SigningKey(jwk: unnamed) } == .algorithmRequired)
        for algorithm in [JWSAlgorithm.rs256, .rs384, .rs512, .ps256, .ps384, .ps512] {
            #expect(try SigningKey(jwk: unnamed, algorithm: algorithm).algorithm == algorithm)
            let pem = try SigningKey(jwk: unnamed, algorithm: algorithm).pem()
            #expect(code { try SigningKey(pem: pem) } == .algorithmRequired)
            #expect(try SigningKey(pem: pem, algorithm: algorithm).verificationKey.jwk.algorithm == algorithm.rawValue)
        }
        for algorithm in [JWSAlgorithm.es256, .hs256, .edDSA] {
            #expect(code { try SigningKey(jwk: unnamed, algorithm: algorithm) } == .algorithmMismatch)
        }
        #expect(code { try SigningKey(jwk: Self.jwk(), algorithm: .ps256) } == .algorithmMismatch)
        #expect(code { try SigningKey(jwk: Self.jwk(["alg": "RSA-OAEP"])) } == .unsupportedAlgorithm)
        #expect(code { try SigningKey(jwk: Self.jwk(["alg": "ES256"])) } == .keyMismatch)
    }

    @Test("A key with only n, e and d recovers its primes", .shows("RFC 7518 §6.3"))
    func withoutPrimes() throws {
        let whole = try SigningKey(jwk: Self.jwk())
        let bare = try SigningKey(jwk: Self.jwk(["p": nil, "q": nil, "dp": nil, "dq": nil, "qi": nil]))
        #expect(try bare.privateJWK() == whole.privateJWK())
        let message = Array("message".utf8)
        #expect(try bare.signature(for: message) == whole.signature(for: message))
    }

    @Test("Numbers are written without leading zeros, and one leading zero is accepted")
    func leadingZeros() throws {
        let plain = try VerificationKey(jwk: Self.jwk().publicPart)
        let padded = try VerificationKey(jwk: Self.jwk(["n": Self.number("n", prefix: [0])]).publicPart)
        #expect(padded.jwk.members["n"] == plain.jwk.members["n"])
        #expect(padded.thumbprint == plain.thumbprint)
        let twice = try Self.jwk(["n": Self.number("n", prefix: [0, 0])]).publicPart
        #expect(code { try VerificationKey(jwk: twice) } == .malformedKey)
    }

    @Test("Rejects weak, huge and malformed numbers before computing with them", .shows("C9", "C10"))
    func refusedNumbers() throws {
        let cases: [(String, JSONValue?, TokenError.Code)] = [
            ("n", nil, .malformedKey), ("n", "", .malformedKey), ("n", "AA", .malformedKey), ("n", "!", .malformedKey),
            ("n", try Self.number("n", dropping: 1), .weakKey),
            ("n", .string(Base64URL.encode([UInt8](repeating: 0xFF, count: 128))), .weakKey),
            ("n", .string(Base64URL.encode([UInt8](repeating: 0xFF, count: 1025))), .tooLarge),
            ("n", .string(String(repeating: "A", count: 400_000)), .tooLarge),
            ("e", nil, .malformedKey), ("e", "", .malformedKey), ("e", "AQ", .weakKey), ("e", "Ag", .malformedKey),
            ("e", .string(Base64URL.encode([1] + [UInt8](repeating: 1, count: 8))), .tooLarge),
            ("e", .string(String(repeating: "A", count: 400_000)), .tooLarge), ("e", 65_537, .malformedKey),
        ]
        for (name, value, expected) in cases {
            let jwk = try Self.jwk([name: value]).publicPart
            #expect(code { try VerificationKey(jwk: jwk) } == expected, "\(name)")
        }
    }

    @Test("Rejects private numbers that are inconsistent or incomplete", .shows("RFC 7518 §6.3"))
    func refusedPrivateNumbers() throws {
        for name in ["p", "q", "dp", "dq", "qi"] {
            #expect(code { try SigningKey(jwk: Self.jwk([name: nil])) } == .malformedKey)
            #expect(code { try SigningKey(jwk: Self.jwk([name: "AQAB"])) } == .keyMismatch)
        }
        #expect(code { try SigningKey(jwk: Self.jwk(["d": "AQAB"])) } == .keyMismatch)
        #expect(code { try SigningKey(jwk: Self.jwk(["d": ""])) } == .malformedKey)
        #expect(code { try SigningKey(jwk: Self.jwk(["oth": []])) } == .unsupportedKey)
        let other = try SigningKey.generate(.rs256).verificationKey.jwk.members["n"]
        #expect(code { try SigningKey(jwk: Self.jwk(["n": other])) } == .keyMismatch)
    }

    @Test("A verification key drops private members without reading them", .shows("K1"))
    func droppedPrivateMembers() throws {
        let expected = try VerificationKey(jwk: Self.jwk().publicPart)
        for changes: [String: JSONValue?] in [
            ["d": "AQAB"], ["d": "!"], ["d": 5], ["p": nil], ["p": "AQAB"], ["oth": []],
            ["p": nil, "q": nil, "dp": nil, "dq": nil, "qi": nil, "d": Self.hugeNumber],
            ["p": Self.hugeNumber, "q": Self.hugeNumber, "dp": Self.hugeNumber],
        ] {
            let jwk = try Self.jwk(changes)
            #expect(try VerificationKey(jwk: jwk).jwk == expected.jwk)
            #expect(code { try SigningKey(jwk: jwk) } != nil)
        }
        let edwards = try SigningKey.generate(.ed25519).privateJWK()
        var members = edwards.members
        members["d"] = "AA"
        #expect(try VerificationKey(jwk: JWK(members)).jwk == VerificationKey(jwk: edwards).jwk)
    }

    private static let hugeNumber = JSONValue.string(String(repeating: "_", count: 400_000))

    @Test("Generated keys have the requested size")
    func generated() throws {
        let key = try SigningKey.generate(.ps256, rsaKeySize: 3072)
        #expect(try Base64URL.decode(#require(key.verificationKey.jwk.members["n"]?.string)).count == 384)
        #expect(code { try SigningKey.generate(.rs256, rsaKeySize: 1024) } == .weakKey)
        #expect(code { try SigningKey.generate(.rs256, rsaKeySize: 32_768) } == .tooLarge)
    }

    @Test("PKCS#1 and PSS don't verify each other's signatures", .shows("A8", "RFC 8725bis §3.1 (one algorithm)"))
    func paddings() throws {
        let unnamed = try Self.jwk(["alg": nil])
        let message = Array("message".utf8)
        let algorithms = [JWSAlgorithm.rs256, .rs384, .rs512, .ps256, .ps384, .ps512]
        for algorithm in algorithms {
            let signature = try SigningKey(jwk: unnamed, algorithm: algorithm).signature(for: message)
            for other in algorithms {
                let key = try VerificationKey(jwk: unnamed, algorithm: other)
                #expect(key.isValid(signature, for: message) == (other == algorithm))
            }
        }
    }
}
