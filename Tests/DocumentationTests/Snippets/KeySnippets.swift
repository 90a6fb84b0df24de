import Foundation
import Testing
import TokenGeneration

struct KeyServiceClient: Sendable {
    let sign: @Sendable (Data) throws -> Data

    func sign(digest: Data) async throws -> Data { try sign(digest) }
}

struct CloudKey: RemoteSigningService {
    let client: KeyServiceClient
    let algorithm = JWSAlgorithm.es256
    let keyID: String? = "projects/1/keys/2"
    let messageForm = RemoteMessageForm.digest
    let verificationKey: VerificationKey?

    func sign(_ message: Data) async throws -> RemoteSignature {
        .der(try await client.sign(digest: message))
    }
}

/// The TokenGeneration catalog's samples about keys.
@Suite("TokenGeneration samples about keys")
struct KeySnippets {
    @Test("Generates and reads keys")
    func keys() throws {
        let made = try SigningKey.generate(.es256).verificationKey.jwk.members.serialized()
        let keys = try read(
            rsaPEM: SigningKey.generate(.ps256).pem(),
            secret: [UInt8](repeating: 7, count: 32),
            jwkText: made
        )
        #expect(keys == [.es256, .ps256, .hs256, .es256, .es256])
    }

    private func read(rsaPEM: String, secret: [UInt8], jwkText: String) throws -> [JWSAlgorithm] {
        let key = try SigningKey.generate(.es256)
        let rsaKey = try SigningKey(pem: rsaPEM, algorithm: .ps256)
        let secretKey = try SigningKey(secret: secret, algorithm: .hs256)
        let publicKey = try VerificationKey(pem: key.verificationKey.pem())
        let jwkKey = try VerificationKey(jwk: JWK(parsing: jwkText))
        return [key.algorithm, rsaKey.algorithm, secretKey.algorithm, publicKey.algorithm, jwkKey.algorithm]
    }

    @Test("Encrypts a backup with a password")
    func backup() throws {
        let key = try SigningKey.generate(.ed25519)
        let password = "correct horse"
        let backup = try key.pem(.encryptedPKCS8(password: password))
        let restored = try SigningKey(pem: backup, password: password)
        #expect(restored.verificationKey.thumbprint == key.verificationKey.thumbprint)
    }

    @Test("Rotates keys")
    func rotation() throws {
        let (newKey, oldKey) = (try SigningKey.generate(.es256), try SigningKey.generate(.es256))
        let current = newKey.identified(by: "2026-07")
        let previous = oldKey.verificationKey
        let published = JWKSet(keys: [current.verificationKey.jwk, previous.jwk])
            .serialized()

        let (set, policy) = (try JWKSet(parsing: published), ValidationPolicy())
        let selection = KeySelection(
            maximumCandidates: 4,
            assumedAlgorithms: [.rs256]
        )
        let verifier = JWTVerifier(keys: set, selection: selection, policy: policy)
        let token = try JWTGenerator(payload: ["exp": 4_000_000_000], signingService: current).token()
        #expect(try verifier.verify(token).header["kid"] == "2026-07")
    }

    @Test("Throws a remote service's error to the caller")
    func remote() async throws {
        let cloudKey = CloudKey(client: KeyServiceClient { _ in throw CancellationError() }, verificationKey: nil)
        await #expect(throws: CancellationError.self) {
            try await sign(RegisteredClaims(subject: "alice"), cloudKey)
        }
    }

    private func sign(_ claims: RegisteredClaims, _ cloudKey: CloudKey) async throws -> String {
        let token = try await cloudKey.sign(claims)
        return token
    }
}
