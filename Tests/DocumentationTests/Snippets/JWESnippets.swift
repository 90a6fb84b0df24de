import Foundation
import Testing
import TokenGeneration

/// A hardware module with a private key.
struct DecryptionModule {
    /// Returns nothing, as if the encrypted key were for another key.
    func decrypt(_ encryptedKey: Data) async throws -> Data? {
        await Task.yield()
        return nil
    }
}

/// A key in the module.
struct CloudDecryptionKey: RemoteDecryptionService {
    let module: DecryptionModule
    let algorithm = JWEAlgorithm.rsaOAEP256

    func unwrapKey(_ encryptedKey: Data) async throws -> Data? {
        try await module.decrypt(encryptedKey)
    }
}

/// The samples of “Encrypting tokens”.
@Suite("JWE samples")
struct JWESnippets {
    private let document = Data("a document".utf8)

    @Test("Encrypts and decrypts")
    func compact() throws {
        let key = try DecryptionKey.generate(.ecdhESA256KW, on: .x25519)
        let recipient = try EncryptionKey(jwk: key.encryptionKey.jwk)
        let token = try recipient.encrypt(document)
        let policy = DecryptionPolicy(
            algorithms: [.ecdhESA256KW],
            encryptions: [.a256GCM]
        )
        let decrypter = JWEDecrypter(key: key, policy: policy)
        let content = try decrypter.decrypt(compact: token).plaintext
        #expect(content == document)
    }

    @Test("Signs and encrypts")
    func nested() throws {
        let key = try DecryptionKey.generate(.ecdhESA256KW)
        let recipient = key.encryptionKey
        let signingKey = try SigningKey.generate(.es256)
        let claims = RegisteredClaims(issuer: "me", expiration: Date(timeIntervalSinceNow: 300))
        let policy = DecryptionPolicy(algorithms: [.ecdhESA256KW], encryptions: [.a256GCM])
        let decrypter = JWEDecrypter(key: key, policy: policy)
        let verifier = JWTVerifier(key: signingKey.verificationKey, policy: ValidationPolicy(issuer: "me"))
        let token = try signingKey.sign(claims, encryptedFor: recipient)
        let verified = try verifier.verify(encrypted: token, with: decrypter)
        #expect(verified.registered.issuer == "me")
    }

    @Test("Finds the key to encrypt with")
    func keySet() throws {
        let key = try DecryptionKey.generate(.rsaOAEP256).identified(by: "enc-1")
        let clientKeys = JWKSet(keys: [key.encryptionKey.jwk])
        let recipient = try clientKeys.encryptionKey(
            for: .rsaOAEP256,
            keyID: "enc-1"
        )
        #expect(recipient.keyID == "enc-1")
    }

    @Test("Encrypts with a password")
    func password() throws {
        let text = "Tr4nsp0rt-of-one-d0cument"
        let password = try EncryptionPassword(text)
        let key = try EncryptionKey(
            password: password,
            algorithm: .pbes2HS256A128KW
        )
        let token = try key.encrypt(document)
        let policy = DecryptionPolicy(
            algorithms: [.pbes2HS256A128KW],
            encryptions: [.a256GCM],
            maximumPasswordIterations: 1_200_000
        )
        let decrypter = JWEDecrypter(
            key: try DecryptionKey(
                password: password,
                algorithm: .pbes2HS256A128KW
            ),
            policy: policy
        )
        #expect(try decrypter.decrypt(compact: token).plaintext == document)
    }

    @Test("Encrypts for several recipients")
    func recipients() throws {
        let context = Data("context".utf8)
        let key = try DecryptionKey.generate(.a256KW)
        let alice = try DecryptionKey.generate(.ecdhESA256KW).encryptionKey
        let bob = key.encryptionKey
        let policy = DecryptionPolicy(algorithms: [.a256KW], encryptions: [.a256GCM])
        let decrypter = JWEDecrypter(key: key, policy: policy)
        let json = try JWEGenerator(
            plaintext: document,
            additionalData: context,
            recipients: [JWERecipient(key: alice), JWERecipient(key: bob)]
        ).generalJSON()
        let jwe = try decrypter.decrypt(json: json.serialized())
        print(jwe.recipientIndex, jwe.additionalData ?? Data())
        #expect(jwe.recipientIndex == 1)
    }

    @Test("Asks a module for the key")
    func remoteKey() async throws {
        let token = try DecryptionKey.generate(.rsaOAEP256).encryptionKey.encrypt(document)
        let policy = DecryptionPolicy(algorithms: [.rsaOAEP256], encryptions: [.a256GCM])
        await #expect(throws: TokenError(.decryptionFailed, "")) {
            try await CloudDecryptionKey(module: DecryptionModule()).decrypt(compact: token, policy: policy)
        }
    }
}
