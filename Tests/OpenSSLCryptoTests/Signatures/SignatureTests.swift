import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing

/// A signature algorithm with a hash function.
struct SignatureScheme: Sendable, CustomTestStringConvertible {
    struct KeyPair: Sendable {
        let sign: @Sendable (_ message: [UInt8]) throws -> [UInt8]
        let isValid: @Sendable (_ signature: [UInt8], _ message: [UInt8]) -> Bool
    }

    let testDescription: String
    let signatureSize: Int
    let isDeterministic: Bool
    /// Returns a new key pair; for RSA, always the same one.
    let keyPair: @Sendable () throws -> KeyPair

    static func ecdsa(_ curve: EllipticCurve, _ hash: HashFunction) -> Self {
        Self(
            testDescription: "ECDSA \(curve.name) \(hash)",
            signatureSize: 2 * curve.coordinateSize,
            isDeterministic: false
        ) {
            let key = try ECPrivateKey.generate(curve)
            return KeyPair {
                try key.signature(for: $0, hash: hash)
            } isValid: {
                key.publicKey.isValidSignature($0, for: $1, hash: hash)
            }
        }
    }

    static func edwards(_ curve: EdwardsCurve) -> Self {
        Self(testDescription: curve.name, signatureSize: curve.signatureSize, isDeterministic: true) {
            let key = try EdwardsPrivateKey.generate(curve)
            return KeyPair {
                try key.signature(for: $0)
            } isValid: {
                key.publicKey.isValidSignature($0, for: $1)
            }
        }
    }

    static func rsa(_ padding: RSASignaturePadding, _ hash: HashFunction) -> Self {
        Self(testDescription: "RSA \(padding) \(hash)", signatureSize: 256, isDeterministic: padding == .pkcs1v15) {
            let key = try RSAPrivateKey.test()
            let signer = try key.signer(padding, hash: hash)
            let verifier = try key.publicKey.verifier(padding, hash: hash)
            return KeyPair {
                try signer.signature(for: $0)
            } isValid: {
                verifier.isValidSignature($0, for: $1)
            }
        }
    }

    /// One scheme of each algorithm.
    static let samples = [
        ecdsa(.p256, .sha256), edwards(.ed25519), edwards(.ed448), rsa(.pkcs1v15, .sha256), rsa(.pss, .sha256),
    ]
    static let rsa = [RSASignaturePadding.pkcs1v15, .pss].flatMap { padding in
        [HashFunction.sha256, .sha384, .sha512].map { rsa(padding, $0) }
    }
    static let all =
        [
            ecdsa(.p256, .sha256), ecdsa(.p384, .sha384), ecdsa(.p521, .sha512), ecdsa(.secp256k1, .sha256),
            ecdsa(.p256, .sha512), ecdsa(.p521, .sha256), edwards(.ed25519), edwards(.ed448),
        ] + rsa
}

