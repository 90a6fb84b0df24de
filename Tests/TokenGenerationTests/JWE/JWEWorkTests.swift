import COpenSSLCalls
import Foundation
import OpenSSLCrypto
import TestSupport
import Testing

@testable import TokenGeneration

/// Counts the cryptographic operations of a decryption: their time depends only on the operations
/// and on public sizes.
@Suite("Work of a decryption that fails", .computing)
struct JWEWorkTests {
    private static var encryptions: [JWEEncryption] { [.a256GCM, .a256CBCHS512] }

    @Test(
        "A wrong key, a wrong tag and a changed token take the same work",
        .shows("E9"),
        arguments: JWEAlgorithm.implemented,
        encryptions
    )
    func sameWork(algorithm: JWEAlgorithm, encryption: JWEEncryption) throws {
        let curves: [KeyAgreementCurve] =
            if case .agreement = algorithm.details.scheme { [.p256, .p384, .p521, .x25519, .x448] } else { [.p256] }
        for curve in curves {
            let key = try JWEFixture.key(algorithm, on: curve, encryption: encryption)
            let token = try JWEFixture.encryptionKey(key).encrypt(JWEFixture.plaintext, encryption: encryption)
            let expected = try work(JWEFixture.changing(token, 4) { $0[0] ^= 1 }, key)
            #expect(!expected.isEmpty)
            // The initialization vector, the ciphertext and the tag; and a wrong encrypted key,
            // which is a wrong padding for RSA.
            for segment in 1...4 where !JWEFixture.segments(token)[segment].isEmpty {
                let changed = try JWEFixture.changing(token, segment) { $0[$0.count - 1] ^= 1 }
                #expect(try work(changed, key) == expected, "segment \(segment), \(curve)")
            }
            let other = try otherKey(algorithm, on: curve, encryption)
            #expect(try work(token, other) == expected, "another key, \(curve)")
        }
    }

    @Test("A wrapped key with a wrong tag takes the same work as a valid one") func wrappedKeyTag() throws {
        let key = try DecryptionKey.generate(.a256GCMKW)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        let tag = JSONValue.string(Base64URL.encode([UInt8](repeating: 7, count: 16)))
        let changed = try JWEFixture.changingHeader(token, ["tag": tag])
        let expected = try work(JWEFixture.changingHeader(token, ["x": "0123456789"]), key)
        #expect(try work(changed, key).map(\.name) == expected.map(\.name))
    }

    @Test("A content key of the wrong size takes the same work as a wrong tag", .shows("E13"), arguments: encryptions)
    func contentKeySize(encryption: JWEEncryption) throws {
        let key = try JWEFixture.key(.rsaOAEP256)
        guard case .rsa(_, let encrypter) = key.encryptionKey.material else { return }
        func token(_ size: Int) throws -> String {
            let contentKey = [UInt8](repeating: 3, count: size)
            return try JWEFixture.sealed(
                header: #"{"alg":"RSA-OAEP-256","enc":"\#(encryption)"}"#,
                encryptedKey: encrypter.encrypt(contentKey.withBytes { SecretBytes(copying: $0) }),
                contentKey: [UInt8](repeating: 4, count: encryption.cipher.keySize),
                cipher: encryption.cipher
            )
        }
        let expected = try work(token(encryption.cipher.keySize), key)
        for size in [0, 1, 16, 31, 33, 63, 65] {
            #expect(code { try JWEFixture.open(token(size), key) } == .decryptionFailed, "\(size) bytes")
            #expect(try work(token(size), key) == expected, "\(size) bytes")
        }
    }

    @Test("A point of small order takes the same work as a wrong key", arguments: [KeyAgreementCurve.x25519, .x448])
    func smallOrder(curve: KeyAgreementCurve) throws {
        let key = try DecryptionKey.generate(.ecdhESA256KW, on: curve)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        let zeros = [UInt8](repeating: 0, count: curve == .x25519 ? 32 : 56)
        let epk: JSONObject = ["kty": "OKP", "crv": .string(curve.rawValue), "x": .string(Base64URL.encode(zeros))]
        let changed = try JWEFixture.changingHeader(token, ["epk": .object(epk)])
        let expected = try work(JWEFixture.changing(token, 1) { $0[0] ^= 1 }, key)
        #expect(try work(changed, key).map(\.name) == expected.map(\.name))
    }

