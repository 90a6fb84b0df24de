import Foundation
import OpenSSLCrypto
import Testing

@Suite("ECDSA") struct ECDSATests {
    @Test("a signature made here verifies here") func roundTrip() throws {
        let key = try ECPrivateKey.generate(.p256)
        let message = Array("hello".utf8)
        let signature = try message.withBytes { try key.signature(for: $0, hash: .sha256) }
        let isValid = message.withBytes { m in
            signature.withBytes { key.publicKey.isValidSignature($0, for: m, hash: .sha256) }
        }
        #expect(isValid)
        let again = try ECPrivateKey(pem: key.pkcs8PEM())
        #expect(again.publicKey == key.publicKey)
    }
}
