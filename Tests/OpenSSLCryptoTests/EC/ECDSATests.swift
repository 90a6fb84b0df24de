import OpenSSLCrypto
import TestVectors
import Testing

@Suite("ECDSA", .serialized) struct ECDSATests {
    static let pairs: [(EllipticCurve, HashFunction)] = [
        (.p256, .sha256), (.p384, .sha384), (.p521, .sha512), (.secp256k1, .sha256), (.p256, .sha512), (.p521, .sha256),
    ]
    /// The orders of P-256 and secp256k1.
    static let orders: [(EllipticCurve, String)] = [
        (.p256, "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551"),
        (.secp256k1, "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141"),
    ]
    let message = Array("message".utf8)

    @Test("Verifies its own signatures for messages of any length", arguments: pairs)
    func roundTrip(curve: EllipticCurve, hash: HashFunction) throws {
        let key = try ECPrivateKey.generate(curve)
        for count in [0, 1, 1000] {
            let message = [UInt8](repeating: 0x61, count: count)
            let signature = try key.signature(for: message, hash: hash)
            #expect(signature.count == 2 * curve.coordinateSize)
            #expect(key.publicKey.isValidSignature(signature, for: message, hash: hash))
            #expect(!key.publicKey.isValidSignature(signature, for: message + [0], hash: hash))
        }
        #expect(try key.signature(for: message, hash: hash) != key.signature(for: message, hash: hash))
    }

    @Test("Pads short numbers") func padding() throws {
        // One signature in 128 has a leading zero in r or s. Incorrect padding would cause a wrong
        // size or an invalid signature.
        let key = try ECPrivateKey.generate(.p256)
        var paddedCount = 0
        for _ in 0..<1500 {
            let signature = try key.signature(for: message, hash: .sha256)
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            paddedCount += 1
            #expect(signature.count == 64)
            #expect(key.publicKey.isValidSignature(signature, for: message, hash: .sha256))
        }
        #expect(paddedCount > 0)
    }

