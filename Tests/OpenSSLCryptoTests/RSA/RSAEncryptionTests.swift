import TestSupport
import Testing

@testable import OpenSSLCrypto

@Suite("RSA OAEP", .computing)
struct RSAEncryptionTests {
    private static let hashes: [HashFunction] = [.sha1, .sha256, .sha384, .sha512]

    @Test("Decrypts what it encrypted, differently each time", .shows("RFC 7518 §4.3"), arguments: hashes)
    func roundTrip(hash: HashFunction) throws {
        let key = try RSAPrivateKey.generate()
        let (encrypter, decrypter) = (try key.publicKey.encrypter(hash: hash), try key.decrypter(hash: hash))
        let secret = try SecureRandom.secret(count: 64)
        let first = try encrypter.encrypt(secret)
        #expect(first.count == 256)
        #expect(try encrypter.encrypt(secret) != first)
        #expect(decrypter.decrypt(first) == secret)
        for other in Self.hashes where other != hash {
            #expect(try key.decrypter(hash: other).decrypt(first) == nil)
        }
    }

    @Test("Gives no reason for a failure, and works afterwards", .shows("RFC 7518 §4.3")) func failures() throws {
        let key = try RSAPrivateKey.generate()
        let decrypter = try key.decrypter(hash: .sha256)
        let ciphertext = try key.publicKey.encrypter(hash: .sha256).encrypt(SecureRandom.secret(count: 32))
        var changed = ciphertext
        changed[255] ^= 1
        let others: [[UInt8]] = [
            changed, [], Array(ciphertext.dropLast()), [0] + ciphertext, ciphertext + [0],
            [UInt8](repeating: 0, count: 256), [UInt8](repeating: 0xFF, count: 256),
        ]
        for other in others {
            #expect(decrypter.decrypt(other) == nil)
            #expect(OpenSSLLibrary.drainedErrors().isEmpty)
        }
        #expect(decrypter.decrypt(ciphertext)?.count == 32)
    }

    @Test("Rejects a secret that's too long for the padding") func tooLong() throws {
        let encrypter = try RSAPrivateKey.generate().publicKey.encrypter(hash: .sha256)
        #expect(try encrypter.encrypt(SecureRandom.secret(count: 190)).count == 256)
        #expect(throws: CryptoError(.openSSL, "")) { try encrypter.encrypt(SecureRandom.secret(count: 191)) }
    }
}
