import Foundation
import Testing
import TokenGeneration

@Suite("Signatures of RFC 7515 and RFC 7519")
struct SignatureTests {
    private static let names = [
        "rfc7515-a1-hs256", "rfc7515-a2-rs256", "rfc7515-a3-es256", "rfc7515-a4-es512", "rfc7519-3.1-jwt-hs256",
    ]

    @Test("Verifies the RFC's token", arguments: names)
    func verify(name: String) throws {
        let vector = try Vector(name)
        let verifier = JWSVerifier(key: try vector.key().verificationKey)
        let verified = try verifier.verify(compact: vector.text("compact"))
        #expect(verified.payload.base64EncodedString().hasPrefix(try vector.text("payload_b64u").prefix(16)))
    }

    @Test("Rejects the token with any bit of its signature flipped", arguments: names)
    func flippedBit(name: String) throws {
        let vector = try Vector(name)
        let verifier = JWSVerifier(key: try vector.key().verificationKey)
        let compact = try vector.text("compact")
        // The first character of the signature.
        let index = try #require(compact.lastIndex(of: ".").map { compact.index(after: $0) })
        let forged = compact.replacingCharacters(in: index...index, with: compact[index] == "A" ? "B" : "A")
        #expect(throws: TokenError(.signatureInvalid, "")) { try verifier.verify(compact: forged) }
    }

    @Test("A JWT expires", arguments: [(1_300_819_379, true), (1_300_819_500, false)])
    func expiry(time: Double, isValid: Bool) throws {
        let vector = try Vector("rfc7519-3.1-jwt-hs256")
        let policy = ValidationPolicy(issuer: "joe", currentDate: { Date(timeIntervalSince1970: time) })
        let verifier = JWTVerifier(key: try vector.key().verificationKey, policy: policy)
        if isValid {
            #expect(try verifier.verify(vector.text("compact")).registered.issuer == "joe")
        } else {
            #expect(throws: TokenError(.expired, "")) { try verifier.verify(vector.text("compact")) }
        }
    }

    @Test("Rejects an unknown critical extension")
    func criticalExtension() throws {
        let vector = try Vector("rfc7515-e-crit-negative")
        let verifier = JWSVerifier(key: try Vector("rfc7515-a1-hs256").key().verificationKey)
        #expect(throws: TokenError(.criticalHeaderUnsupported, "")) {
            try verifier.verify(compact: vector.text("compact"))
        }
    }

    @Test("Computes the thumbprint of RFC 7638")
    func thumbprint() throws {
        let vector = try Vector("rfc7638-3.1-thumbprint")
        let jwk = try JWK(try #require(vector.values["jwk"]?.object))
        #expect(try jwk.thumbprint == vector.text("thumbprint_b64u"))
    }
}
