import OpenSSLCrypto
import Testing

@Suite("HashFunction", .serialized) struct HashFunctionTests {
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
