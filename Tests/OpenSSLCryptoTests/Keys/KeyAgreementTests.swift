import TestSupport
import Testing

@testable import OpenSSLCrypto

@Suite("Key agreement", .computing)
struct KeyAgreementTests {
    private func keys() throws -> [PrivateKey] {
        [
            .ellipticCurve(try .generate(.p256)), .ellipticCurve(try .generate(.p384)),
            .ellipticCurve(try .generate(.p521)), .montgomery(try .generate(.x25519)),
            .montgomery(try .generate(.x448)),
        ]
    }

    @Test("Both parties compute the same secret of the curve's size", .shows("Q3")) func agreement() throws {
        for (key, size) in zip(try keys(), [32, 48, 66, 32, 56]) {
            let ephemeral = try PrivateKey.ephemeral(for: key.publicKey)
            let secret = try #require(try key.sharedSecret(with: ephemeral.publicKey))
            #expect(secret.count == size)
            #expect(try ephemeral.sharedSecret(with: key.publicKey) == secret)
            let other = try PrivateKey.ephemeral(for: key.publicKey)
            #expect(other.publicKey != ephemeral.publicKey)
        }
    }

    @Test("Keys of different curves can't agree") func differentCurves() throws {
        let keys = try keys()
        for (index, key) in keys.enumerated() {
            let other = keys[(index + 1) % keys.count]
            #expect(throws: CryptoError(.wrongKeyType, "")) { try key.sharedSecret(with: other.publicKey) }
        }
        let signing = PrivateKey.edwards(try .generate(.ed25519))
        #expect(throws: CryptoError(.wrongKeyType, "")) { try signing.sharedSecret(with: signing.publicKey) }
        #expect(throws: CryptoError(.wrongKeyType, "")) { try PrivateKey.ephemeral(for: signing.publicKey) }
    }

    @Test(
        "Public keys of small order give no secret",
        .shows("E3", "RFC 7748 §5, §6"),
        arguments: [MontgomeryCurve.x25519, .x448]
    )
    func smallOrder(curve: MontgomeryCurve) throws {
        let key = PrivateKey.montgomery(try .generate(curve))
        for value in [0, 1] as [UInt8] {
            let octets = [value] + [UInt8](repeating: 0, count: curve.keySize - 1)
            let peer = PublicKey.montgomery(try MontgomeryPublicKey(curve: curve, octets: octets))
            #expect(try key.sharedSecret(with: peer) == nil)
        }
        #expect(OpenSSLLibrary.drainedErrors().isEmpty)
    }

    @Test("Montgomery keys have one size and matching parts", arguments: [MontgomeryCurve.x25519, .x448])
    func sizes(curve: MontgomeryCurve) throws {
        for count in [0, curve.keySize - 1, curve.keySize + 1] {
            let octets = [UInt8](repeating: 9, count: count)
            #expect(throws: CryptoError(.malformedKey, "")) { try MontgomeryPublicKey(curve: curve, octets: octets) }
            #expect(code { _ = try MontgomeryPrivateKey(curve: curve, seed: octets.secret) } == .malformedKey)
        }
        let key = try MontgomeryPrivateKey.generate(curve)
        #expect(try MontgomeryPrivateKey(curve: curve, seed: key.seed()).publicKey == key.publicKey)
        let other = [UInt8](repeating: 9, count: curve.keySize)
        let found = code { _ = try MontgomeryPrivateKey(curve: curve, seed: key.seed(), expecting: other) }
        #expect(found == .keyMismatch)
        #expect(MontgomeryCurve(name: curve.name) == curve)
        #expect(MontgomeryCurve(name: "Ed25519") == nil)
    }

    @Test("Keys that can't sign can't identify a TLS client") func tls() throws {
        let certificate = try Certificate(pem: TestCertificate.x25519)
        let key = PrivateKey.montgomery(try .generate(.x25519))
        #expect(code { _ = try TLSIdentity(certificates: [certificate], privateKey: key) } == .wrongKeyType)
    }
}
