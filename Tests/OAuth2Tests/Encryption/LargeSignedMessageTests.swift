import Foundation
import MockNetworking
import Networking
import OAuth2
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// Signed messages that are larger than the default limit of a token.
@Suite("Large signed messages", .limitedConcurrency)
struct LargeSignedMessageTests {
    private static let roles = JSONValue.string(String(repeating: "r", count: 200_000))

    @Test("Accepts a signed introspection response of more than 64 KiB, and verifies its signature")
    func introspection() async throws {
        let key = try SigningKey.generate(.es256)
        for (signer, isAccepted) in [(key, true), (try SigningKey.generate(.es256), false)] {
            let claims: JSONObject = [
                "iss": "https://id.example", "aud": "api", "iat": 1_000_000_000,
                "token_introspection": ["active": true, "sub": "ada", "roles": Self.roles],
            ]
            let token = try JWTGenerator(
                header: ["typ": "token-introspection+jwt"],
                payload: claims,
                signingService: signer
            ).token()
            let type = "application/token-introspection+jwt"
            let fixture = EndpointFixture(.text(token, headers: ["Content-Type": type]))
            var verifier = SignedResponseVerifier(keys: .key(key.verificationKey))
            verifier.currentDate = fixture.time.timeSource.date
            let reader = verifier
            let code = await failureCode {
                let found = try await fixture.oauth.introspect(Secret(EndpointFixture.token), verifiedBy: reader)
                #expect(found.subject == "ada" && found.claims["roles"] == Self.roles)
            }
            #expect(code == (isAccepted ? nil : .protocolViolation))
        }
    }

    @Test("Fetches the new key of a large token without a key ID")
    func newKey() async throws {
        let (old, new) = (try IssuerKey(id: nil), try IssuerKey(id: nil))
        let issuer = PublishedKeys([old])
        let policy = ValidationPolicy(
            issuer: .exactly(PublishedKeys.issuer),
            maximumTokenSize: 1 << 20,
            currentDate: issuer.time.timeSource.date
        )
        let verifier = RemoteJWTVerifier(keys: .remote(issuer.keySet()), policy: policy)
        let claims: JSONObject = [
            "iss": .string(PublishedKeys.issuer), "roles": Self.roles,
            "exp": JSONValue(date: issuer.time.date.addingTimeInterval(3_600)),
        ]
        _ = try await verifier.verify(try old.token(claims))
        issuer.publish([new])
        issuer.time.advance(by: .seconds(31))
        #expect(try await verifier.verify(try new.token(claims)).claims["roles"] == Self.roles)
        #expect(issuer.fetchCount == 2)
    }
}
