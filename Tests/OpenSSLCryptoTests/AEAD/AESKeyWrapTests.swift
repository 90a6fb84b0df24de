import Testing

@testable import OpenSSLCrypto

@Suite("AES key wrap", .serialized)
struct AESKeyWrapTests {
    @Test("Matches RFC 3394 section 4.6") func rfc3394() throws {
        let wrapper = try AESKeyWrap(
            key: [UInt8](hex: "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f").secret
        )
        let secret = [UInt8](hex: "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f")
        let wrapped = "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21"
        #expect(try wrapper.wrap(secret.secret).hex == wrapped)
        #expect(try wrapper.unwrap([UInt8](hex: wrapped))?.exposed == secret)
    }

    @Test("Rejects wrapped keys of impossible sizes, the empty one included", arguments: [0, 1, 8, 16, 23, 25, 39])
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
