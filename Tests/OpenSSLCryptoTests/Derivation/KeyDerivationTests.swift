import Foundation
import TestSupport
import TestVectors
import Testing

@testable import OpenSSLCrypto

@Suite("Key derivation", .computing)
struct KeyDerivationTests {
    @Test("The Concat KDF matches RFC 7518 appendix C", .shows("RFC 7518 §4.6")) func appendixC() throws {
        let vector = try Vector.object("rfc7518-c-ecdh-es")
        let key = try ConcatKDF.key(
            from: [UInt8](hex: #require(vector["z_hex"] as? String)).secret,
            info: [UInt8](hex: #require(vector["other_info_hex"] as? String)),
            count: 16
        )
        #expect(key.exposed.hex == vector["derived_key_hex"] as? String)
    }

    @Test("The Concat KDF hashes a counter, the secret and the context", arguments: [1, 16, 32, 33, 48, 64, 100])
    func rounds(count: Int) throws {
        let secret = [UInt8](repeating: 5, count: 66)
        let info: [UInt8] = [1, 2, 3]
        var expected: [UInt8] = []
        for counter in 1...4 {
            expected += try ([0, 0, 0, UInt8(counter)] + secret + info).withBytes { try HashFunction.sha256.hash($0) }
        }
        let key = try ConcatKDF.key(from: secret.secret, info: info, count: count)
        #expect(key.exposed == Array(expected.prefix(count)))
    }

    @Test("The Concat KDF rejects an empty secret and sizes out of range") func arguments() throws {
        let secret = [UInt8]([1]).secret
        #expect(code { _ = try ConcatKDF.key(from: [UInt8]().secret, info: [], count: 16) } == .invalidArgument)
        for count in [0, -1, 1025] {
            #expect(code { _ = try ConcatKDF.key(from: secret, info: [], count: count) } == .invalidArgument)
        }
        #expect(try ConcatKDF.key(from: secret, info: [], count: 16).count == 16)
    }

    @Test("PBKDF2 matches RFC 7517 appendix C") func appendixC7517() throws {
        let vector = try Vector.object("rfc7517-c-pbes2-encrypted-jwk")
        let key = try PBKDF2.key(
            from: [UInt8](hex: #require(vector["passphrase_hex"] as? String)).secret,
            salt: [UInt8](hex: #require(vector["salt_hex"] as? String)),
            iterations: 4096,
            hash: .sha256,
            count: 16
        )
        #expect(key.exposed.hex == vector["pbkdf2_derived_key_hex"] as? String)
    }

    @Test(
        "PBKDF2 rejects arguments out of range",
        arguments: [(0, 1), (65_537, 1), (1, 0), (1, -1), (1, 10_000_001), (1, .max)] as [(Int, Int)]
    )
    func limits(passwordSize: Int, iterations: Int) {
        let password = [UInt8](repeating: 1, count: passwordSize).secret
        #expect(throws: CryptoError(.invalidArgument, "")) {
            try PBKDF2.key(from: password, salt: [1], iterations: iterations, hash: .sha256, count: 16)
        }
        #expect(throws: CryptoError(.invalidArgument, "")) {
            try PBKDF2.key(from: [UInt8]([1]).secret, salt: [1], iterations: 1, hash: .sha1, count: 16)
        }
    }
}
