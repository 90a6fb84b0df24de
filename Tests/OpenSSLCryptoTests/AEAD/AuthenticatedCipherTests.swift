import Foundation
import TestVectors
import Testing

@testable import OpenSSLCrypto

@Suite("Authenticated ciphers", .serialized)
struct AuthenticatedCipherTests {
    private struct File: Decodable {
        struct Case: Decodable {
            let enc, key, plaintext, vector, context, ciphertext, tag: String

            private enum CodingKeys: String, CodingKey {
                case enc
                case key = "k_hex"
                case plaintext = "p_hex"
                case vector = "iv_hex"
                case context = "a_hex"
                case ciphertext = "e_hex"
                case tag = "t_hex"
            }
        }
        let cases: [Case]
    }

    @Test("Matches RFC 7518 appendix B") func appendixB() throws {
        let ciphers: [String: AuthenticatedCipher] = [
            "A128CBC-HS256": .aes128CBCHMACSHA256, "A192CBC-HS384": .aes192CBCHMACSHA384,
            "A256CBC-HS512": .aes256CBCHMACSHA512,
        ]
        let cases = try Vector.decode("rfc7518-b-aes-cbc-hmac", as: File.self).cases
        #expect(cases.count == 3)
        for test in cases {
            let cipher = try #require(ciphers[test.enc])
            let key = [UInt8](hex: test.key).secret
            let (plaintext, context) = ([UInt8](hex: test.plaintext), [UInt8](hex: test.context))
            let sealed = try plaintext.withBytes { plaintext in
                try context.withBytes { context in
                    try cipher.seal(plaintext, authenticating: context, key: key, vector: [UInt8](hex: test.vector))
                }
            }
            #expect(sealed.ciphertext.hex == test.ciphertext)
            #expect(sealed.tag.hex == test.tag)
            #expect(try cipher.open(sealed, context, key) == plaintext)
        }
    }

    @Test("Opens what it sealed, of any size", arguments: AuthenticatedCipher.allCases)
    func roundTrip(cipher: AuthenticatedCipher) throws {
        let key = try SecureRandom.secret(count: cipher.keySize)
        for size in [0, 1, 15, 16, 17, 255, 70_000] {
            let plaintext = [UInt8](repeating: 0x5A, count: size)
            let sealed = try cipher.seal(plaintext, [1, 2], key)
            #expect(sealed.vector.count == cipher.vectorSize)
            #expect(sealed.tag.count == cipher.tagSize)
            #expect(try cipher.open(sealed, [1, 2], key) == plaintext)
        }
    }

    @Test("Seals a message differently each time", arguments: AuthenticatedCipher.allCases)
    func freshVectors(cipher: AuthenticatedCipher) throws {
        let key = try SecureRandom.secret(count: cipher.keySize)
        let first = try cipher.seal([1, 2, 3], [], key)
        let second = try cipher.seal([1, 2, 3], [], key)
        #expect(first.vector != second.vector)
        #expect(first.ciphertext != second.ciphertext)
    }

    @Test("Rejects every changed part", arguments: AuthenticatedCipher.allCases)
    func changes(cipher: AuthenticatedCipher) throws {
        let key = try SecureRandom.secret(count: cipher.keySize)
        let sealed = try cipher.seal(Array("attack at dawn".utf8), [7], key)
        let parts: [WritableKeyPath<AuthenticatedCipher.Sealed, [UInt8]>] = [\.vector, \.ciphertext, \.tag]
        for part in parts {
            for index in sealed[keyPath: part].indices {
                var changed = sealed
                changed[keyPath: part][index] ^= 1
                #expect(try cipher.open(changed, [7], key) == nil)
            }
            var short = sealed
            short[keyPath: part].removeLast()
            #expect(try cipher.open(short, [7], key) == nil)
            short[keyPath: part] = []
            #expect(try cipher.open(short, [7], key) == nil)
            var long = sealed
            long[keyPath: part].append(0)
            #expect(try cipher.open(long, [7], key) == nil)
        }
        #expect(try cipher.open(sealed, [], key) == nil)
        #expect(try cipher.open(sealed, [7], SecureRandom.secret(count: cipher.keySize)) == nil)
    }

    @Test("Rejects bytes moved between the context and the ciphertext") func movedBytes() throws {
        let cipher = AuthenticatedCipher.aes128CBCHMACSHA256
        let key = try SecureRandom.secret(count: cipher.keySize)
        let sealed = try cipher.seal([1], [7], key)
        var moved = sealed
        moved.vector = Array((sealed.vector + sealed.ciphertext).prefix(16))
        #expect(try cipher.open(moved, [7] + sealed.vector, key) == nil)
    }

    @Test("Rejects a valid tag over a wrong padding in the same way") func padding() throws {
        let cipher = AuthenticatedCipher.aes128CBCHMACSHA256
        let key = try SecureRandom.secret(count: cipher.keySize).exposed
        let vector = [UInt8](repeating: 3, count: 16)
        // Not the result of any padding: a block that decrypts to random bytes.
        for ciphertext in [[UInt8](repeating: 9, count: 16), [1, 2, 3], []] {
            var code = try [UInt8]([7]).withBytes { context in
                try key.withBytes { key in
                    try ciphertext.withBytes { ciphertext in
                        try MACContext.code(
                            .sha256,
                            key: key.extracting(0..<16),
                            of: context,
                            vector,
                            ciphertext,
                            [0, 0, 0, 0, 0, 0, 0, 8]
                        )
                    }
                }
            }
            code.removeLast(16)
            let sealed = AuthenticatedCipher.Sealed(vector: vector, ciphertext: ciphertext, tag: code)
            #expect(try cipher.open(sealed, [7], key.secret) == nil)
        }
    }

    @Test("Rejects keys of other sizes", arguments: AuthenticatedCipher.allCases)
    func keySizes(cipher: AuthenticatedCipher) throws {
        for size in [1, cipher.keySize - 1, cipher.keySize + 1] {
            let key = [UInt8](repeating: 1, count: size).secret
            #expect(throws: CryptoError(.invalidArgument, "")) { try cipher.seal([1], [], key) }
            let sealed = AuthenticatedCipher.Sealed(vector: [], ciphertext: [], tag: [])
            #expect(throws: CryptoError(.invalidArgument, "")) { try cipher.open(sealed, [], key) }
        }
    }

    @Test("Leaves no error in OpenSSL's queue") func errorQueue() throws {
        let cipher = AuthenticatedCipher.aes256GCM
        let key = try SecureRandom.secret(count: cipher.keySize)
        var sealed = try cipher.seal([1], [], key)
        sealed.tag[0] ^= 1
        #expect(try cipher.open(sealed, [], key) == nil)
        #expect(OpenSSLLibrary.drainedErrors().isEmpty)
    }
}

extension AuthenticatedCipher {
    fileprivate func seal(_ plaintext: [UInt8], _ context: [UInt8], _ key: SecretBytes) throws(CryptoError) -> Sealed {
        try plaintext.withBytes { plaintext throws(CryptoError) in
            try context.withBytes { context throws(CryptoError) in
                try seal(plaintext, authenticating: context, key: key)
            }
        }
    }

    fileprivate func open(_ sealed: Sealed, _ context: [UInt8], _ key: SecretBytes) throws(CryptoError) -> [UInt8]? {
        try context.withBytes { context throws(CryptoError) in try open(sealed, authenticating: context, key: key) }
    }
}
