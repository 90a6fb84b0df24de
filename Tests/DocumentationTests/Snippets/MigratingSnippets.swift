import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import TestSupport
import Testing
import TokenGeneration

/// The samples of Docs/Migrating.md for users of jwt-kit and async-http-client.
@Suite("Migration samples", .limitedConcurrency)
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
        let secret = [UInt8](repeating: 7, count: 32)

        // Sign with a private key, with a header parameter, or with a secret.
        let key = try SigningKey(pem: privateKeyPEM).identified(by: "2026-01")
        let token = try key.sign(claims)
        let typedToken = try key.sign(claims, header: ["cty": "order"])
        let secretToken = try SigningKey(secret: secret, algorithm: .hs256).sign(claims)

        // Verify with a key set, and read without verifying.
        var policy = ValidationPolicy(issuer: "https://id.example", audience: "orders")
        policy.checks.append(ClaimsCheck("tenant") { $0.claims["tenant"] == "acme" })
        let verifier = JWTVerifier(keys: try JWKSet(parsing: jwksJSON), policy: policy)
        let verified = try verifier.verify(token, as: OrderClaims.self)
        let unverified = try UnverifiedToken(token).unverifiedClaims

        #expect(verified.tenant == "acme")
        #expect(unverified["tenant"] == "acme")
        #expect(try UnverifiedToken(typedToken).unverifiedHeader["cty"] == "order")
        #expect(try UnverifiedToken(secretToken).unverifiedHeader["alg"] == "HS256")
    }

    @Test("Sends a request, streams a response and downloads a file")
    func requests() async throws {
        try await withLoopbackServer { server async throws in
            server.on(.post, "/", .text("ok"))
            server.on(.get, "/", .text("ok"))
            let url = server.url(for: "/")
            let order = Data(#"{"item":1}"#.utf8)
            let destination = FileManager.default.temporaryDirectory.appending(path: "sample-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: destination) }

            let client = NetworkClient(interceptors: [Retry.Policy.maxRetries(2)])
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.httpBody = order

            // Receive the complete body.
            let options = RequestOptions(timeout: .seconds(30), maximumBodySize: 1 << 20)
            let response = try await client.response(for: request, options: options)
            print(response.status, response.body.count)

            // Stream the body, and download a file.
            for try await part in try await client.stream(request).stream {
                print(part.count)
            }
            let file = try await client.download(url, to: destination).value

            #expect(response.body == Data("ok".utf8))
            #expect(server.requests.prefix(2).map(\.body) == [order, order])
            #expect(file.length == 2)
        }
    }
}
