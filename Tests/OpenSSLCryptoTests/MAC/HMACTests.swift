import OpenSSLCrypto
import TestSupport
import Testing

@Suite("HMAC", .computing, .tags(.concurrency)) struct HMACTests {
    struct KnownAnswer: Sendable, CustomTestStringConvertible {
        let name: String
        let key: [UInt8]
        let message: [UInt8]
        let codes: [HashFunction: String]

        var testDescription: String { name }
    }

    static let knownAnswers = [
        KnownAnswer(
            name: "RFC 4231 4.2",
            key: [UInt8](repeating: 0x0B, count: 20),
            message: Array("Hi There".utf8),
            codes: [
                .sha256: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
                .sha384: "afd03944d84895626b0825f4ab46907f15f9dadbe4101ec682aa034c7cebc59c"
                    + "faea9ea9076ede7f4af152e8b2fa9cb6",
                .sha512: "87aa7cdea5ef619d4ff0b4241a1d6cb02379f4e2ce4ec2787ad0b30545e17cde"
                    + "daa833b7d6b8a702038b274eaea3f4e4be9d914eeb61f1702e696c203a126854",
            ]
        ),
        KnownAnswer(
            name: "RFC 4231 4.3, a short key",
            key: Array("Jefe".utf8),
            message: Array("what do ya want for nothing?".utf8),
            codes: [
                .sha256: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
                .sha384: "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e"
                    + "8e2240ca5e69e2c78b3239ecfab21649",
                .sha512: "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554"
                    + "9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
            ]
        ),
        KnownAnswer(
            name: "RFC 4231 4.7, a key longer than a block",
            key: [UInt8](repeating: 0xAA, count: 131),
            message: Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8),
            codes: [
                .sha256: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
                .sha384: "4ece084485813e9088d2c63a041bc5b44f9ef1012a2b588f3cd11f05033ac4c6"
                    + "0c2ef6ab4030fe8296248df163f44952",
                .sha512: "80b24263c7c1a3ebb71493c1dd7be8b49b46d1f41b4aeec1121b013783f8f352"
                    + "6b56d037e05f2598bd0fd2215d6a1e5295e64f73f63f0aec8b915a985d786598",
            ]
        ),
    ]

    @Test("Computes the published codes repeatedly", .shows("RFC 7518 §3.2", "RFC 2104"), arguments: knownAnswers)
    func published(vector: KnownAnswer) throws {
        for (hash, code) in vector.codes {
            let hmac = try HMAC(hash, key: vector.key.secret)
            for _ in 0..<3 {
                #expect(try hmac.authenticationCode(for: vector.message).hex == code)
            }
            #expect(hmac.isValid([UInt8](hex: code), for: vector.message))
        }
    }

    @Test("Authenticates the empty message") func emptyMessage() throws {
        let hmac = try HMAC(.sha256, key: Array("key".utf8).secret)
        #expect(
            try hmac.authenticationCode(for: []).hex
                == "5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0"
        )
    }

    @Test("Rejects flipped bits, other lengths and other messages", .shows("C7")) func rejections() throws {
        let hmac = try HMAC(.sha256, key: Array("key".utf8).secret)
        let message = Array("message".utf8)
        let code = try hmac.authenticationCode(for: message)
        for bit in 0..<code.count * 8 {
            var changed = code
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!hmac.isValid(changed, for: message))
        }
        for count in 0..<code.count {
            #expect(!hmac.isValid(Array(code.prefix(count)), for: message))
        }
        #expect(!hmac.isValid(code + [0], for: message))
        #expect(!hmac.isValid(code, for: message + [0]))
        #expect(!(try HMAC(.sha256, key: Array("Key".utf8).secret).isValid(code, for: message)))
        #expect(hmac.isValid(code, for: message))
    }

    @Test("Rejects an empty key and broken hash functions", arguments: [HashFunction.md5, .sha1, .sha256])
    func refusals(hash: HashFunction) {
        let key: [UInt8] = hash == .sha256 ? [] : [1]
        #expect(code { _ = try HMAC(hash, key: key.secret) } == .invalidArgument)
    }

    @Test("Uses one key from many tasks concurrently") func concurrency() async throws {
        let hmac = try HMAC(.sha256, key: Array("key".utf8).secret)
        let messages = (0..<64).map { Array("message \($0)".utf8) }
        let expected = try messages.map { try hmac.authenticationCode(for: $0) }
        let computed = try await withThrowingTaskGroup(of: (Int, [UInt8]).self) { group in
            for (index, message) in messages.enumerated() {
                group.addTask { @concurrent in
                    for _ in 0..<50 {
                        guard try hmac.authenticationCode(for: message) == expected[index] else { return (index, []) }
                    }
                    return (index, try hmac.authenticationCode(for: message))
                }
            }
            return try await group.reduce(into: [Int: [UInt8]]()) { $0[$1.0] = $1.1 }
        }
        #expect(computed == Dictionary(uniqueKeysWithValues: expected.enumerated().map { ($0, $1) }))
    }
}
