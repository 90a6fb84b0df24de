import Foundation
import TestVectors
import Testing
import TokenGeneration

@Suite("Signing and verifying", .serialized)
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

    @Test("Verifies a generated token")
    func roundTrip() throws {
        let service = try ES256SigningService.generate(keyID: "k1")
        let claims = RegisteredClaims(issuer: "me", expiration: Date(timeIntervalSinceNow: 60))
        let token = try JWTGenerator(claims: claims, signingService: service).token()
        let verifier = JWTVerifier(key: service.verificationKey, policy: ValidationPolicy(issuer: "me"))
        let verified = try verifier.verify(token)
        #expect(verified.header == ["alg": "ES256", "kid": "k1", "typ": "JWT"])
        #expect(verified.registered.issuer == "me")
    }

    @Test("The published JWK of a service verifies its tokens by their kid")
    func publishedSet() throws {
        let services = [try ES256SigningService.generate(keyID: "old"), try ES256SigningService.generate(keyID: "new")]
        let published = JWKSet(keys: services.map(\.verificationKey.jwk)).serialized()
        let verifier = try JWTVerifier(keys: JWKSet(parsing: published))
        for service in services {
            let claims = RegisteredClaims(subject: service.keyID, expiration: Date(timeIntervalSinceNow: 60))
            let token = try JWTGenerator(claims: claims, signingService: service).token()
            #expect(try verifier.verify(token).registered.subject == service.keyID)
        }
        let stranger = try ES256SigningService.generate(keyID: "other")
        let token = try JWTGenerator(payload: ["exp": 4_000_000_000], signingService: stranger).token()
        #expect(throws: TokenError(.unknownKey, "")) { try verifier.verify(token) }
    }
}
