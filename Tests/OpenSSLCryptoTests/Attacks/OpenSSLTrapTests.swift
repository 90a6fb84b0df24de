import OpenSSLCrypto
import TestSupport
import Testing

/// Each test first demonstrates OpenSSL's default behavior, to detect versions that change it, and
/// then that this module behaves correctly.
///
/// The defaults were observed with 3.0.19 and 3.6.5.
@Suite("OpenSSL pitfalls", .computing) struct OpenSSLTrapTests {
    private let message = PSSSignature.message

    private func digest() throws -> [UInt8] { try HashFunction.sha256.hash(message) }

    @Test("PSS: rejects a signature without its leading zero", .shows("C4")) func shortPSS() throws {
        let whole = PSSSignature.salt32WithLeadingZero
        let short = Array(whole.dropFirst())
        let key = try RSAPrivateKey.test().publicKey
        let verifier = try key.verifier(.pss, hash: .sha256)
        #expect(whole.first == 0)
        #expect(verifier.isValidSignature(whole, for: message))
        #expect(try BareOpenSSL.acceptsPSS(short, for: digest(), spki: PublicKey.rsa(key).spkiDER()))
        #expect(!verifier.isValidSignature(short, for: message))
    }

    @Test(
        "PSS: rejects a salt of another length, or none",
        .shows("C5", "RFC 7518 §3.5"),
        arguments: [PSSSignature.salt0, PSSSignature.salt16, PSSSignature.salt20, PSSSignature.salt222]
    )
    func anySalt(signature: [UInt8]) throws {
        let key = try RSAPrivateKey.test().publicKey
        #expect(try BareOpenSSL.acceptsPSS(signature, for: digest(), spki: PublicKey.rsa(key).spkiDER()))
        #expect(try !key.verifier(.pss, hash: .sha256).isValidSignature(signature, for: message))
    }

    @Test("EC: rejects a point that doesn't match the scalar") func mismatchedEC() throws {
        let first = try ECPrivateKey.generate(.p256)
        let second = try ECPrivateKey.generate(.p256).publicKey
        let scalar = try first.scalar()
        #expect(BareOpenSSL.acceptsP256(point: [4] + second.x + second.y, scalar: scalar.exposed))
        #expect(
            code { _ = try ECPrivateKey(curve: .p256, scalar: scalar, x: second.x, y: second.y) } == .keyMismatch
        )
    }

    static let badNumbers: [RSAKeyNumberTests.Change] = [
        .init("another private exponent", .keyMismatch) { $0.d[100] ^= 1 },
        .init("another coefficient", .keyMismatch) { $0.qi[10] ^= 1 },
        .init("a prime of another key", .keyMismatch) { $0.p = RSAWeakNumbers.otherPrime },
        .init("public exponent 1", .weakKey) { $0.e = [1] },
        .init("ROCA modulus", .weakKey) { $0.n = RSAWeakNumbers.rocaModulus },
        .init("modulus of 16392 bits", .keyTooLarge) { $0.n = [UInt8](repeating: 0xFF, count: 2049) },
    ]

    @Test("RSA: rejects numbers that don't match or are weak", arguments: badNumbers)
    func badRSA(change: RSAKeyNumberTests.Change) {
        var numbers = RSATestKeyNumbers()
        change.apply(&numbers)
        #expect(BareOpenSSL.acceptsRSA(numbers))
        #expect(code { _ = try numbers.key() } == change.code)
    }

    @Test("EdDSA: rejects a key of small order", .shows("B10")) func universalForgery() {
        let neutral = [1] + [UInt8](repeating: 0, count: 31)
        // The neutral element with zeros. OpenSSL rejects it on Edwards448; there, the point of
        // order 4 with zeros.
        let forgeries: [(EdwardsCurve, key: [UInt8], signature: [UInt8])] = [
            (.ed25519, neutral, neutral + [UInt8](repeating: 0, count: 32)),
            (.ed448, [UInt8](repeating: 0, count: 57), [UInt8](repeating: 0, count: 114)),
        ]
        for (curve, key, signature) in forgeries {
            for message in [[], [1, 2, 3], Array("pay".utf8)] as [[UInt8]] {
                #expect(BareOpenSSL.acceptsEdDSA(signature, for: message, curve.name, octets: key))
            }
            #expect(code { _ = try EdwardsPublicKey(curve: curve, octets: key) } == .weakKey)
        }
    }

    @Test("EdDSA: rejects a second encoding of a key") func secondEncoding() {
        // y = p + 1 equals 1, the neutral element again.
        let octets = [0xEE] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        let signature = [1] + [UInt8](repeating: 0, count: 63)
        #expect(BareOpenSSL.acceptsEdDSA(signature, for: [1], "Ed25519", octets: octets))
        #expect(code { _ = try EdwardsPublicKey(curve: .ed25519, octets: octets) } == .malformedKey)
    }

    @Test("EdDSA: signs twice, although OpenSSL 3.4 contexts sign once", arguments: [EdwardsCurve.ed25519, .ed448])
    func reusedContext(curve: EdwardsCurve) throws {
        let key = try EdwardsPrivateKey.generate(curve)
        let isOld = ["OpenSSL 3.0", "OpenSSL 3.1", "OpenSSL 3.2", "OpenSSL 3.3"].contains {
            OpenSSLLibrary.version.hasPrefix($0)
        }
        let count = BareOpenSSL.signatureCount(reusingContextFor: curve.name, seed: try key.seed().exposed)
        #expect(count == (isOld ? 2 : 1))
        #expect(try key.signature(for: [1]) == key.signature(for: [1]))
    }

    @Test("HMAC: rejects an empty key", .shows("C8")) func emptyKey() throws {
        #expect(BareOpenSSL.codeUnderEmptyKey(for: message)?.count == 32)
        #expect(code { _ = try HMAC(.sha256, key: [].secret) } == .invalidArgument)
    }
}
