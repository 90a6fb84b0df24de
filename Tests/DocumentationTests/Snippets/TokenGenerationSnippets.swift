import Foundation
import Testing
import TokenGeneration

/// The samples of the TokenGeneration catalog.
@Suite("TokenGeneration samples")
struct TokenGenerationSnippets {
    @Test("Signs and verifies a token")
    func signingAndVerifying() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "key.pem").path(percentEncoded: false)
        try SigningKey.generate(.es256).pem().write(toFile: path, atomically: true, encoding: .utf8)
        let (key, token) = try sign(path)
        #expect(try verify(token, key).issuer == "https://id.example")
    }

    private func sign(_ path: String) throws -> (SigningKey, String) {
        let key = try SigningKey(pem: String(contentsOfFile: path, encoding: .utf8))
        let service = try ES256SigningService(key: key, keyID: "2025-06")
        var claims = RegisteredClaims(
            issuer: "https://id.example",
            audience: ["orders"]
        )
        claims.setTimes(lifetime: .seconds(300))
        let token = try JWTGenerator(claims: claims, signingService: service).token()
        return (key, token)
    }

    private func verify(_ token: String, _ key: SigningKey) throws -> RegisteredClaims {
        let policy = ValidationPolicy(issuer: "https://id.example", audience: "orders")
        let verifier = JWTVerifier(key: key.verificationKey, policy: policy)
        let claims = try verifier.verify(token, as: RegisteredClaims.self)
        return claims
    }
}
