import Foundation
import Testing
import TokenGeneration

@testable import vapid_push

@Suite("Push requests")
struct PushRequestTests {
    @Test("Signs a token for the push service's origin, with the public key")
    func token() throws {
        let key = try SigningKey.generate(.es256)
        let endpoint = try #require(URL(string: "https://push.example/send/abc"))
        let request = try PushRequest(to: endpoint, contact: "mailto:ops@example.com", key: key)
        let parts = try #require(request.authorization.wholeMatch(of: /vapid t=(\S+), k=([\w-]{87})/))
        var policy = ValidationPolicy(audience: "https://push.example")
        policy.maximumLifetime = nil
        let verified = try JWTVerifier(key: key.verificationKey, policy: policy).verify(String(parts.1))
        #expect(verified.registered.subject == "mailto:ops@example.com")
        #expect(verified.claims["aud"] == "https://push.example")
        #expect(request.curl.hasSuffix("'https://push.example/send/abc'"))
    }
}
