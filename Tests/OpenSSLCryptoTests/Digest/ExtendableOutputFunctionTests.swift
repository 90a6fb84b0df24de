import OpenSSLCrypto
import Testing

@Suite("ExtendableOutputFunction", .serialized) struct ExtendableOutputFunctionTests {
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
