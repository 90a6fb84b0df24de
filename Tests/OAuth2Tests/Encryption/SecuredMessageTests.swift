import Foundation
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@Suite("Registered encryption", .computing)
struct SecuredMessageTests {
    private let messages: [(SecuredMessage, String)] = [
        (.idToken, "id_token_encrypted_response"), (.userInfo, "userinfo_encrypted_response"),
        (.authorizationResponse, "authorization_encrypted_response"),
        (.introspectionResponse, "introspection_encrypted_response"),
        (.requestObject, "request_object_encryption"),
    ]

    @Test(
        "Writes and reads the registered names of every message",
        .shows("OpenID Connect Core §2, §10.2; Registration §2")
    )
    func names() throws {
        for (message, prefix) in messages {
            var metadata = ClientMetadata()
            #expect(try metadata.decryptionPolicy(for: message) == nil, "\(prefix)")
            #expect(try metadata.decrypter(for: message) == nil, "\(prefix)")
            metadata.secure(message, signedWith: .es256, encryptedWith: .rsaOAEP256, .a256GCM)
            #expect(metadata.members["\(prefix)_alg"] == "RSA-OAEP-256")
            #expect((metadata.members["\(prefix)_enc"], metadata.members.count) == ("A256GCM", 3))
            #expect(try metadata.signingAlgorithm(of: message) == .es256)
            let policy = try #require(try metadata.decryptionPolicy(for: message))
            #expect(policy.algorithms == [.rsaOAEP256] && policy.encryptions == [.a256GCM])
            metadata.secure(message)
            #expect(metadata.members.isEmpty)
        }
        var metadata = ClientMetadata()
        metadata.secure(.requestObject, signedWith: .ps256)
        #expect(metadata.members == ["request_object_signing_alg": "PS256"])
        metadata.secure(.introspectionResponse, signedWith: .es384)
        #expect(metadata.members["introspection_signed_response_alg"] == "ES384")
    }

    @Test("Assumes A128CBC-HS256 if only the key management algorithm is registered")
    func defaultEncryption() throws {
        for (message, prefix) in messages {
            let policy = try ClientMetadata(["\(prefix)_alg": "ECDH-ES"]).decryptionPolicy(for: message)
            #expect(policy?.encryptions == [.a128CBCHS256] && policy?.algorithms == [.ecdhES])
        }
        var metadata = ClientMetadata()
        metadata.secure(.idToken, encryptedWith: .ecdhES)
        #expect(metadata.members["id_token_encrypted_response_enc"] == "A128CBC-HS256")
    }

    @Test(
        "Rejects a registration that the package can't follow",
        arguments: [
            (["id_token_encrypted_response_enc": "A256GCM"], .algorithmRequired),
            (["id_token_encrypted_response_alg": "RSA1_5"], .unsupportedAlgorithm),
            (["id_token_encrypted_response_alg": "rsa-oaep"], .unsupportedAlgorithm),
            (["id_token_encrypted_response_alg": 7], .unsupportedAlgorithm),
            (["id_token_encrypted_response_alg": "PBES2-HS256+A128KW"], .unsupportedAlgorithm),
            (
                ["id_token_encrypted_response_alg": "dir", "id_token_encrypted_response_enc": "A1"],
                .unsupportedAlgorithm
            ),
        ] as [(JSONObject, TokenError.Code)]
    )
    func refusals(members: JSONObject, code: TokenError.Code) throws {
        let metadata = ClientMetadata(members)
        #expect(throws: TokenError(code, "")) { try metadata.decryptionPolicy(for: .idToken) }
        #expect(throws: TokenError(code, "")) { try metadata.decrypter(for: .idToken) }
        let unsigned = ClientMetadata(["id_token_signed_response_alg": "none"])
        #expect(throws: TokenError(.unsupportedAlgorithm, "")) { try unsigned.signingAlgorithm(of: .idToken) }
        #expect(try ClientMetadata().signingAlgorithm(of: .idToken) == nil)
    }

