import OpenSSLCrypto
import TestSupport
import Testing

/// Attacks on signatures, numbered as in the project's attack matrix.
///
/// C9 and C10 are in ``RSAKeyNumberTests``, B10 in ``EdwardsKeyTests``, C7 and C8 in the tests of
/// HMAC.
@Suite("Attacks on signatures", .computing) struct SignatureAttackTests {
    private let message = Array("message".utf8)

    @Test(
        "Rejects r and s that are zero, the order, too large or swapped",
        .shows("C1"),
        arguments: EllipticCurve.forTests
    )
    func psychicSignatures(curve: EllipticCurve) throws {
        let key = try ECPrivateKey.generate(curve)
        let (size, n) = (curve.coordinateSize, curve.orderForTests)
        let (zero, largest) = ([UInt8](repeating: 0, count: size), [UInt8](repeating: 0xFF, count: size))
        for hash in [HashFunction.sha256, .sha384, .sha512] {
            let signature = try key.signature(for: message, hash: hash)
            let (r, s) = (Array(signature.prefix(size)), Array(signature.suffix(size)))
            for wrong in [
                zero + zero, n + zero, zero + n, n + n, zero + s, r + zero, n + s, r + n, largest + s, r + largest,
                s + r,
            ] {
                #expect(!key.publicKey.isValidSignature(wrong, for: message, hash: hash), "\(wrong.hex)")
            }
        }
    }

    @Test(
        "Rejects DER and numbers of the wrong size as raw signatures",
        .shows("C2"),
        arguments: EllipticCurve.forTests
    )
    func otherFormats(curve: EllipticCurve) throws {
        let key = try ECPrivateKey.generate(curve)
        let size = curve.coordinateSize
        for _ in 0..<10 {
            let signature = try key.signature(for: message, hash: .sha256)
            let (r, s) = (Array(signature.prefix(size)), Array(signature.suffix(size)))
            let der = try signature.withBytes { try ECDSASignature.der(fromRaw: $0) }
            let padded: [[UInt8]] = [[0] + r + s, r + [0] + s, [0] + r + [0] + s]
            let shortened: [[UInt8]] = [Array(r.dropFirst()) + s, r, s, []]
            for wrong in [der] + padded + shortened {
                #expect(!key.publicKey.isValidSignature(wrong, for: message, hash: .sha256))
            }
        }
    }

    @Test(
        "Accepts the second signature with n - s, which JOSE permits",
        .shows("C3"),
        arguments: EllipticCurve.forTests
    )
    func malleability(curve: EllipticCurve) throws {
        let key = try ECPrivateKey.generate(curve)
        let signature = try key.signature(for: message, hash: .sha256)
        let size = curve.coordinateSize
        let other = Self.difference(curve.orderForTests, Array(signature.suffix(size)))
        #expect(key.publicKey.isValidSignature(Array(signature.prefix(size)) + other, for: message, hash: .sha256))
    }

    @Test(
        "Rejects an RSA signature that is shorter or longer than the modulus",
        .shows("C4"),
        arguments: [RSASignaturePadding.pkcs1v15, .pss]
    )
    func shortRSA(padding: RSASignaturePadding) throws {
        let key = try RSAPrivateKey.test()
        let signer = try key.signer(padding, hash: .sha256)
        let verifier = try key.publicKey.verifier(padding, hash: .sha256)
        // One signature in 256 has a leading zero, which could be dropped or doubled.
        var number = 0
        var signature = try signer.signature(for: [])
        while signature.first != 0 {
            number += 1
            signature = try signer.signature(for: Array("\(number)".utf8))
        }
        let message = number == 0 ? [] : Array("\(number)".utf8)
        #expect(verifier.isValidSignature(signature, for: message))
        #expect(!verifier.isValidSignature(Array(signature.dropFirst()), for: message))
        #expect(!verifier.isValidSignature([0] + signature, for: message))
        #expect(!verifier.isValidSignature(signature + [0], for: message))
    }

    /// A padded hash that a lenient PKCS#1 parser would accept.
    struct Block: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isValid: Bool
        let octets: @Sendable (_ hash: [UInt8]) -> [UInt8]

        init(_ name: String, isValid: Bool = false, _ octets: @escaping @Sendable (_ hash: [UInt8]) -> [UInt8]) {
            testDescription = name
            self.isValid = isValid
            self.octets = octets
        }

        static let prefix = [UInt8](hex: "3031300d060960864801650304020105000420")

        /// Returns a block of 256 bytes, filled up with 0xFF.
        static func block(type: UInt8 = 1, fill: UInt8 = 0xFF, _ information: [UInt8], after: [UInt8] = []) -> [UInt8] {
            let count = 253 - information.count - after.count
            return [0, type] + [UInt8](repeating: fill, count: count) + [0] + information + after
        }

