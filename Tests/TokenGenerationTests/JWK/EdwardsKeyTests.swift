import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Keys on Edwards curves", .computing)
struct EdwardsKeyTests {
    private static let claims: JSONObject = ["exp": 4_000_000_000]

    private func accepts(
        _ key: VerificationKey,
        _ algorithm: JWSAlgorithm,
        by signer: SigningKey
    ) throws -> TokenError.Code? {
        let token = try Fixture.token(header: #"{"alg":"\#(algorithm)"}"#, payload: #"{"exp":4000000000}"#, key: signer)
        let one = code { try JWTVerifier(key: key).verify(token) }
        let set = code { try JWTVerifier(keys: JWKSet(keys: [key.jwk])).verify(token) }
        #expect(one == set)
        return one
    }

    @Test(
        "A key that states a name is for that name only; one without a name verifies both",
        .shows("J3", "RFC 9864", "RFC 8725bis §3.2 (full names)"),
        arguments: ["Ed25519", "Ed448"]
    )
    func names(curve: String) throws {
        let full = try #require(JWSAlgorithm(rawValue: curve))
        let pair = try SigningKey.generate(full)
        let pem = try pair.pem()
        let publicPEM = try pair.verificationKey.pem()

        let stated = try VerificationKey(pem: publicPEM, algorithm: full)
        #expect(stated.jwk.algorithm == curve)
        #expect(try accepts(stated, full, by: pair) == nil)
        #expect(try accepts(stated, .edDSA, by: pair) == .algorithmMismatch)

        let polymorphic = try VerificationKey(pem: publicPEM, algorithm: .edDSA)
        #expect(polymorphic.jwk.algorithm == "EdDSA")
        #expect(try accepts(polymorphic, .edDSA, by: pair) == nil)
        #expect(try accepts(polymorphic, full, by: pair) == .algorithmMismatch)

        let unstated = try VerificationKey(pem: publicPEM)
        #expect(unstated.algorithm == full)
        #expect(unstated.jwk.algorithm == nil)
        #expect(try accepts(unstated, full, by: pair) == nil)
        #expect(try accepts(unstated, .edDSA, by: pair) == nil)
        #expect(try accepts(unstated, full == .ed25519 ? .ed448 : .ed25519, by: pair) == .algorithmMismatch)
        #expect(try VerificationKey(jwk: unstated.jwk).algorithm == full)

        #expect(try SigningKey(pem: pem).algorithm == full)
        #expect(try SigningKey(pem: pem, algorithm: .edDSA).algorithm == .edDSA)
        let token = try JWTGenerator(payload: Self.claims, signingService: SigningKey(pem: pem))
            .token()
        #expect(try UnverifiedToken(token).unverifiedHeader["alg"] == .string(curve))
    }

    @Test("A key is for its own curve")
    func curves() throws {
        let jwk = try SigningKey.generate(.ed25519).privateJWK()
        for algorithm in [JWSAlgorithm.ed448, .es256, .rs256] {
            var other = jwk
            other.algorithm = algorithm.rawValue
            #expect(code { try SigningKey(jwk: other) } == .keyMismatch)
            other.algorithm = nil
            #expect(code { try SigningKey(jwk: other, algorithm: algorithm) } == .algorithmMismatch)
        }
        for curve in ["X25519", "X448", "P-256", "ed25519"] {
            var other = jwk
            other.algorithm = nil
            other.members["crv"] = .string(curve)
            #expect(code { try VerificationKey(jwk: other) } == .unsupportedKey)
        }
        var other = jwk
        other.members["crv"] = "Ed448"
        #expect(code { try SigningKey(jwk: other) } == .keyMismatch)
        other.algorithm = nil
        #expect(code { try SigningKey(jwk: other) } == .malformedKey)
    }

    @Test(
        "Rejects points of small order, noncanonical encodings, and mismatched key parts",
        .shows("B10", "RFC 8725bis §3.4")
    )
    func refused() throws {
        func jwk(_ x: [UInt8]) throws -> JWK {
            try JWK(["kty": "OKP", "crv": "Ed25519", "alg": "Ed25519", "x": .string(Base64URL.encode(x))])
        }
        let identity = [1] + [UInt8](repeating: 0, count: 31)
        #expect(code { try VerificationKey(jwk: jwk(identity)) } == .weakKey)
        let notCanonical = [0xEE] + [UInt8](repeating: 0xFF, count: 30) + [0x7F]
        #expect(code { try VerificationKey(jwk: jwk(notCanonical)) } == .malformedKey)
        #expect(code { try VerificationKey(jwk: jwk(Array(identity.dropLast()))) } == .malformedKey)
        var mixed = try SigningKey.generate(.ed25519).privateJWK()
        mixed.members["x"] = try SigningKey.generate(.ed25519).verificationKey.jwk.members["x"]
        #expect(code { try SigningKey(jwk: mixed) } == .keyMismatch)
        // A verification key drops the private part without reading it.
        #expect(code { try VerificationKey(jwk: mixed) } == nil)
    }
}
