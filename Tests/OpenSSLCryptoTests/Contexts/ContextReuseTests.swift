import OpenSSLCrypto
import Testing

@Suite("Context reuse", .serialized) struct ContextReuseTests {
    @Test("Computes codes independently of earlier messages", arguments: [HashFunction.sha256, .sha384, .sha512])
    func codes(hash: HashFunction) throws {
        let key = [UInt8](0..<64).withBytes { SecretBytes(copying: $0) }
        let used = try HMAC(hash, key: key)
        for size in 0..<300 {
            let message = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ size) }
            let fresh = try HMAC(hash, key: key)
            let expected = try message.withBytes { message throws(CryptoError) in
                try fresh.authenticationCode(for: message)
            }
            let code = try message.withBytes { message throws(CryptoError) in try used.authenticationCode(for: message)
            }
            #expect(code == expected, "message of \(size) bytes")
            let isValid = message.withBytes { message in code.withBytes { used.isValid($0, for: message) } }
            #expect(isValid)
        }
    }

    @Test("Keeps the states of alternating keys apart")
    func turns() throws {
        let keys = try (0..<20).map { number in
            try HMAC(
                .sha256,
                key: [UInt8](repeating: UInt8(number + 1), count: 32).withBytes { SecretBytes(copying: $0) }
            )
        }
        let message = Array("the same message".utf8)
        let first = try keys.map { key in try message.withBytes { message in try key.authenticationCode(for: message) }
        }
        #expect(Set(first).count == keys.count)
        for _ in 0..<3 {
            let again = try keys.map { key in
                try message.withBytes { message in try key.authenticationCode(for: message) }
            }
            #expect(again == first)
        }
    }

    @Test("Verifies correctly after valid and invalid signatures")
    func refusals() throws {
        let key = try ECPrivateKey.generate(.p256)
        let message = Array("message".utf8)
        for round in 0..<50 {
            let signature = try message.withBytes { message in try key.signature(for: message, hash: .sha256) }
            var forged = signature
            forged[round % forged.count] ^= 1
            #expect(Self.isValid(forged, message, key) == false)
            #expect(Self.isValid(signature, message, key))
            #expect(Self.isValid([UInt8](repeating: 0, count: 64), message, key) == false)
            #expect(Self.isValid([UInt8](repeating: 0xFF, count: 64), message, key) == false)
        }
    }

    @Test("Uses one key from many threads concurrently")
    func threads() async throws {
        let code = try HMAC(.sha256, key: [UInt8](repeating: 7, count: 32).withBytes { SecretBytes(copying: $0) })
        let key = try ECPrivateKey.generate(.p256)
        let failures = await withTaskGroup(of: Int.self) { group in
            for worker in 0..<40 {
                group.addTask {
                    var failures = 0
                    for round in 0..<25 {
                        let message = Array("\(worker) \(round)".utf8)
                        let value = try? message.withBytes { message in try code.authenticationCode(for: message) }
                        let signature = try? message.withBytes { message in
                            try key.signature(for: message, hash: .sha256)
                        }
                        let isCode = message.withBytes { message in
                            (value ?? []).withBytes { code.isValid($0, for: message) }
                        }
                        if !isCode || !Self.isValid(signature ?? [], message, key) { failures += 1 }
                    }
                    return failures
                }
            }
            return await group.reduce(0, +)
        }
        #expect(failures == 0)
    }

    private static func isValid(_ signature: [UInt8], _ message: [UInt8], _ key: ECPrivateKey) -> Bool {
        message.withBytes { message in
            signature.withBytes { key.publicKey.isValidSignature($0, for: message, hash: .sha256) }
        }
    }
}
