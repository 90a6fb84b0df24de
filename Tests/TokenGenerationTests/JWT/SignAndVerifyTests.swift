import Foundation
import TestVectors
import Testing
import TokenGeneration

@Suite("Signing and verifying")
struct SignAndVerifyTests {
    @Test("RFC 7515 A.3 verifies at its own time")
    func rfc7515A3() throws {
        let vector = try Vector.object("rfc7515-a3-es256")
        let keyJSON = try JSONSerialization.data(withJSONObject: #require(vector["key"]))
        let key = try VerificationKey(jwk: JWK(parsing: keyJSON))
        let policy = ValidationPolicy(issuer: "joe", currentDate: { Date(timeIntervalSince1970: 1_300_819_000) })
        let token = try JWTVerifier(key: key, policy: policy).verify(#require(vector["compact"] as? String))
        #expect(token.claims["http://example.com/is_root"] == true)
        #expect(token.registered.expiration == Date(timeIntervalSince1970: 1_300_819_380))
        #expect(token.header == ["alg": "ES256"])
    }

    @Test("A token made here verifies here")
    func roundTrip() throws {
        let service = try ES256SigningService.generate(keyID: "k1")
        let claims = RegisteredClaims(issuer: "me", expiration: Date(timeIntervalSinceNow: 60))
        let token = try JWTGenerator(claims: claims, signingService: service).token
        let verified = try JWTVerifier(key: service.verificationKey).verify(token)
        #expect(verified.header == ["alg": "ES256", "kid": "k1", "typ": "JWT"])
        #expect(verified.registered.issuer == "me")
    }
}
