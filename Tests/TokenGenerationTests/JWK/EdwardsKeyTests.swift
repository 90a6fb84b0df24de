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
        #expect(unstated.algorithm == .edDSA)
        #expect(unstated.jwk.algorithm == nil)
        #expect(try accepts(unstated, full, by: pair) == nil)
        #expect(try accepts(unstated, .edDSA, by: pair) == nil)
        #expect(try accepts(unstated, full == .ed25519 ? .ed448 : .ed25519, by: pair) == .algorithmMismatch)
        #expect(try VerificationKey(jwk: unstated.jwk).algorithm == .edDSA)

        #expect(try SigningKey(pem: pem).algorithm == .edDSA)
        #expect(try SigningKey(pem: pem, algorithm: full).algorithm == full)
        #expect(try SigningKey(jwk: pair.privateJWK()).algorithm == full)
        let token = try JWTGenerator(payload: Self.claims, signingService: SigningKey(pem: pem))
            .token()
        #expect(try UnverifiedToken(token).unverifiedHeader["alg"] == "EdDSA")
    }

    @Test(
        "The error of a token under the other name says what to set",
        arguments: [(JWSAlgorithm.edDSA, JWSAlgorithm.ed25519), (.ed25519, .edDSA), (.edDSA, .ed448), (.ed448, .edDSA)]
    )
    func otherName(used: JWSAlgorithm, accepted: JWSAlgorithm) throws {
        let pair = try SigningKey.generate(used == .edDSA ? accepted : used)
        let token = try Fixture.token(header: #"{"alg":"\#(used)","kid":"k"}"#, key: pair)
        let advice = "set the verifier's algorithm to \(used), or sign as \(accepted)"
        var policy = ValidationPolicy()
        policy.algorithms = [accepted]
        let unstated = try VerificationKey(pem: pair.verificationKey.pem())
        let stated = try VerificationKey(pem: pair.verificationKey.pem(), algorithm: accepted)
        var jwk = stated.jwk
        let unnamed = JWKSet(keys: [jwk])
        jwk.keyID = "k"
        for verifier in [
            JWTVerifier(key: unstated, policy: policy), JWTVerifier(key: stated), JWTVerifier(keys: unnamed),
            JWTVerifier(keys: JWKSet(keys: [jwk])), JWTVerifier(keys: JWKSet(keys: [jwk]), policy: policy),
        ] {
            let error = try #require(throws: TokenError.self) { try verifier.verify(token) }
            if error.code == .unknownKey { continue }
            #expect(error.code == .algorithmMismatch && error.message.hasSuffix(advice), "\(error.message)")
        }
        let es256 = try Fixture.token(header: #"{"alg":"ES256"}"#, key: pair)
        let other = try #require(throws: TokenError.self) { try JWTVerifier(key: stated).verify(es256) }
        #expect(other.code == .algorithmMismatch && !other.message.contains("older name"))
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
