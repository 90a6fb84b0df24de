import Testing

@testable import OpenSSLCrypto

@Suite("AES-256-GCM")
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
        let cipher = try AESGCM(key: key(vector.key))
        let sealed = try cipher.seal(
            octets(vector.text),
            authenticating: octets(vector.context),
            nonce: octets(vector.nonce)
        )
        #expect(sealed == octets(vector.nonce + vector.cipher + vector.tag))
        #expect(try cipher.open(sealed, authenticating: octets(vector.context)) == octets(vector.text))
    }

    @Test("Uses a new nonce for each message, including empty ones", arguments: [[], [1, 2, 3]] as [[UInt8]])
    func nonces(text: [UInt8]) throws {
        let cipher = try AESGCM(key: key(String(repeating: "17", count: 32)))
        let first = try cipher.seal(text, authenticating: [])
        let second = try cipher.seal(text, authenticating: [])
        #expect(first.prefix(12) != second.prefix(12))
        #expect(try cipher.open(first, authenticating: []) == text)
        #expect(try cipher.open(second, authenticating: []) == text)
    }

    @Test("Detects flipped bits, a different context or key, and truncation")
    func changes() throws {
        let cipher = try AESGCM(key: key(String(repeating: "17", count: 32)))
        let sealed = try cipher.seal([1, 2, 3, 4], authenticating: [9])
        for bit in 0..<(sealed.count * 8) {
            var flipped = sealed
            flipped[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try cipher.open(flipped, authenticating: [9]) == nil)
        }
        #expect(try cipher.open(sealed, authenticating: []) == nil)
        #expect(try cipher.open(sealed, authenticating: [8]) == nil)
        let other = try AESGCM(key: key(String(repeating: "18", count: 32)))
        #expect(try other.open(sealed, authenticating: [9]) == nil)
        for count in 0..<sealed.count {
            #expect(try cipher.open(Array(sealed.prefix(count)), authenticating: [9]) == nil)
        }
    }

    @Test("Rejects a key of another size", arguments: [0, 16, 24, 31, 33])
    func keySize(count: Int) {
        #expect(throws: CryptoError(.invalidArgument, "")) {
            try AESGCM(key: key(String(repeating: "00", count: count)))
        }
    }

    private func key(_ text: String) -> SecretBytes { octets(text).withBytes { SecretBytes(copying: $0) } }

    private func octets(_ text: String) -> [UInt8] {
        let digits = text.compactMap { $0.hexDigitValue.map(UInt8.init) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