    @Test(
        "RFC 6979: the public key matches and the signatures verify",
        arguments: [
            "rfc6979-a2.5-p256", "rfc6979-a2.6-p384", "rfc6979-a2.7-p521",
        ]
    )
    func rfc6979(file: String) throws {
        let vector = try Vector.decode(file, as: RFC6979.self)
        let curve = try #require(EllipticCurve(name: vector.curve))
        let size = curve.coordinateSize
        let key = try ECPrivateKey(
            curve: curve,
            scalar: [UInt8](hex: vector.scalar, size: size).secret,
            x: [UInt8](hex: vector.x, size: size),
            y: [UInt8](hex: vector.y, size: size)
        )
        #expect(vector.cases.count == 6)
        for item in vector.cases {
            let hash = try #require(
                ["SHA-256": .sha256, "SHA-384": .sha384, "SHA-512": HashFunction.sha512][item.hash]
            )
            let signature = [UInt8](hex: item.r, size: size) + [UInt8](hex: item.s, size: size)
            let message = Array(item.message.utf8)
            #expect(key.publicKey.isValidSignature(signature, for: message, hash: hash))
            #expect(!key.publicKey.isValidSignature(signature, for: message + [0x2E], hash: hash))
        }
    }

    @Test("Verifies the signature of RFC 7515 A.3") func rfc7515() throws {
        let vector = try Vector.decode("rfc7515-a3-es256", as: RFC7515.self)
        let key = try ECPrivateKey(
            curve: .p256,
            scalar: [UInt8](base64URL: vector.key.d).secret,
            x: [UInt8](base64URL: vector.key.x),
            y: [UInt8](base64URL: vector.key.y)
        )
        let signature = [UInt8](base64URL: vector.signature)
        #expect(key.publicKey.isValidSignature(signature, for: Array(vector.signingInput.utf8), hash: .sha256))
    }

    @Test("Rejects a signature with any flipped bit") func flippedBits() throws {
        let key = try ECPrivateKey.generate(.p256)
        let signature = try key.signature(for: message, hash: .sha256)
        for bit in 0..<signature.count * 8 {
            var changed = signature
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!key.publicKey.isValidSignature(changed, for: message, hash: .sha256))
        }
        #expect(key.publicKey.isValidSignature(signature, for: message, hash: .sha256))
    }

    @Test("Accepts only signatures of the exact size") func sizes() throws {
        let key = try ECPrivateKey.generate(.p256)
        let signature = try key.signature(for: message, hash: .sha256)
        for count in 0..<signature.count {
            #expect(!key.publicKey.isValidSignature(Array(signature.prefix(count)), for: message, hash: .sha256))
        }
        let longer = [UInt8](repeating: 0, count: 1)
        #expect(!key.publicKey.isValidSignature(signature + longer, for: message, hash: .sha256))
        let widened = longer + Array(signature.prefix(32)) + longer + Array(signature.suffix(32))
        #expect(!key.publicKey.isValidSignature(widened, for: message, hash: .sha256))
        let der = try signature.withBytes { try ECDSASignature.der(fromRaw: $0) }
        #expect(!key.publicKey.isValidSignature(der, for: message, hash: .sha256))
    }

    @Test("Rejects numbers out of range", arguments: orders)
    func range(curve: EllipticCurve, order: String) throws {
        let key = try ECPrivateKey.generate(curve)
        let signature = try key.signature(for: message, hash: .sha256)
        let (r, s) = (Array(signature.prefix(32)), Array(signature.suffix(32)))
        let zero = [UInt8](repeating: 0, count: 32)
        let n = [UInt8](hex: order)
        let largest = [UInt8](repeating: 0xFF, count: 32)
        for wrong in [zero + zero, zero + s, r + zero, n + s, r + n, n + n, largest + s, r + largest, s + r] {
            #expect(!key.publicKey.isValidSignature(wrong, for: message, hash: .sha256))
        }
    }

    @Test("Rejects a signature for another key, curve or hash") func mixedUp() throws {
        let key = try ECPrivateKey.generate(.p256)
        let signature = try key.signature(for: message, hash: .sha256)
        #expect(!(try ECPrivateKey.generate(.p256).publicKey.isValidSignature(signature, for: message, hash: .sha256)))
        #expect(
            !(try ECPrivateKey.generate(.secp256k1).publicKey.isValidSignature(signature, for: message, hash: .sha256))
        )
        #expect(!key.publicKey.isValidSignature(signature, for: message, hash: .sha384))
    }

    @Test("Rejects broken hash functions", arguments: [HashFunction.md5, .sha1])
    func brokenHash(hash: HashFunction) throws {
        let key = try ECPrivateKey.generate(.p256)
        #expect(code { _ = try key.signature(for: message, hash: hash) } == .invalidArgument)
        // A signature over the same 20 octets, which OpenSSL would accept.
        let signature = try key.signature(for: message, hash: .sha256)
        #expect(!key.publicKey.isValidSignature(signature, for: message, hash: hash))
    }

    @Test("Uses one key from many tasks concurrently", arguments: [EllipticCurve.p256, .p521])
    func concurrency(curve: EllipticCurve) async throws {
        let key = try ECPrivateKey.generate(curve)
        let validCount = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<16 {
                group.addTask { @concurrent in
                    try (0..<25).count { round in
                        let message = Array("task \(task), round \(round)".utf8)
                        let signature = try key.signature(for: message, hash: .sha256)
                        return key.publicKey.isValidSignature(signature, for: message, hash: .sha256)
                            && !key.publicKey.isValidSignature(signature, for: message + [0], hash: .sha256)
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(validCount == 16 * 25)
    }
}

private struct RFC6979: Decodable {
    struct Case: Decodable {
        let hash, message, r, s: String

        enum CodingKeys: String, CodingKey {
            case hash
            case message = "message_utf8"
            case r = "r_hex"
            case s = "s_hex"
        }
    }

    let curve, scalar, x, y: String
    let cases: [Case]

    enum CodingKeys: String, CodingKey {
        case curve, cases
        case scalar = "x_hex"
        case x = "ux_hex"
        case y = "uy_hex"
    }
}

private struct RFC7515: Decodable {
    struct Key: Decodable {
        let x, y, d: String
    }

    let key: Key
    let signingInput, signature: String

    enum CodingKeys: String, CodingKey {
        case key
        case signingInput = "signing_input"
        case signature = "signature_b64u"
    }
}