    /// Only the holder of the content key can make a valid tag over a wrong padding, so the
    /// decryption that follows the tag tells it nothing new.
    @Test("A wrong padding under a valid tag takes the same work as a valid token", .shows("E5")) func padding() throws
    {
        let contentKey = [UInt8](repeating: 3, count: 32)
        let header = #"{"alg":"A128KW","enc":"A128CBC-HS256"}"#
        let valid = try JWEFixture.made(header: header, contentKey: contentKey, cipher: .aes128CBCHMACSHA256)
        let wrong = try JWEFixture.withWrongPadding(valid, contentKey: contentKey)
        let key = try JWEFixture.secretKey()
        let changed = try JWEFixture.changing(valid, 4) { $0[0] ^= 1 }
        #expect(try JWEFixture.open(valid, key) == JWEFixture.plaintext)
        let refusals = [wrong, changed].map { token in error { try JWEFixture.open(token, key) } }
        #expect(refusals.map(\.?.code) == [.decryptionFailed, .decryptionFailed])
        #expect(refusals[0]?.message == refusals[1]?.message)
        let calls = try work(wrong, key)
        #expect(try calls == work(valid, key))
        // A wrong tag ends before anything is decrypted with the content key. The other cipher is
        // the one that unwraps it.
        let forged = try work(changed, key)
        #expect(calls.starts(with: forged))
        #expect(forged.count { $0.name == "EVP_CipherInit_ex" } == 1)
        #expect(calls.count { $0.name == "EVP_CipherInit_ex" } == 2)
    }

    @Test("A remote service that refuses takes the same work as one with a wrong key", .shows("E19")) func remote()
        async throws
    {
        let key = try JWEFixture.key(.rsaOAEP256)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        var all: [[Call]] = []
        for answer in [nil, Data(), Data(count: 16), Data(repeating: 9, count: 32)] {
            let accepted = try AcceptedJWE(
                EncryptedToken(compact: token, limits: JWELimits()),
                [RecipientIdentity(key)],
                JWEFixture.anyPolicy
            )
            let service = StubService(answer: answer)
            let remote = try await service.remoteKey(accepted.management)
            all.append(recording { _ = code { try service.decrypted(accepted, with: remote) } })
        }
        #expect(all.allSatisfy { $0 == all[0] && !$0.isEmpty })
    }

    /// A service that always returns the same key.
    private struct StubService: RemoteDecryptionService {
        let answer: Data?
        let algorithm = JWEAlgorithm.rsaOAEP256
        func unwrapKey(_ encryptedKey: Data) async throws -> Data? { answer }
    }

    private struct Call: Equatable {
        let name: String
        let size: Int
    }

    private func otherKey(
        _ algorithm: JWEAlgorithm,
        on curve: KeyAgreementCurve,
        _ encryption: JWEEncryption
    ) throws -> DecryptionKey {
        switch algorithm.details.scheme {
        case .password: try DecryptionKey(password: EncryptionPassword("battery staple"), algorithm: algorithm)
        case .oaep: try JWEFixture.otherRSAKey(algorithm)
        default: try JWEFixture.key(algorithm, on: curve, encryption: encryption)
        }
    }

    /// Returns the calls of OpenSSL during a decryption.
    private func work(_ token: String, _ key: DecryptionKey) throws -> [Call] {
        let decrypter = JWEDecrypter(key: key, policy: JWEFixture.anyPolicy)
        // The first use of a key or cipher prepares it.
        _ = code { try decrypter.decrypt(compact: token) }
        return recording { _ = code { try decrypter.decrypt(compact: token) } }
    }

    private func recording(_ body: () -> Void) -> [Call] {
        openssl_calls_start()
        body()
        let count = openssl_calls_stop()
        return (0..<count).map { index in
            Call(name: unsafe String(cString: openssl_calls_name(index)), size: openssl_calls_size(index))
        }
    }
}
