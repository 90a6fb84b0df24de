import Foundation
import OpenSSLCrypto
import TestSupport
import Testing

@testable import TokenGeneration

/// A key management service that decrypts with a key in this process.
private struct FakeDecryptionService: RemoteDecryptionService {
    struct Failure: Error {}

    let key: DecryptionKey
    var keyID: String? = "kms/1"
    var isDown = false
    var change: @Sendable (Data?) -> Data? = { $0 }

    var algorithm: JWEAlgorithm { key.algorithm }

    func unwrapKey(_ encryptedKey: Data) async throws -> Data? {
        if isDown { throw Failure() }
        switch key.material {
        case .rsa(_, let decrypter): return change(decrypter.decrypt(Array(encryptedKey)).map { Data($0) })
        case .secret(let secret):
            return change(try AESKeyWrap(key: secret).unwrap(Array(encryptedKey)).map { Data($0) })
        default: return nil
        }
    }

    func agreeKey(with publicKey: JWK) async throws -> Data? {
        if isDown { throw Failure() }
        guard case .agreement(_, let recipient) = key.material else { return nil }
        return change(try recipient.secret(with: publicKey.publicKey()).map { Data($0) })
    }
}

/// A service that implements nothing.
private struct EmptyDecryptionService: RemoteDecryptionService {
    let algorithm: JWEAlgorithm
}

@Suite("Remote decryption", .computing)
struct RemoteDecryptionTests {
    private static let algorithms: [JWEAlgorithm] = [
        .rsaOAEP256, .a256KW, .ecdhES, .ecdhESA128KW, .ecdhESA256KW,
    ]

    private func refusal(
        _ service: some RemoteDecryptionService,
        _ token: String,
        _ policy: DecryptionPolicy = JWEFixture.anyPolicy
    ) async -> TokenError.Code? {
        await asyncCode { try await service.decrypt(compact: token, policy: policy) }
    }

    @Test("A remote key decrypts like a local one", .shows("J10"), arguments: algorithms)
    func decrypts(algorithm: JWEAlgorithm) async throws {
        let key = try JWEFixture.key(algorithm, on: .x25519)
        let service = FakeDecryptionService(key: key)
        let generator = JWEGenerator(
            plaintext: JWEFixture.plaintext,
            recipients: [JWERecipient(key: key.encryptionKey)]
        )
        let jwe = try await service.decrypt(compact: generator.compact(), policy: JWEFixture.anyPolicy)
        #expect(jwe.plaintext == JWEFixture.plaintext)
        #expect(jwe.keyID == "kms/1")
        let json = try await service.decrypt(
            json: generator.generalJSON().serialized(),
            policy: JWEFixture.anyPolicy
        )
        #expect(json.plaintext == JWEFixture.plaintext)
    }

    @Test("Throws the same error for every token that the service can't decrypt", .shows("E19"), arguments: algorithms)
    func oneError(algorithm: JWEAlgorithm) async throws {
        let key = try JWEFixture.key(algorithm)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        let changes: [@Sendable (Data?) -> Data?] = [
            { _ in nil }, { _ in Data() }, { $0.map { Data($0.dropLast()) } }, { $0.map { $0 + [0] } },
            { $0.map { Data(repeating: 0, count: $0.count) } }, { $0.map { Data($0.map { $0 ^ 1 }) } },
        ]
        for change in changes {
            let service = FakeDecryptionService(key: key, change: change)
            #expect(await refusal(service, token) == .decryptionFailed)
        }
        let changed = try JWEFixture.changing(token, 4) { $0[0] ^= 1 }
        let service = FakeDecryptionService(key: key)
        #expect(await refusal(service, changed) == .decryptionFailed)
    }

    @Test("The service's errors are passed on", arguments: algorithms)
    func unavailable(algorithm: JWEAlgorithm) async throws {
        let key = try JWEFixture.key(algorithm)
        let token = try key.encryptionKey.encrypt(JWEFixture.plaintext)
        let service = FakeDecryptionService(key: key, isDown: true)
        await #expect(throws: FakeDecryptionService.Failure.self) {
            try await service.decrypt(compact: token, policy: JWEFixture.anyPolicy)
        }
    }

    @Test("The policy and the header are checked before the service is asked") func checksFirst() async throws {
        let key = try DecryptionKey.generate(.ecdhESA256KW)
        let token = try key.encryptionKey.encrypt(Data())
        let service = FakeDecryptionService(key: key, isDown: true)
        let policy = DecryptionPolicy(algorithms: [.rsaOAEP], encryptions: [.a256GCM])
        #expect(await refusal(service, token, policy) == .algorithmMismatch)
        let changed = try JWEFixture.changingHeader(token, ["epk": nil])
        #expect(await refusal(service, changed) == .malformedToken)
        let other = try DecryptionKey.generate(.ecdhES).encryptionKey.encrypt(Data())
        #expect(await refusal(service, other) == .algorithmMismatch)
    }

    @Test(
        "Services can't have keys for other algorithms",
        arguments: [JWEAlgorithm.dir, .a128GCMKW, .pbes2HS256A128KW]
    )
    func otherAlgorithms(algorithm: JWEAlgorithm) async throws {
        let key = try JWEFixture.key(algorithm)
        let token = try JWEFixture.encryptionKey(key).encrypt(Data())
        let service = FakeDecryptionService(key: key)
        #expect(await refusal(service, token) == .unsupportedAlgorithm)
    }

    @Test("An unimplemented function is named", arguments: [JWEAlgorithm.rsaOAEP, .ecdhES])
    func unimplemented(algorithm: JWEAlgorithm) async throws {
        let token = try JWEFixture.key(algorithm).encryptionKey.encrypt(Data())
        let service = EmptyDecryptionService(algorithm: algorithm)
        #expect(await refusal(service, token) == .unsupportedAlgorithm)
    }

    @Test("A nested token with a remote key verifies") func nested() async throws {
        let signing = try SigningKey.generate(.ed25519)
        let key = try DecryptionKey.generate(.ecdhES)
        let claims: JSONObject = ["exp": 1_700_000_100]
        let token = try signing.sign(claims, encryptedFor: key.encryptionKey)
        var policy = ValidationPolicy()
        policy.currentDate = { Date(timeIntervalSince1970: 1_700_000_000) }
        let jwe = try await FakeDecryptionService(key: key).decrypt(compact: token, policy: JWEFixture.anyPolicy)
        let verified = try JWTVerifier(key: signing.verificationKey, policy: policy).verify(contentOf: jwe)
        #expect(verified.claims == claims)
    }
}
