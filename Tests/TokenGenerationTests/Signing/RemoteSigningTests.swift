import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("Remote signing services", .computing)
struct RemoteSigningTests {
    private static let claims: JSONObject = ["exp": 4_000_000_000, "sub": "alice"]

    private static func der(_ raw: [UInt8]) throws -> Data {
        Data(try raw.withBytes { try ECDSASignature.der(fromRaw: $0) })
    }

    private func failure(_ service: some SigningService) async -> TokenError.Code? {
        await asyncCode { try await service.token(for: Self.claims) }
    }

    @Test("Signs a token of each algorithm remotely", .shows("J22"), arguments: JWSAlgorithm.implemented)
    func everyAlgorithm(algorithm: JWSAlgorithm) async throws {
        let key = try Fixture.key(for: algorithm)
        let service = FakeRemoteService(key: key, publicKey: key.verificationKey)
        let token = try await service.token(for: Self.claims)
        let verified = try JWTVerifier(key: key.verificationKey).verify(token)
        #expect(verified.claims == Self.claims)
        #expect(verified.header == ["alg": .string(algorithm.rawValue), "kid": "kms/1", "typ": "JWT"])
    }

    @Test(
        "Converts a DER signature, with and without a public key to verify it",
        arguments: [JWSAlgorithm.es256, .es384, .es512, .es256k]
    )
    func der(algorithm: JWSAlgorithm) async throws {
        let key = try Fixture.key(for: algorithm)
        for publicKey in [key.verificationKey, nil] {
            let service = FakeRemoteService(
                key: key,
                publicKey: publicKey,
                answer: { _, raw in try algorithm.signature(fromDER: Self.der(raw)) }
            )
            let token = try await service.token(for: Self.claims)
            #expect(code { try JWTVerifier(key: key.verificationKey).verify(token) } == nil)
        }
    }

    @Test(
        "Passes the digest of the signing input to a service that requires it",
        arguments: [(JWSAlgorithm.es256, 32), (.es384, 48), (.rs512, 64), (.ps256, 32), (.es256k, 32)]
    )
    func digest(algorithm: JWSAlgorithm, size: Int) async throws {
        let key = try Fixture.key(for: algorithm)
        // The fake hashes the digest again, so its signature is over the digest, not over the
        // message.
        var service = FakeRemoteService(
            key: key,
            takesDigest: true,
            answer: { message, raw in message.count == size ? Data(raw) : Data() }
        )
        let token = try await service.token(for: Self.claims)
        let parts = token.split(separator: ".")
        let input = Array((parts[0] + "." + parts[1]).utf8)
        let hash: HashFunction = size == 32 ? .sha256 : size == 48 ? .sha384 : .sha512
        let digest = try input.withBytes { try hash.hash($0) }
        #expect(key.verificationKey.isValid(try Base64URL.decode(String(parts[2])), for: digest))
        service.publicKey = key.verificationKey
        #expect(await failure(service) == .signingFailed)
    }

    @Test("HMAC and EdDSA don't sign digests", arguments: [JWSAlgorithm.hs256, .ed25519, .ed448, .edDSA])
    func noDigest(algorithm: JWSAlgorithm) async throws {
        let service = FakeRemoteService(key: try Fixture.key(for: algorithm), takesDigest: true)
        #expect(await failure(service) == .unsupportedAlgorithm)
    }

    @Test("Rejects a signature of the wrong length, form or key")
    func refused() async throws {
        let key = try Fixture.key(for: .es256)
        let answers: [@Sendable (Data, [UInt8]) throws -> Data] = [
            { _, _ in Data() }, { _, raw in Data(raw.dropLast()) }, { _, raw in Data(raw + [0]) },
            { _, raw in try Self.der(raw) }, { _, _ in try JWSAlgorithm.es256.signature(fromDER: Data()) },
            { _, raw in try JWSAlgorithm.es256.signature(fromDER: Data(raw)) },
            { _, _ in
                try JWSAlgorithm.es256.signature(fromDER: Data([0x30, 0x06, 0x02, 0x01, 0x81, 0x02, 0x01, 0x01]))
            },
            { message, _ in message },
        ]
        for answer in answers {
            #expect(await failure(FakeRemoteService(key: key, answer: answer)) == .signingFailed)
        }
        let other = try SigningKey.generate(.es256)
        #expect(await failure(FakeRemoteService(key: key, publicKey: other.verificationKey)) == .signingFailed)
        let otherKind = try Fixture.key(for: .es384).verificationKey
        #expect(await failure(FakeRemoteService(key: key, publicKey: otherKind)) == .algorithmMismatch)
        #expect(
            code { try JWSAlgorithm.ed25519.signature(fromDER: Self.der(Array(repeating: 1, count: 64))) }
                == .signingFailed
        )
        let zeros = FakeRemoteService(
            key: key,
            publicKey: key.verificationKey,
            answer: { _, _ in Data(count: 64) }
        )
        #expect(await failure(zeros) == .signingFailed)
    }

    @Test("The service's own error, and the generator's header errors, reach the caller")
    func errors() async throws {
        await #expect(throws: BrokenRemoteService.Failure()) {
            try await BrokenRemoteService().token(for: Self.claims)
        }
        let service = FakeRemoteService(key: try Fixture.key(for: .es256))
        #expect(
            await asyncCode { try await service.token(for: Self.claims, header: ["alg": "HS256"]) }
                == .algorithmMismatch
        )
        await #expect(throws: TokenError(.criticalHeaderUnsupported, "")) {
            try await service.token(for: Self.claims, header: ["crit": ["x"], "x": 1])
        }
    }

    @Test("Claims can be a custom type or JSON")
    func contents() async throws {
        let key = try Fixture.key(for: .es256)
        let service = FakeRemoteService(key: key, keyID: nil)
        let claims = RegisteredClaims(subject: "alice", expiration: Date(timeIntervalSince1970: 4_000_000_000))
        let object: JSONObject = ["sub": "alice", "exp": 4_000_000_000]
        let tokens = [
            try await service.token(for: claims),
            try await service.token(for: object),
        ]
        for token in tokens {
            let verified = try JWTVerifier(key: key.verificationKey).verify(token)
            #expect(verified.registered.subject == "alice")
            #expect(verified.header == ["alg": "ES256", "typ": "JWT"])
        }
    }
}
