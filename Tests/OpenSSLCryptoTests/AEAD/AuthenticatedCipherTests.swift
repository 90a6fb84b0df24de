import Foundation
import TestSupport
import TestVectors
import Testing

@testable import OpenSSLCrypto

@Suite("Authenticated ciphers", .computing)
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

    @Test("Matches RFC 7518 appendix B", .shows("RFC 7518 §5")) func appendixB() throws {
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

    @Test("Rejects every changed part", .shows("RFC 7518 §5"), arguments: AuthenticatedCipher.allCases)
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

    @Test("Rejects bytes moved between the context and the ciphertext", .shows("E6")) func movedBytes() throws {
        let cipher = AuthenticatedCipher.aes128CBCHMACSHA256
        let key = try SecureRandom.secret(count: cipher.keySize)
        let sealed = try cipher.seal([1], [7], key)
        var moved = sealed
        moved.vector = Array((sealed.vector + sealed.ciphertext).prefix(16))
        #expect(try cipher.open(moved, [7] + sealed.vector, key) == nil)
    }

    @Test("Rejects a valid tag over a wrong padding in the same way", .shows("E5")) func padding() throws {
        let cipher = AuthenticatedCipher.aes128CBCHMACSHA256
        let key = try SecureRandom.secret(count: cipher.keySize).exposed
        let vector = [UInt8](repeating: 3, count: 16)
        // Not the result of any padding: a block that decrypts to random bytes.
        for ciphertext in [[UInt8](repeating: 9, count: 16), [1, 2, 3], []] {
            var code = try [UInt8]([7]).withBytes { context in
                try key.withBytes { key in
                    try ciphertext.withBytes { ciphertext in
                        try HMAC.code(
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

@Suite("AES-256-GCM", .computing)
struct AESGCMTests {
    /// Test cases 14 to 16 of the GCM specification as submitted to NIST (McGrew and Viega,
    /// appendix B).
    private struct Vector: Sendable {
        let key, nonce, text, context, cipher, tag: String
    }

    private static let vectors = [
        Vector(
            key: String(repeating: "00", count: 32),
            nonce: String(repeating: "00", count: 12),
            text: String(repeating: "00", count: 16),
            context: "",
            cipher: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"
        ),
        Vector(
            key: "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308",
            nonce: "cafebabefacedbaddecaf888",
            text: """
                d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525\
                b16aedf5aa0de657ba637b39
                """,
            context: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            cipher: """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838\
                c5f61e6393ba7a0abcc9f662
                """,
            tag: "76fc6ece0f4e1768cddf8853bb2d551b"
        ),
    ]

    @Test("Matches the specification's test vectors", arguments: vectors)
    private func vector(_ vector: Vector) throws {
        let cipher = try AESGCM(key: [UInt8](hex: vector.key).secret)
        let sealed = try cipher.seal(
            [UInt8](hex: vector.text),
            authenticating: [UInt8](hex: vector.context),
            nonce: [UInt8](hex: vector.nonce)
        )
        #expect(sealed == [UInt8](hex: vector.nonce + vector.cipher + vector.tag))
        #expect(try cipher.open(sealed, authenticating: [UInt8](hex: vector.context)) == [UInt8](hex: vector.text))
    }

    @Test("Uses a new nonce for each message, including empty ones", arguments: [[], [1, 2, 3]] as [[UInt8]])
    func nonces(text: [UInt8]) throws {
        let cipher = try AESGCM(key: [UInt8](repeating: 0x17, count: 32).secret)
        let first = try cipher.seal(text, authenticating: [])
        let second = try cipher.seal(text, authenticating: [])
        #expect(first.prefix(12) != second.prefix(12))
        #expect(try cipher.open(first, authenticating: []) == text)
        #expect(try cipher.open(second, authenticating: []) == text)
    }

    @Test("Detects flipped bits, a different context or key, and truncation")
    func changes() throws {
        let cipher = try AESGCM(key: [UInt8](repeating: 0x17, count: 32).secret)
        let sealed = try cipher.seal([1, 2, 3, 4], authenticating: [9])
        for bit in 0..<(sealed.count * 8) {
            var flipped = sealed
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try cipher.open(flipped, authenticating: [9]) == nil)
        }
        #expect(try cipher.open(sealed, authenticating: []) == nil)
        #expect(try cipher.open(sealed, authenticating: [8]) == nil)
        let other = try AESGCM(key: [UInt8](repeating: 0x18, count: 32).secret)
        #expect(try other.open(sealed, authenticating: [9]) == nil)
        for count in 0..<sealed.count {
            #expect(try cipher.open(Array(sealed.prefix(count)), authenticating: [9]) == nil)
        }
    }

    @Test("Rejects a key of another size", arguments: [0, 16, 24, 31, 33])
    func keySize(count: Int) {
        #expect(code { _ = try AESGCM(key: [UInt8](repeating: 0x00, count: count).secret) } == .invalidArgument)
    }
}

@Suite("AES key wrap", .computing)
struct AESKeyWrapTests {
    @Test("Matches RFC 3394 section 4.6", .shows("RFC 7518 §4.4, §4.5", "RFC 3394")) func rfc3394() throws {
        let wrapper = try AESKeyWrap(
            key: [UInt8](hex: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f").secret
        )
        let secret = [UInt8](hex: "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f")
        let wrapped = "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
        #expect(try wrapper.wrap(secret.secret).hex == wrapped)
        #expect(try wrapper.unwrap([UInt8](hex: wrapped))?.exposed == secret)
    }

    @Test(
        "Rejects wrapped keys of impossible sizes, the empty one included",
        .shows("E8", "RFC 3394"),
        arguments: [0, 1, 8, 16, 23, 25, 39]
    )
    func sizes(count: Int) throws {
        let wrapper = try AESKeyWrap(key: SecureRandom.secret(count: 16))
        #expect(try wrapper.unwrap([UInt8](repeating: 0, count: count)) == nil)
    }

    @Test("Rejects changed keys and another wrapping key") func changes() throws {
        let wrapper = try AESKeyWrap(key: SecureRandom.secret(count: 24))
        let wrapped = try wrapper.wrap(SecureRandom.secret(count: 64))
        for index in wrapped.indices {
            var changed = wrapped
            changed[index] ^= 0x80
            #expect(try wrapper.unwrap(changed) == nil)
        }
        #expect(try AESKeyWrap(key: SecureRandom.secret(count: 24)).unwrap(wrapped) == nil)
        #expect(OpenSSLLibrary.drainedErrors().isEmpty)
    }

    @Test("Requires AES keys, and keys to wrap of at least 16 bytes", arguments: [0, 15, 17, 33, 64])
    func keySizes(count: Int) throws {
        let key = [UInt8](repeating: 1, count: count).secret
        #expect(throws: CryptoError(.invalidArgument, "")) { try AESKeyWrap(key: key) }
        let wrapper = try AESKeyWrap(key: SecureRandom.secret(count: 16))
        guard count != 64 else { return }
        #expect(throws: CryptoError(.invalidArgument, "")) { try wrapper.wrap(key) }
    }
}
