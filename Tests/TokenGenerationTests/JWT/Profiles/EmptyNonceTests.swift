import Foundation
import TestSupport
import Testing
import TokenGeneration

@Suite("Empty nonces", .computing)
struct EmptyNonceTests {
    @Test(
        "An ID token never matches an empty nonce",
        .shows("K12"),
        arguments: [["nonce": ""], ["nonce": nil], ["nonce": nil, "nonce_supported": false]] as [[String: JSONValue?]]
    )
    func idToken(changes: [String: JSONValue?]) throws {
        var claims: JSONObject = [
            "iss": "https://appleid.apple.com", "sub": "u", "aud": "c", "exp": 1_700_000_100, "iat": 1_699_999_990,
        ]
        for (name, value) in changes { claims[name] = value }
        let key = try Fixture.key(for: .es256)
        let token = try Fixture.token(header: #"{"alg":"ES256"}"#, payload: claims.serialized(), key: key)
        let general = ValidationPolicy.idToken(issuer: "https://appleid.apple.com", clientID: "c", nonce: "")
        for var policy in [general, .idToken(provider: .apple(), clientID: "c", nonce: "")] {
            policy.algorithms = nil
            policy.currentDate = { Date(timeIntervalSince1970: Double(Fixture.now)) }
            let verifier = JWTVerifier(key: key.verificationKey, policy: policy)
            #expect(code { try verifier.verify(token) } == .nonceMismatch)
        }
    }

    @Test("A DPoP proof never matches an empty nonce", .shows("K12"))
    func proof() throws {
        let generator = try DPoPProofGenerator(key: Fixture.signingKey())
        let now = Date(timeIntervalSince1970: Double(Fixture.now))
        let verifier = DPoPVerifier(replayCache: InMemoryReplayCache(), currentDate: { now })
        let proof = try generator.proof(method: "GET", url: "https://api.example/", nonce: "", date: now)
        #expect(
            code {
                try verifier.verifySkippingReplayCheck(
                    proof,
                    method: "GET",
                    url: "https://api.example/",
                    for: .tokenEndpoint,
                    nonce: .oneOf(["", "n"])
                )
            } == .nonceMismatch
        )
    }
}
