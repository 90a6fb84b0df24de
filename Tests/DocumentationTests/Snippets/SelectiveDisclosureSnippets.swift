import Foundation
import Testing
import TokenGeneration

/// The samples of “Selective disclosure”.
@Suite("SD-JWT samples")
struct SelectiveDisclosureSnippets {
    private static func credential(_ issuerKey: SigningKey, _ walletKey: SigningKey) throws -> String {
        let issuer = try SDJWTIssuer(type: "example+sd-jwt", signingService: issuerKey)
        let claims: JSONObject = [
            "iss": "https://issuer.example", "sub": "alice", "exp": 4_102_444_800,
            "given_name": "Alice",
            "address": ["country": "DE", "locality": "Köln"],
            "nationalities": ["DE", "FR"],
        ]
        let issued = try issuer.issue(
            claims,
            disclosable: [
                "given_name", ["address", "locality"],
                ["nationalities", .everyElement],
            ],
            holderKey: walletKey.verificationKey
        )
        let credential = issued.compact
        return credential
    }

    @Test("Issues, presents and verifies")
    func roles() throws {
        let issuerKey = try SigningKey.generate(.es256)
        let walletKey = try SigningKey.generate(.ed25519)
        let nonce = "n-0S6_WzA2Mj"
        let credential = try Self.credential(issuerKey, walletKey)
        let issuerVerifier = SDJWTVerifier(
            key: issuerKey.verificationKey,
            policy: ValidationPolicy(issuer: "https://issuer.example")
        )
        let holder = try SDJWTHolder(credential, verifiedBy: issuerVerifier)
        let presentation = try holder.presentation(
            disclosing: ["given_name", ["nationalities", 0]],
            nonce: nonce,
            audience: "https://shop.example",
            signingService: walletKey
        )
        let text = presentation.compact
        var policy = ValidationPolicy(issuer: "https://issuer.example")
        policy.requiredClaims = ["given_name"]
        let verifier = SDJWTVerifier(key: issuerKey.verificationKey, policy: policy)
        let verified = try verifier.verify(
            text,
            keyBinding: .required(nonce: nonce, audience: "https://shop.example")
        )
        let name = verified.claims["given_name"]?.string
        #expect(name == "Alice")
        #expect(verified.claims["nationalities"] == ["DE"])
        #expect(verified.claims["address"] == ["country": "DE"])
    }
}
