import OpenSSLCrypto
import TestVectors
import Testing

@Suite("RSA signatures", .serialized) struct RSASignatureTests {
    struct Kind: Sendable, CustomTestStringConvertible {
        let padding: RSASignaturePadding
        let hash: HashFunction

        var testDescription: String { "\(padding) \(hash)" }

        static let all = [RSASignaturePadding.pkcs1v15, .pss].flatMap { padding in
            [HashFunction.sha256, .sha384, .sha512].map { Kind(padding: padding, hash: $0) }
        }
    }

    let message = Array("message".utf8)

    @Test("Verifies its own signatures for messages of any length", arguments: Kind.all)
    func roundTrip(kind: Kind) throws {
        let key = try RSAPrivateKey.test()
        let signer = try key.signer(kind.padding, hash: kind.hash)
        let verifier = try key.publicKey.verifier(kind.padding, hash: kind.hash)
        for count in [0, 1, 1000] {
            let message = [UInt8](repeating: 0x61, count: count)
            let signature = try signer.signature(for: message)
            #expect(signature.count == 256)
            #expect(verifier.isValidSignature(signature, for: message))
            #expect(!verifier.isValidSignature(signature, for: message + [0]))
        }
        #expect(try (signer.signature(for: message) == signer.signature(for: message)) == (kind.padding == .pkcs1v15))
    }

    @Test("Rejects a signature with another padding or hash") func kinds() throws {
        let key = try RSAPrivateKey.test()
        for made in Kind.all {
            let signature = try key.signer(made.padding, hash: made.hash).signature(for: message)
            for checked in Kind.all {
                let verifier = try key.publicKey.verifier(checked.padding, hash: checked.hash)
                let isSame = made.padding == checked.padding && made.hash == checked.hash
                #expect(verifier.isValidSignature(signature, for: message) == isSame)
            }
        }
    }

    @Test("Verifies and reproduces the signature of RFC 7515 A.2") func rfc7515() throws {
        let vector = try Vector.decode("rfc7515-a2-rs256", as: RFC7515.self)
        func secret(_ text: String) -> SecretBytes { [UInt8](base64URL: text).secret }
        let key = try RSAPrivateKey(
            modulus: [UInt8](base64URL: vector.key.n),
            exponent: [UInt8](base64URL: vector.key.e),
            privateExponent: secret(vector.key.d),
            factors: RSAFactors(
                p: secret(vector.key.p),
                q: secret(vector.key.q),
                dp: secret(vector.key.dp),
                dq: secret(vector.key.dq),
                qi: secret(vector.key.qi)
            )
        )
        let message = Array(vector.signingInput.utf8)
        let signature = [UInt8](base64URL: vector.signature)
        #expect(try key.signer(.pkcs1v15, hash: .sha256).signature(for: message) == signature)
        #expect(try key.publicKey.verifier(.pkcs1v15, hash: .sha256).isValidSignature(signature, for: message))
    }

    @Test("Rejects a signature with any flipped bit", arguments: [RSASignaturePadding.pkcs1v15, .pss])
    func flippedBits(padding: RSASignaturePadding) throws {
        let key = try RSAPrivateKey.test()
        let verifier = try key.publicKey.verifier(padding, hash: .sha256)
        let signature = try key.signer(padding, hash: .sha256).signature(for: message)
        for bit in 0..<signature.count * 8 {
            var changed = signature
            changed[bit / 8] ^= 1 << (bit % 8)
            #expect(!verifier.isValidSignature(changed, for: message))
        }
        #expect(verifier.isValidSignature(signature, for: message))
    }

    @Test("Accepts only signatures of the exact size", arguments: [RSASignaturePadding.pkcs1v15, .pss])
    func sizes(padding: RSASignaturePadding) throws {
        let key = try RSAPrivateKey.test()
        let verifier = try key.publicKey.verifier(padding, hash: .sha256)
        let signature = try key.signer(padding, hash: .sha256).signature(for: message)
        for wrong in [[], Array(signature.dropLast()), Array(signature.dropFirst()), signature + [0], [0] + signature] {
            #expect(!verifier.isValidSignature(wrong, for: message))
        }
    }

    @Test("Rejects 0, 1, the modulus and larger numbers", arguments: [RSASignaturePadding.pkcs1v15, .pss])
    func range(padding: RSASignaturePadding) throws {
        let key = try RSAPrivateKey.test()
        let verifier = try key.publicKey.verifier(padding, hash: .sha256)
        let zero = [UInt8](repeating: 0, count: 256)
        let one = Array(zero.dropLast()) + [1]
        for wrong in [zero, one, key.publicKey.modulus, [UInt8](repeating: 0xFF, count: 256)] {
            #expect(!verifier.isValidSignature(wrong, for: message))
        }
    }

    @Test("Rejects broken hash functions", arguments: [HashFunction.md5, .sha1])
    func brokenHash(hash: HashFunction) throws {
        let key = try RSAPrivateKey.test()
        #expect(code { _ = try key.signer(.pss, hash: hash) } == .invalidArgument)
        #expect(code { _ = try key.publicKey.verifier(.pkcs1v15, hash: hash) } == .invalidArgument)
    }

    @Test("Uses one key from many tasks concurrently", arguments: [RSASignaturePadding.pkcs1v15, .pss])
    func concurrency(padding: RSASignaturePadding) async throws {
        let key = try RSAPrivateKey.test()
        let signer = try key.signer(padding, hash: .sha256)
        let verifier = try key.publicKey.verifier(padding, hash: .sha256)
        let validCount = try await withThrowingTaskGroup(of: Int.self) { group in
            for task in 0..<8 {
                group.addTask { @concurrent in
                    try (0..<10).count { round in
                        let message = Array("task \(task), round \(round)".utf8)
                        let signature = try signer.signature(for: message)
                        return verifier.isValidSignature(signature, for: message)
                            && !verifier.isValidSignature(signature, for: message + [0])
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(validCount == 80)
    }
}

private struct RFC7515: Decodable {
    struct Key: Decodable {
        let n, e, d, p, q, dp, dq, qi: String
    }

    let key: Key
    let signingInput, signature: String

    enum CodingKeys: String, CodingKey {
        case key
        case signingInput = "signing_input"
        case signature = "signature_b64u"
    }
}
