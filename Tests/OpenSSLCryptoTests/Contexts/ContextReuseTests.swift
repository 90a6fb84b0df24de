import OpenSSLCrypto
import TestSupport
import Testing

@Suite("Context reuse", .computing, .tags(.concurrency)) struct ContextReuseTests {
    @Test("Computes codes independently of earlier messages", arguments: [HashFunction.sha256, .sha384, .sha512])
    func codes(hash: HashFunction) throws {
        let key = [UInt8](0..<64).secret
        let used = try HMAC(hash, key: key)
        for size in 0..<300 {
            let message = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ size) }
            let fresh = try HMAC(hash, key: key)
            let expected = try fresh.authenticationCode(for: message)
            let code = try used.authenticationCode(for: message)
            #expect(code == expected, "message of \(size) bytes")
            #expect(used.isValid(code, for: message))
        }
    }

    @Test("Keeps the states of alternating keys apart")
    func turns() throws {
        let keys = try (1...20).map { try HMAC(.sha256, key: [UInt8](repeating: $0, count: 32).secret) }
        let message = Array("the same message".utf8)
        let first = try keys.map { try $0.authenticationCode(for: message) }
        #expect(Set(first).count == keys.count)
        for _ in 0..<3 { #expect(try keys.map { try $0.authenticationCode(for: message) } == first) }
    }

    @Test("Verifies correctly after valid and invalid signatures")
    func refusals() throws {
        let key = try ECPrivateKey.generate(.p256)
        let message = Array("message".utf8)
        for round in 0..<50 {
            let signature = try key.signature(for: message, hash: .sha256)
            var forged = signature
            forged[round % forged.count] ^= 1
            #expect(Self.isValid(forged, message, key) == false)
            #expect(Self.isValid(signature, message, key))
            #expect(Self.isValid([UInt8](repeating: 0, count: 64), message, key) == false)
            #expect(Self.isValid([UInt8](repeating: 0xFF, count: 64), message, key) == false)
        }
    }

    private static func isValid(_ signature: [UInt8], _ message: [UInt8], _ key: ECPrivateKey) -> Bool {
        key.publicKey.isValidSignature(signature, for: message, hash: .sha256)
    }
}
