import Foundation
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing

@Suite("Retry-After of an API", .limitedConcurrency)
struct RetryAfterTests {
    @Test(
        "Passes the time that a server asks for on, up to five minutes",
        .shows("S19"),
        arguments: [("299", "299"), ("300", "300"), ("301", "300"), ("31536000", "300"), ("9223372036854775807", nil)]
    )
    func limit(asked: String, expected: String?) async throws {
        let api = try GuardedAPI()
        let issuer = PublishedKeys([], steps: [.status(503, headers: ["Retry-After": asked])])
        let verifier = AccessTokenVerifier(
            issuer: PublishedKeys.issuer,
            audience: GuardedAPI.audience,
            keys: .remote(issuer.keySet())
        ).at(issuer.time)
        let request = api.request(["Authorization": "Bearer \(try api.token())"])
        let refusal = await #expect(throws: AccessRefusal(.undecided, "")) { try await verifier.verify(request) }
        let field = refusal?.headers["Retry-After"]
        #expect(expected == nil ? field == nil || field == "300" : field == expected)
    }
}
