import Foundation
import OpenSSLCrypto
import TestSupport
import Testing
import TokenGeneration

@Suite("Remote signing services", .computing)
struct RemoteSigningTests {
    private static let claims: JSONObject = ["exp": 4_000_000_000, "sub": "alice"]

    private static func der(_ raw: [UInt8]) -> RemoteSignature {
        .der((try? raw.withBytes { try ECDSASignature.der(fromRaw: $0) }) ?? [])
    }

    private func failure(_ service: some RemoteSigningService) async -> TokenError.Code? {
        await asyncCode { try await service.sign(Self.claims) }
    }

    @Test("Signs a token of each algorithm remotely", .shows("J22"), arguments: JWSAlgorithm.implemented)
    func everyAlgorithm(algorithm: JWSAlgorithm) async throws {
        let key = try Fixture.key(for: algorithm)
        let service = FakeRemoteService(key: key, verificationKey: key.verificationKey)
        let token = try await service.sign(Self.claims)
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
        for verificationKey in [key.verificationKey, nil] {
            let service = FakeRemoteService(
                key: key,
                verificationKey: verificationKey,
                answer: { _, raw in Self.der(raw) }
            )
            let token = try await service.sign(Self.claims)
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
            messageForm: .digest,
            answer: { message, raw in
                message.count == size ? .raw(raw) : .raw([])
            }
        )
        let token = try await service.sign(Self.claims)
        let parts = token.split(separator: ".")
        let input = Array((parts[0] + "." + parts[1]).utf8)
        let hash: HashFunction = size == 32 ? .sha256 : size == 48 ? .sha384 : .sha512
        let digest = try input.withBytes { try hash.hash($0) }
        #expect(key.verificationKey.isValid(try Base64URL.decode(String(parts[2])), for: digest))
        service.verificationKey = key.verificationKey
        #expect(await failure(service) == .signingFailed)
    }

    @Test("HMAC and EdDSA don't sign digests", arguments: [JWSAlgorithm.hs256, .ed25519, .ed448, .edDSA])
    func noDigest(algorithm: JWSAlgorithm) async throws {
        let service = FakeRemoteService(key: try Fixture.key(for: algorithm), messageForm: .digest)
        #expect(await failure(service) == .unsupportedAlgorithm)
    }

    @Test("Rejects a signature of the wrong length, form or key")
    func refused() async throws {
        let key = try Fixture.key(for: .es256)
        let answers: [@Sendable (Data, [UInt8]) -> RemoteSignature] = [
            { _, _ in .raw([]) }, { _, raw in .raw(raw.dropLast()) }, { _, raw in .raw(raw + [0]) },
            { _, _ in .der([]) }, { _, raw in .der(raw) },
            { _, _ in .der([0x30, 0x06, 0x02, 0x01, 0x81, 0x02, 0x01, 0x01]) }, { message, _ in .raw(message) },
        ]
        for answer in answers {
            #expect(await failure(FakeRemoteService(key: key, answer: answer)) == .signingFailed)
        }
        let other = try SigningKey.generate(.es256)
        #expect(await failure(FakeRemoteService(key: key, verificationKey: other.verificationKey)) == .signingFailed)
        let otherKind = try Fixture.key(for: .es384).verificationKey
        #expect(await failure(FakeRemoteService(key: key, verificationKey: otherKind)) == .algorithmMismatch)
        let ed = FakeRemoteService(key: try Fixture.key(for: .ed25519), answer: { _, raw in .der(raw) })
        #expect(await failure(ed) == .signingFailed)
        let zeros = FakeRemoteService(
            key: key,
            verificationKey: key.verificationKey,
            answer: { _, _ in .raw([UInt8](repeating: 0, count: 64)) }
        )
        #expect(await failure(zeros) == .signingFailed)
    }

    @Test("The service's own error, and the generator's header errors, reach the caller")
    func errors() async throws {
        await #expect(throws: BrokenRemoteService.Failure()) {
            try await BrokenRemoteService().sign(Self.claims)
        }
        let service = FakeRemoteService(key: try Fixture.key(for: .es256))
        #expect(await asyncCode { try await service.sign(Self.claims, header: ["alg": "HS256"]) } == .algorithmMismatch)
        await #expect(throws: TokenError(.criticalHeaderUnsupported, "")) {
            try await service.sign(Self.claims, header: ["crit": ["x"], "x": 1])
        }
    }

    @Test("Claims can be a custom type or JSON")
    func contents() async throws {
        let key = try Fixture.key(for: .es256)
        let service = FakeRemoteService(key: key, keyID: nil)
        let claims = RegisteredClaims(subject: "alice", expiration: Date(timeIntervalSince1970: 4_000_000_000))
        let object: JSONObject = ["sub": "alice", "exp": 4_000_000_000]
        let tokens = [
            try await service.sign(claims),
            try await service.sign(object),
        ]
        for token in tokens {
            let verified = try JWTVerifier(key: key.verificationKey).verify(token)
            #expect(verified.registered.subject == "alice")
            #expect(verified.header == ["alg": "ES256", "typ": "JWT"])
        }
    }
}
