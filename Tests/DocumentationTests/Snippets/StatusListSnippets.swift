import Foundation
import Testing
import TokenGeneration

/// The samples of the article about status lists.
@Suite("Status list samples")
struct StatusListSnippets {
    private struct Revoked: Error {}

    @Test("Issues, publishes and checks a status")
    func revocation() throws {
        let service = try ES256SigningService.generate()
        let policy = ValidationPolicy(issuer: "https://id.example")
        let verifier = JWTVerifier(key: service.verificationKey, policy: policy)

        let reference = try StatusListReference(
            index: 4_711,
            uri: "https://id.example/statuslists/1"
        )
        var claims: JSONObject = ["iss": "https://id.example", "sub": "alice"]
        claims["status"] = reference.claim
        claims.setTimes(lifetime: .seconds(900))
        let token = try JWTGenerator(payload: claims, signingService: service).token()

        #expect(throws: Revoked.self) { try check(token, service, verifier, fetched: published(by: service)) }
        let withoutStatus: JSONObject = ["iss": "https://id.example", "exp": 4_000_000_000]
        let other = try JWTGenerator(payload: withoutStatus, signingService: service).token()
        try check(other, service, verifier, fetched: "")
    }

    private func published(by service: ES256SigningService) throws -> String {
        var list = try StatusList(count: 1_000_000)
        try list.set(.invalid, at: 4_711)
        let published = try StatusListToken(
            list,
            uri: "https://id.example/statuslists/1",
            expiration: Date(timeIntervalSinceNow: 86_400),
            timeToLive: .seconds(300)
        ).signed(by: service)
        return published
    }

    private func check(
        _ token: String,
        _ service: ES256SigningService,
        _ verifier: JWTVerifier,
        fetched: String
    ) throws {
        let verified = try verifier.verify(token)
        if let reference = try verified.claims.statusListReference() {
            let lists = JWTVerifier(
                key: service.verificationKey,
                policy: .statusList(uri: reference.uri, issuer: "https://id.example")
            )
            let list = try StatusListToken(lists.verify(fetched))
            guard try list.status(of: reference) == .valid else { throw Revoked() }
        }
    }
}