    @Test("Requires a key for the registered algorithm", .shows("E23"))
    func missingKey() throws {
        var metadata = ClientMetadata()
        metadata.secure(.idToken, encryptedWith: .ecdhES)
        let other = try DecryptionKey.generate(.ecdhESA256KW)
        #expect(throws: TokenError(.unknownKey, "")) { try metadata.decrypter(for: .idToken, keys: [other]) }
        // The key of another algorithm isn't derived from the secret.
        let secret = Secret(String(repeating: "s", count: 32))
        #expect(throws: TokenError(.unknownKey, "")) { try metadata.decrypter(for: .idToken, clientSecret: secret) }
        metadata.secure(.idToken, encryptedWith: .a128KW)
        #expect(throws: TokenError(.unknownKey, "")) { try metadata.decrypter(for: .idToken) }
        #expect(throws: TokenError(.weakKey, "")) {
            try metadata.decrypter(for: .idToken, clientSecret: Secret("fifteen bytes  "))
        }
        #expect(try metadata.decrypter(for: .idToken, clientSecret: secret) != nil)
    }

    @Test("The token's kid selects one of several keys, by default their thumbprints")
    func rotation() throws {
        var metadata = ClientMetadata()
        metadata.secure(.idToken, encryptedWith: .ecdhESA128KW)
        let keys = try (1...3).map { _ in try DecryptionKey.generate(.ecdhESA128KW) }
        metadata.encryptionKeys = keys.map(\.encryptionKey)
        let published = metadata.encryptionKeys
        #expect(Set(published.map(\.keyID)).count == 3 && published[0].jwk.members["use"] == "enc")
        let decrypter = try #require(try metadata.decrypter(for: .idToken, keys: keys))
        for key in published {
            let token = try key.encrypt(Data("content".utf8), encryption: .a128CBCHS256)
            #expect(try decrypter.decrypt(compact: token).plaintext == Data("content".utf8))
        }
        let nameless = try keys[0].encryptionKey.encrypt(Data(), encryption: .a128CBCHS256)
        #expect(throws: TokenError(.ambiguousKey, "")) { try decrypter.decrypt(compact: nameless) }
    }

    @Test("Publishes keys for signatures and for encryption next to each other, and no secrets")
    func publishedKeys() throws {
        var metadata = ClientMetadata()
        let signer = try SigningKey.generate(.es256)
        let key = try DecryptionKey.generate(.rsaOAEP256)
        let secret = try DecryptionKey.generate(.a256KW)
        metadata.encryptionKeys = [key.encryptionKey, secret.encryptionKey, secret.identified(by: "s").encryptionKey]
        metadata.keys = [signer.verificationKey]
        #expect(metadata.keys.map(\.thumbprint) == [signer.verificationKey.thumbprint])
        #expect(metadata.encryptionKeys.map(\.algorithm) == [.rsaOAEP256])
        let published = try #require(metadata.members["jwks"]?.object?["keys"]?.array)
        #expect(published.count == 2)
        #expect(published.allSatisfy { $0.object?["d"] == nil && $0.object?["k"] == nil })
        metadata.keys = []
        #expect(metadata.encryptionKeys.count == 1)
        metadata.encryptionKeys = []
        #expect(metadata.members.isEmpty)
    }

    @Test(
        "Derives keys from the client's secret as OpenID Connect Core §10.2 defines",
        .shows("OpenID Connect Core §2, §10.2; Registration §2"),
        arguments: [
            ("A128KW", "A128CBC-HS256", "RqJziVfGK5I3ZztsDniOyA"),
            ("A192KW", "A128CBC-HS256", "RqJziVfGK5I3ZztsDniOyLectvFCwOwd"),
            ("A256GCMKW", "A256GCM", "RqJziVfGK5I3ZztsDniOyLectvFCwOwdF4PGsVzVq6I"),
            ("dir", "A128GCM", "RqJziVfGK5I3ZztsDniOyA"),
            ("dir", "A128CBC-HS256", "RqJziVfGK5I3ZztsDniOyLectvFCwOwdF4PGsVzVq6I"),
            ("dir", "A192CBC-HS384", "_-1Jc7YxH6GzWteyiU7F-HmbnyJ2JXYI8e1jbb1Y50ta_ZOh-73McaEKbSDvyDQ4"),
            (
                "dir", "A256CBC-HS512",
                "p2TTOGy9ack51S44F7WkGVm73RXv7NDJktFXFGy6B3oTobqLzjdYhPc8mqw3D5SRjYWR2CVlDWg63DwFv-GLlQ"
            ),
        ]
    )
    func derivedKeys(algorithm: String, encryption: String, expected: String) throws {
        let secret = Secret("S3cret-of-the-client-é")
        let algorithm = try #require(JWEAlgorithm(rawValue: algorithm))
        let encryption = try #require(JWEEncryption(rawValue: encryption))
        let key = try DecryptionKey(clientSecret: secret, algorithm: algorithm, encryption: encryption)
        #expect(try key.privateJWK().members["k"]?.string == expected)
        let sender = try EncryptionKey(clientSecret: secret, algorithm: algorithm, encryption: encryption)
        let token = try sender.encrypt(Data("x".utf8), encryption: encryption)
        let policy = DecryptionPolicy(algorithms: [algorithm], encryptions: [encryption])
        #expect(try JWEDecrypter(key: key, policy: policy).decrypt(compact: token).plaintext == Data("x".utf8))
    }

    @Test("Derives no key for asymmetric algorithms, passwords and short secrets", .shows("E23"))
    func underivable() throws {
        let secret = Secret("S3cret-of-the-client-é")
        for algorithm in [JWEAlgorithm.rsaOAEP, .ecdhES, .ecdhESA256KW, .pbes2HS256A128KW] {
            #expect(throws: TokenError(.algorithmMismatch, "")) {
                try DecryptionKey(clientSecret: secret, algorithm: algorithm)
            }
        }
        #expect(throws: TokenError(.weakKey, "")) { try EncryptionKey(clientSecret: Secret(""), algorithm: .dir) }
    }
}
