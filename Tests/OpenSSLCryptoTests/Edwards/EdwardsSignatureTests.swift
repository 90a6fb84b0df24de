import OpenSSLCrypto
import TestVectors
import Testing

@Suite("EdDSA", .serialized) struct EdwardsSignatureTests {
    let message = Array("message".utf8)

    @Test("Verifies its own signatures for messages of any length", arguments: [EdwardsCurve.ed25519, .ed448])
    func roundTrip(curve: EdwardsCurve) throws {
        let key = try EdwardsPrivateKey.generate(curve)
        for count in [0, 1, 1000] {
            let message = [UInt8](repeating: 0x61, count: count)
            let signature = try key.signature(for: message)
            #expect(signature.count == curve.signatureSize)
            #expect(try key.signature(for: message) == signature)
            #expect(key.publicKey.isValidSignature(signature, for: message))
            #expect(!key.publicKey.isValidSignature(signature, for: message + [0]))
            #expect(try !EdwardsPrivateKey.generate(curve).publicKey.isValidSignature(signature, for: message))
        }
    }

    @Test("RFC 8037 A.1, A.2, A.4: the public key and the signature match") func rfc8037() throws {
        let vector = try Vector.decode("rfc8037-a", as: RFC8037.self)
        let octets = [UInt8](hex: vector.key.x)
        let key = try EdwardsPrivateKey(curve: .ed25519, seed: [UInt8](hex: vector.key.d).secret, expecting: octets)
        let message = Array(vector.signature.input.utf8)
        let signature = [UInt8](hex: vector.signature.hex)
        #expect(try key.signature(for: message) == signature)
        #expect(try EdwardsPublicKey(curve: .ed25519, octets: octets).isValidSignature(signature, for: message))
    }

    @Test("RFC 8032 §7.4: Ed448 with an empty message and one byte", arguments: RFC8032.ed448)
    func rfc8032(vector: RFC8032) throws {
        let octets = [UInt8](hex: vector.publicKey)
        let key = try EdwardsPrivateKey(curve: .ed448, seed: [UInt8](hex: vector.seed).secret, expecting: octets)
        let message = [UInt8](hex: vector.message)
        #expect(try key.signature(for: message) == [UInt8](hex: vector.signature))
        let publicKey = try EdwardsPublicKey(curve: .ed448, octets: octets)
        #expect(publicKey.isValidSignature([UInt8](hex: vector.signature), for: message))
    }

    @Test("Rejects a signature with any flipped bit", arguments: [EdwardsCurve.ed25519, .ed448])
    func flippedBits(curve: EdwardsCurve) throws {
        let key = try EdwardsPrivateKey.generate(curve)
        let signature = try key.signature(for: message)
        for bit in 0..<signature.count * 8 {
            var changed = signature
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!key.publicKey.isValidSignature(changed, for: message))
        }
        #expect(key.publicKey.isValidSignature(signature, for: message))
    }

    @Test("Accepts only signatures of the exact size", arguments: [EdwardsCurve.ed25519, .ed448])
    func sizes(curve: EdwardsCurve) throws {
        let key = try EdwardsPrivateKey.generate(curve)
        let signature = try key.signature(for: message)
        for wrong in [[], Array(signature.dropLast()), Array(signature.dropFirst()), signature + [0], [0] + signature] {
            #expect(!key.publicKey.isValidSignature(wrong, for: message))
        }
    }

    @Test("Uses one key from many tasks concurrently", arguments: [EdwardsCurve.ed25519, .ed448])
    func concurrency(curve: EdwardsCurve) async throws {
        let key = try EdwardsPrivateKey.generate(curve)
        let validCount = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask { @concurrent in
                    try (0..<25).count { round in
                        let message = Array("task \(task), round \(round)".utf8)
                        let signature = try key.signature(for: message)
                        return key.publicKey.isValidSignature(signature, for: message)
                            && !key.publicKey.isValidSignature(signature, for: message + [0])
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(validCount == 200)
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

private struct RFC8037: Decodable {
    struct Key: Decodable {
        let d, x: String

        enum CodingKeys: String, CodingKey {
            case d = "d_hex"
            case x = "x_hex"
        }
    }

    struct Signature: Decodable {
        let input, hex: String

        enum CodingKeys: String, CodingKey {
            case input = "signing_input"
            case hex = "signature_hex"
        }
    }

    let key: Key
    let signature: Signature

    enum CodingKeys: String, CodingKey {
        case key = "a1_ed25519_private"
        case signature = "a4_sign"
    }
}