@Suite("Signatures", .computing, .tags(.concurrency)) struct SignatureTests {
    private let message = Array("message".utf8)

    @Test(
        "Verifies its own signatures for messages of any length",
        .shows("RFC 7518 §3.3"),
        arguments: SignatureScheme.all
    )
    func roundTrip(scheme: SignatureScheme) throws {
        let (pair, other) = (try scheme.keyPair(), try scheme.keyPair())
        for count in [0, 1, 1000] {
            let message = [UInt8](repeating: 0x61, count: count)
            let signature = try pair.sign(message)
            #expect(signature.count == scheme.signatureSize)
            #expect(pair.isValid(signature, message))
            #expect(!pair.isValid(signature, message + [0]))
            #expect(try (pair.sign(message) == signature) == scheme.isDeterministic)
            let isRSA = scheme.testDescription.hasPrefix("RSA")
            #expect(other.isValid(signature, message) == isRSA)
        }
    }

    @Test("Rejects a signature with any flipped bit", arguments: SignatureScheme.samples)
    func flippedBits(scheme: SignatureScheme) throws {
        let pair = try scheme.keyPair()
        let signature = try pair.sign(message)
        for bit in 0..<signature.count * 8 {
            var changed = signature
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!pair.isValid(changed, message), "bit \(bit)")
        }
        #expect(pair.isValid(signature, message))
    }

    @Test(
        "Accepts only signatures of the exact size",
        .shows("C2", "C11", "RFC 7518 §3.4"),
        arguments: SignatureScheme.samples
    )
    func sizes(scheme: SignatureScheme) throws {
        let pair = try scheme.keyPair()
        let signature = try pair.sign(message)
        let shortened = signature.indices.map { Array(signature.prefix($0)) } + [Array(signature.dropFirst())]
        for wrong in shortened + [signature + [0], [0] + signature] {
            #expect(!pair.isValid(wrong, message), "\(wrong.count) bytes")
        }
    }

    @Test("Uses one key from many tasks concurrently", arguments: SignatureScheme.samples + [.ecdsa(.p521, .sha256)])
    func concurrency(scheme: SignatureScheme) async throws {
        let pair = try scheme.keyPair()
        let validCount = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<16 {
                group.addTask { @concurrent in
                    try (0..<25).count { round in
                        let message = Array("task \(task), round \(round)".utf8)
                        let signature = try pair.sign(message)
                        return pair.isValid(signature, message) && !pair.isValid(signature, message + [0])
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(validCount == 16 * 25)
    }

    @Test("Rejects broken hash functions", arguments: [HashFunction.md5, .sha1])
    func brokenHash(hash: HashFunction) throws {
        let key = try ECPrivateKey.generate(.p256)
        #expect(code { _ = try key.signature(for: message, hash: hash) } == .invalidArgument)
        // A signature over the same 20 octets, which OpenSSL would accept.
        let signature = try key.signature(for: message, hash: .sha256)
        #expect(!key.publicKey.isValidSignature(signature, for: message, hash: hash))
        let rsa = try RSAPrivateKey.test()
        #expect(code { _ = try rsa.signer(.pss, hash: hash) } == .invalidArgument)
        #expect(code { _ = try rsa.publicKey.verifier(.pkcs1v15, hash: hash) } == .invalidArgument)
    }

    // MARK: RSA

    @Test("Rejects an RSA signature with another padding or hash", .shows("A8")) func kinds() throws {
        for (index, made) in SignatureScheme.rsa.enumerated() {
            let signature = try made.keyPair().sign(message)
            let accepting = try SignatureScheme.rsa.indices.filter {
                try SignatureScheme.rsa[$0].keyPair().isValid(signature, message)
            }
            #expect(accepting == [index])
        }
    }

    @Test(
        "Rejects 0, 1, the modulus and larger numbers as RSA signatures",
        .shows("RFC 8017 §3.2, §8"),
        arguments: SignatureScheme.rsa
    )
    func range(scheme: SignatureScheme) throws {
        let pair = try scheme.keyPair()
        let zero = [UInt8](repeating: 0, count: 256)
        let one = Array(zero.dropLast()) + [1]
        let modulus = try RSAPrivateKey.test().publicKey.modulus
        for wrong in [zero, one, modulus, [UInt8](repeating: 0xFF, count: 256)] {
            #expect(!pair.isValid(wrong, message))
        }
    }

    // MARK: ECDSA

    @Test("Pads short ECDSA numbers") func padding() throws {
        // One signature in 128 has a leading zero in r or s. Incorrect padding would cause a wrong
        // size or an invalid signature.
        let pair = try SignatureScheme.ecdsa(.p256, .sha256).keyPair()
        var paddedCount = 0
        for _ in 0..<1500 {
            let signature = try pair.sign(message)
            guard signature[0] == 0 || signature[32] == 0 else { continue }
            paddedCount += 1
            #expect(signature.count == 64)
            #expect(pair.isValid(signature, message))
        }
        #expect(paddedCount > 0)
    }

    @Test("Rejects an ECDSA signature for another curve or hash") func mixedUp() throws {
        let key = try ECPrivateKey.generate(.p256)
        let signature = try key.signature(for: message, hash: .sha256)
        let other = try SignatureScheme.ecdsa(.secp256k1, .sha256).keyPair()
        #expect(!other.isValid(signature, message))
        #expect(!key.publicKey.isValidSignature(signature, for: message, hash: .sha384))
    }

    @Test(
        "RFC 6979: the public key matches and the signatures verify",
        .shows("RFC 6979"),
        arguments: ["rfc6979-a2.5-p256", "rfc6979-a2.6-p384", "rfc6979-a2.7-p521"]
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

    // MARK: EdDSA

    @Test(
        "RFC 8032 §7.4: Ed448 with an empty message and one byte",
        .shows("RFC 8032 §5, §7"),
        arguments: RFC8032.ed448
    )
    func rfc8032(vector: RFC8032) throws {
        let octets = [UInt8](hex: vector.publicKey)
        let key = try EdwardsPrivateKey(curve: .ed448, seed: [UInt8](hex: vector.seed).secret, expecting: octets)
        let message = [UInt8](hex: vector.message)
        #expect(try key.signature(for: message) == [UInt8](hex: vector.signature))
        let publicKey = try EdwardsPublicKey(curve: .ed448, octets: octets)
        #expect(publicKey.isValidSignature([UInt8](hex: vector.signature), for: message))
    }

    struct RFC8032: Sendable, CustomTestStringConvertible {
        let seed, publicKey, message, signature: String

        var testDescription: String { "\(message.count / 2) bytes" }

        static let ed448 = [
            RFC8032(
                seed: "6c82a562cb808d10d632be89c8513ebf6c929f34ddfa8c9f63c9960ef6e348a3528c8a3fcc2f044e39a3fc5b94492f8f"
                    + "032e7549a20098f95b",
                publicKey:
                    "5fd7449b59b461fd2ce787ec616ad46a1da1342485a70e1f8a0ea75d80e96778edf124769b46c7061bd6783df1e50f6c"
                    + "d1fa1abeafe8256180",
                message: "",
                signature:
                    "533a37f6bbe457251f023c0d88f976ae2dfb504a843e34d2074fd823d41a591f2b233f034f628281f2fd7a22ddd47d78"
                    + "28c59bd0a21bfd3980ff0d2028d4b18a9df63e006c5d1c2d345b925d8dc00b4104852db99ac5c7cdda8530a113a0f4db"
                    + "b61149f05a7363268c71d95808ff2e652600"
            ),
            RFC8032(
                seed: "c4eab05d357007c632f3dbb48489924d552b08fe0c353a0d4a1f00acda2c463afbea67c5e8d2877c5e3bc397a659949e"
                    + "f8021e954e0a12274e",
                publicKey:
                    "43ba28f430cdff456ae531545f7ecd0ac834a55d9358c0372bfa0c6c6798c0866aea01eb00742802b8438ea4cb82169c"
                    + "235160627b4c3a9480",
                message: "03",
                signature:
                    "26b8f91727bd62897af15e41eb43c377efb9c610d48f2335cb0bd0087810f4352541b143c4b981b7e18f62de8ccdf633"
                    + "fc1bf037ab7cd779805e0dbcc0aae1cbcee1afb2e027df36bc04dcecbf154336c19f0af7e0a6472905e799f1953d2a0f"
                    + "f3348ab21aa4adafd1d234441cf807c03a00"
            ),
        ]
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
