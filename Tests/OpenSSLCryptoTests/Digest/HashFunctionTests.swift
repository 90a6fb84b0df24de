import OpenSSLCrypto
import TestSupport
import Testing

@Suite("HashFunction", .computing) struct HashFunctionTests {
    /// RFC 1321 A.5 and the NIST examples for FIPS 180-4.
    static let knownAnswers: [(HashFunction, String, String)] = [
        (.md5, "", "d41d8cd98f00b204e9800998ecf8427e"),
        (.md5, "abc", "900150983cd24fb0d6963f7d28e17f72"),
        (.sha1, "abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (.sha256, "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (.sha256, "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            .sha384, "abc",
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"
        ),
        (
            .sha512, "abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
                + "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"
        ),
    ]

    @Test("Computes the published hashes", arguments: knownAnswers)
    func knownAnswer(function: HashFunction, message: String, hash: String) throws {
        let computed = try function.hash(Array(message.utf8))
        #expect(computed.hex == hash)
        #expect(computed.count == function.digestSize)
    }

    @Test("Hashes a million bytes") func longMessage() throws {
        let hash = try HashFunction.sha256.hash([UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000))
        #expect(hash.hex == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }
}

@Suite("ExtendableOutputFunction", .computing) struct ExtendableOutputFunctionTests {
    /// The NIST example for FIPS 202 with an empty message, and values from Python's hashlib.
    private static let empty =
        "46b9dd2b0ba88d13233b3feb743eeb243fcd52ea62b81b82b50c27646ed5762fd75dc4ddd8c0f200cb05019d67b592f6fc821c49479ab486"
        + "40292eacb3b7c4be141e96616fb13957692cc7edd0b45ae3dc07223c8e92937bef84bc0eab862853349ec75546f58fb7c2775c38462c5010"
        + "d846"

    @Test("SHAKE256 returns the published output in the requested size", arguments: [1, 32, 57, 64, 114])
    func knownAnswer(count: Int) throws {
        let output = try [UInt8]().withBytes { try ExtendableOutputFunction.shake256($0, count: count) }
        #expect(output.hex == String(Self.empty.prefix(2 * count)))
        let abc = try Array("abc".utf8).withBytes { try ExtendableOutputFunction.shake256($0, count: 32) }
        #expect(abc.hex == "483366601360a8771c6863080cc4114d8db44530f8f1e1ee4f94ea37e78b5739")
    }

    @Test("Rejects a hash size of 0")
    func nothing() throws {
        #expect(throws: CryptoError(.invalidArgument, "")) {
            try [1].withBytes { try ExtendableOutputFunction.shake256($0, count: 0) }
        }
    }

    @Test("EdDSA curves use the hash functions of RFC 8032")
    func curves() throws {
        let message = Array("abc".utf8)
        let ed25519 = try message.withBytes { try EdwardsCurve.ed25519.hash($0) }
        #expect(try ed25519 == message.withBytes { try HashFunction.sha512.hash($0) })
        let ed448 = try message.withBytes { try EdwardsCurve.ed448.hash($0) }
        #expect(ed448.count == 114)
        #expect(
            ed448.prefix(32).elementsEqual(
                [UInt8](hex: "483366601360a8771c6863080cc4114d8db44530f8f1e1ee4f94ea37e78b5739")
            )
        )
    }
}
