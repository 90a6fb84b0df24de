import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("Signing services", .computing)
struct SigningServiceTests {
    @Test(
        "A key signs with its algorithm, and signs claims in one call",
        .shows("3.31"),
        arguments: JWSAlgorithm.implemented
    )
    func key(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        let verifier = JWTVerifier(key: key.verificationKey)
        let typed = try verifier.verify(key.sign(["exp": 4_000_000_000], header: ["typ": "x"]))
        #expect(typed.header == ["alg": .string(algorithm.rawValue), "typ": "x"])
        #expect(typed.claims == ["exp": 4_000_000_000])
        let plain = try JWTGenerator(payload: ["exp": 4_000_000_000], signingService: key).token()
        #expect(try verifier.verify(plain).header == ["alg": .string(algorithm.rawValue), "typ": "JWT"])
        let message = Data("message".utf8)
        #expect(try key.verificationKey.isValid(key.sign(data: message), for: Array(message)))
        #expect(key.publicKey?.thumbprint == (algorithm.isSymmetric ? nil : key.verificationKey.thumbprint))
    }

    @Test("The ES256 service signs with the key's ID or another one, and accepts keys for ES256 only")
    func es256() throws {
        let service = try ES256SigningService(key: Fixture.key(for: .es256), keyID: "1")
        #expect(service.algorithm == .es256)
        #expect(service.verificationKey.jwk.keyID == "1")
        #expect(service.verificationKey.keyID == "1")
        #expect(service.publicKey?.thumbprint == service.verificationKey.thumbprint)
        let named = try SigningKey(jwk: Fixture.jwk(["kid": "from-jwk"], isPrivate: true))
        #expect(try ES256SigningService(key: named).keyID == "from-jwk")
        #expect(try ES256SigningService(key: named, keyID: "given").keyID == "given")
        #expect(try ES256SigningService(key: named).verificationKey.thumbprint == named.verificationKey.thumbprint)
        #expect(try ES256SigningService.generate().keyID == nil)
        let token = try JWTGenerator(payload: ["exp": 4_000_000_000], signingService: service).token()
        let verified = try JWTVerifier(key: service.verificationKey).verify(token)
        #expect(verified.header == ["alg": "ES256", "kid": "1", "typ": "JWT"])
        for other in JWSAlgorithm.implemented where other != .es256 {
            #expect(code { try ES256SigningService(key: Fixture.key(for: other)) } == .algorithmMismatch)
        }
    }

    @Test("The table has the expected algorithms")
    func complete() {
        #expect(
            JWSAlgorithm.known.map(\.rawValue) == [
                "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
                "ES512", "ES256K", "Ed25519", "Ed448", "EdDSA", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87",
            ]
        )
        #expect(
            JWSAlgorithm.known.filter { !JWSAlgorithm.implemented.contains($0) }
                == (MLDSAParameters.mldsa44.isAvailable ? [] : [.mldsa44, .mldsa65, .mldsa87])
        )
    }

    @Test("A service for any key has the key's algorithm and ID, unless it's given another, and writes the ID")
    func anyKey() throws {
        let service = try SigningKey.generate(.ps384).identified(by: "a")
        #expect(service.algorithm == .ps384)
        #expect(service.keyID == "a")
        let named = try SigningKey(jwk: Fixture.jwk(["kid": "from-jwk"], isPrivate: true))
        #expect(named.keyID == "from-jwk")
        #expect(named.identified(by: "given").verificationKey.keyID == "given")
        #expect(try UnverifiedToken(named.sign(["exp": 4_000_000_000])).unverifiedHeader["kid"] == "from-jwk")
    }
}

/// A key management service that signs with a key in this process.
struct FakeRemoteService: SigningService {
    let key: SigningKey
    var keyID: String? = "kms/1"
    var takesDigest = false
    var publicKey: VerificationKey?
    var answer: @Sendable (Data, [UInt8]) throws -> Data = { _, raw in Data(raw) }

    var algorithm: JWSAlgorithm { key.algorithm }

    func sign(data: Data) async throws -> Data {
        await Task.yield()
        let message = takesDigest ? try algorithm.digest(of: data) : data
        return try answer(message, key.signature(for: Array(message)))
    }
}

/// A service that isn't available.
struct BrokenRemoteService: SigningService {
    struct Failure: Error, Equatable {}

    let algorithm = JWSAlgorithm.es256

    func sign(data: Data) async throws -> Data { throw Failure() }
}
