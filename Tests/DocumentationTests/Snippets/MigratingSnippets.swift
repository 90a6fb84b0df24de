import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import Testing
import TokenGeneration

/// The samples of Docs/Migrating.md for users of jwt-kit and async-http-client.
@Suite("Migration samples")
struct MigratingSnippets {
    @Test("Signs and verifies a token with plain values")
    func tokens() throws {
        struct OrderClaims: Codable {
            var iss: String
            var aud: [String]
            var exp: Date
            var tenant: String
        }
        let generated = try SigningKey.generate(.es256).identified(by: "2026-01")
        let privateKeyPEM = try generated.pem()
        let jwksJSON = JWKSet(keys: [generated.verificationKey.jwk]).serialized()
        let expiration = Date(timeIntervalSinceNow: 300)
        let claims = OrderClaims(iss: "https://id.example", aud: ["orders"], exp: expiration, tenant: "acme")

        let key = try SigningKey(pem: privateKeyPEM).identified(by: "2026-01")
        let token = try key.sign(claims)

        var policy = ValidationPolicy(issuer: "https://id.example", audience: "orders")
        policy.checks.append(ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" })
        let verifier = JWTVerifier(keys: try JWKSet(parsing: jwksJSON), policy: policy)
        let verified = try verifier.verify(token, as: OrderClaims.self)

        #expect(verified.tenant == "acme")
    }

    @Test("Sends a request with a timeout and a size limit")
    func requests() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.post, "/", .text("ok"))
            let url = server.url(for: "/")
            let order = Data(#"{"item":1}"#.utf8)

            let client = NetworkClient(interceptors: [Retry.Policy.maxRetries(2)])
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.httpBody = order
            let options = RequestOptions(timeout: .seconds(30), maximumBodySize: 1 << 20)
            let response = try await client.response(for: request, options: options)
            let text = String(decoding: response.body, as: UTF8.self)

            #expect(text == "ok")
            #expect(server.requests.first?.body == order)
        }
    }
}
