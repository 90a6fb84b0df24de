import Foundation
import OpenSSLCrypto
import TestSupport
import TestVectors
import Testing
import TokenGeneration

@Suite("Known signatures", .computing)
struct KnownAnswerTests {
    @Test(
        "The example of an RFC verifies, and is reproduced if the algorithm is deterministic",
        .shows("RFC 7515 A.1–A.7", "RFC 7518 §3.4", "RFC 8812"),
        arguments: [
            "rfc7515-a1-hs256", "rfc7515-a2-rs256", "rfc7515-a3-es256", "rfc7515-a4-es512", "rfc7519-3.1-jwt-hs256",
        ]
    )
    func examples(id: String) throws {
        let vector = try Vector.object(id)
        let name = try #require(vector["alg"] as? String)
        let algorithm = try #require(JWSAlgorithm(rawValue: name))
        let compact = try #require(vector["compact"] as? String)
        let parts = compact.split(separator: ".", omittingEmptySubsequences: false)
        let input = Array((parts[0] + "." + parts[1]).utf8)
        let signature = try Base64URL.decode(String(parts[2]))
        let key = try SigningKey(jwk: Fixture.jwk(vector: id), algorithm: algorithm)
        #expect(key.verificationKey.isValid(signature, for: input))
        #expect(!key.verificationKey.isValid(signature, for: input + [0]))
        let made = try key.signature(for: input)
        #expect(key.verificationKey.isValid(made, for: input))
        if algorithm.isDeterministic { #expect(made == signature) }
    }

    @Test(
        "Each algorithm verifies its own signatures, and no other does",
        .shows(
            "A8",
            "J1",
            "J2",
            "J4",
            "RFC 8725bis §3.1 (one algorithm)",
            "RFC 8725bis §3.2 (agility)",
            "RFC 8725bis §3.3 (every operation)"
        ),
        arguments: JWSAlgorithm.implemented
    )
    func roundTrip(algorithm: JWSAlgorithm) throws {
        let key = try Fixture.key(for: algorithm)
        #expect(key.algorithm == algorithm)
        #expect(key.verificationKey.algorithm == algorithm)
        let message = Array("message".utf8)
        let signature = try key.signature(for: message)
        for other in JWSAlgorithm.implemented {
            let otherKey = try Fixture.key(for: other).verificationKey
            #expect(otherKey.isValid(signature, for: message) == (other == algorithm))
        }
        #expect(!key.verificationKey.isValid([], for: message))
        #expect(!key.verificationKey.isValid(signature.dropLast(), for: message))
        #expect(!key.verificationKey.isValid(signature + [0], for: message))
        #expect(!key.verificationKey.isValid([0] + signature, for: message))
        #expect(try key.signature(for: message) == signature || !algorithm.isDeterministic)
    }
}

extension JWSAlgorithm {
    /// A Boolean value that indicates whether two signatures of the same message are equal.
    var isDeterministic: Bool {
        !["ES", "PS", "ML-DSA"].contains { rawValue.hasPrefix($0) }
    }
}

extension SigningKey {
    func signature(for message: [UInt8]) throws -> [UInt8] {
        try message.withBytes { try signature(for: $0) }
    }
}

extension VerificationKey {
    func isValid(_ signature: some Sequence<UInt8>, for message: [UInt8]) -> Bool {
        Array(signature).withBytes { signature in message.withBytes { isValidSignature(signature, for: $0) } }
    }
}