        static let all = [
            Block("correct", isValid: true) { block(prefix + $0) },
            Block("bytes after the hash, fewer before it (Bleichenbacher 2006)") { hash in
                let start = [0, 1] + [UInt8](repeating: 0xFF, count: 8) + [0] + prefix + hash
                return start + [UInt8](repeating: 0, count: 256 - start.count)
            },
            Block("one byte after the hash") { block(prefix + $0, after: [0]) },
            Block("no NULL in the DigestInfo") { block([UInt8](hex: "302f300b0609608648016503040201" + "0420") + $0) },
            Block("a longer form of a length") {
                block([UInt8](hex: "308131300d06096086480165030402010500" + "0420") + $0)
            },
            Block("parameters other than NULL") { hash in
                block([UInt8](hex: "3035301106096086480165030402010504" + "00000000" + "0420") + hash)
            },
            Block("another hash's identifier") { block([UInt8](hex: "3031300d060960864801650304020205000420") + $0) },
            Block("no DigestInfo") { block($0) },
            Block("block type 2") { block(type: 2, prefix + $0) },
            Block("block type 0") { block(type: 0, fill: 0, prefix + $0) },
            Block("fill of zeros") { block(fill: 0, prefix + $0) },
            Block("a zero in the fill") { hash in
                var octets = block(prefix + hash)
                octets[50] = 0
                return octets
            },
            Block("no zero after the fill") { hash in
                var octets = block(prefix + hash)
                octets[255 - 32 - 19] = 0xFF
                return octets
            },
            Block("a shortened hash") { hash in
                block([UInt8](hex: "3030300d06096086480165030402010500041f") + hash.dropLast())
            },
        ]
    }

    @Test("Rejects any padding that deviates from PKCS#1", .shows("C6"), arguments: Block.all)
    func paddingForgery(block: Block) throws {
        let key = try RSAPrivateKey.test()
        let octets = block.octets(try HashFunction.sha256.hash(message))
        #expect(octets.count == 256)
        let pkcs8 = try PrivateKey.rsa(key).pkcs8DER().exposed
        let signature = try #require(BareOpenSSL.signature(of: octets, pkcs8: pkcs8))
        let verifier = try key.publicKey.verifier(.pkcs1v15, hash: .sha256)
        #expect(verifier.isValidSignature(signature, for: message) == block.isValid)
        #expect(try !key.publicKey.verifier(.pss, hash: .sha256).isValidSignature(signature, for: message))
    }

    @Test("Rejects an EdDSA signature with S plus the order", .shows("C11"), arguments: [EdwardsCurve.ed25519, .ed448])
    func largeS(curve: EdwardsCurve) throws {
        let key = try EdwardsPrivateKey.generate(curve)
        let signature = try key.signature(for: message)
        let half = curve.keySize
        let order = [UInt8](
            hex: curve == .ed25519
                ? "1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed"
                : "3fffffffffffffffffffffffffffffffffffffffffffffffffffffff7cca23e9c44edb49aed63690216cc2728dc58f55"
                    + "2378c292ab5844f3",
            size: half
        )
        var s = Array(signature.suffix(half))
        var carry = 0
        for (index, octet) in order.reversed().enumerated() {
            let sum = Int(s[index]) + Int(octet) + carry
            s[index] = UInt8(truncatingIfNeeded: sum)
            carry = sum >> 8
        }
        #expect(carry == 0)
        #expect(key.publicKey.isValidSignature(signature, for: message))
        #expect(!key.publicKey.isValidSignature(Array(signature.prefix(half)) + s, for: message))
    }

    @Test("Rejects an EdDSA signature with R of small order", .shows("C11"), arguments: [EdwardsCurve.ed25519, .ed448])
    func smallR(curve: EdwardsCurve) throws {
        let key = try EdwardsPrivateKey.generate(curve)
        let identity = [1] + [UInt8](repeating: 0, count: curve.keySize - 1)
        let zero = [UInt8](repeating: 0, count: curve.keySize)
        for r in [identity, zero] {
            #expect(!key.publicKey.isValidSignature(r + zero, for: message))
        }
    }

    /// Returns the difference of two big-endian numbers of the same size.
    private static func difference(_ left: [UInt8], _ right: [UInt8]) -> [UInt8] {
        var result = left
        var borrow = 0
        for index in left.indices.reversed() {
            let difference = Int(left[index]) - Int(right[index]) - borrow
            result[index] = UInt8(truncatingIfNeeded: difference)
            borrow = difference < 0 ? 1 : 0
        }
        return result
    }
}

extension EllipticCurve {
    static let forTests: [EllipticCurve] = [.p256, .p384, .p521, .secp256k1]

    /// The order of the group, padded to the size of a coordinate.
    var orderForTests: [UInt8] {
        let hex: [EllipticCurve: String] = [
            .p256: "FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551",
            .p384: "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFC7634D81F4372DDF581A0DB248B0A77AECEC196ACCC52973",
            .p521: "01FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFA51868783BF2F966B7FCC01"
                + "48F709A5D03BB5C9B8899C47AEBB6FB71E91386409",
            .secp256k1: "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141",
        ]
        return [UInt8](hex: hex[self] ?? "", size: coordinateSize)
    }
}
