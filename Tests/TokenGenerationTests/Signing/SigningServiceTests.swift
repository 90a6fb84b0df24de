import Foundation
import Testing
import TokenGeneration

@Suite("Signing services", .serialized)
struct SigningServiceTests {
    @Test("The service of each algorithm signs, and takes keys of that algorithm only")
    func kin() throws {
        try check(HS256SigningService.self, .hs256)
        try check(HS384SigningService.self, .hs384)
        try check(HS512SigningService.self, .hs512)
        try check(RS256SigningService.self, .rs256)
        try check(RS384SigningService.self, .rs384)
        try check(RS512SigningService.self, .rs512)
        try check(PS256SigningService.self, .ps256)
        try check(PS384SigningService.self, .ps384)
        try check(PS512SigningService.self, .ps512)
        try check(ES256SigningService.self, .es256)
        try check(ES384SigningService.self, .es384)
        try check(ES512SigningService.self, .es512)
        try check(ES256KSigningService.self, .es256k)
        try check(Ed25519SigningService.self, .ed25519)
        try check(Ed448SigningService.self, .ed448)
        try check(EdDSASigningService.self, .edDSA)
    }

    private func check<Algorithm>(
        _ type: AlgorithmSigningService<Algorithm>.Type,
        _ algorithm: JWSAlgorithm
    ) throws {
        let service = try type.init(key: Fixture.key(for: algorithm), keyID: "1")
        #expect(service.algorithm == algorithm)
        #expect(service.verificationKey.jwk.keyID == "1")
        let token = try JWTGenerator(payload: ["exp": 4_000_000_000], signingService: service).token
        let verified = try JWTVerifier(key: service.verificationKey).verify(token)
        #expect(verified.header == ["alg": .string(algorithm.rawValue), "kid": "1", "typ": "JWT"])
        let message = Data("message".utf8)
        #expect(try service.verificationKey.isValid(service.sign(data: message), for: Array(message)))
        for other in JWSAlgorithm.implemented where other != algorithm {
            #expect(code { try type.init(key: Fixture.key(for: other)) } == .algorithmMismatch)
        }
    }

    @Test("Every algorithm of the table has a service of its own that is tested here")
    func complete() {
        #expect(
            JWSAlgorithm.implemented.map(\.rawValue) == [
                "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
                "ES512",
                "ES256K", "Ed25519", "Ed448", "EdDSA",
            ]
        )
    }

    @Test("A service for any key has the key's algorithm and ID unless it is given another ID")
    func anyKey() throws {
        let service = try KeySigningService.generate(.ps384, keyID: "a")
        #expect(service.algorithm == .ps384)
        #expect(service.keyID == "a")
        let named = try SigningKey(jwk: Fixture.jwk(["kid": "from-jwk"], isPrivate: true))
        #expect(KeySigningService(key: named).keyID == "from-jwk")
        #expect(KeySigningService(key: named, keyID: "given").verificationKey.keyID == "given")
        #expect(
            code { try KeySigningService.generate(JWSAlgorithm(rawValue: "X1") ?? .es256) } == .unsupportedAlgorithm
        )
    }
}
