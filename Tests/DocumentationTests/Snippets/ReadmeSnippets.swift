import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The samples of README.md. `SnippetTests` compares them with the page.
@Suite("README samples", .limitedConcurrency)
struct ReadmeSnippets {
    @Test("Signs and verifies a token")
    func signing() throws {
        let key = try SigningKey.generate(.es256)
        var claims = RegisteredClaims(issuer: "reports", audience: ["https://api.example"])
        claims.setTimes(lifetime: .seconds(300))
        let token = try key.sign(claims)

        let policy = ValidationPolicy(issuer: "reports", audience: "https://api.example")
        let verified = try JWTVerifier(key: key.verificationKey, policy: policy).verify(token)
        #expect(verified.registered.issuer == "reports")
        // Many verifiers reject fractional seconds, which `Date()` has.
        let times = try ["iat", "exp"].map { try #require(verified.claims[$0]?.number?.integer) }
        #expect(times[1] - times[0] == 300)
    }

    @Test("Calls an API with a token")
    func calling() async throws {
        let key = try SigningKey.generate(.es256)
        let server = try MockAuthorizationServer.start(clients: [
            .init(id: "reports", key: key.verificationKey)
        ])
        let loopback = try LoopbackServer.start { routes in
            routes.on(.get, "/reports/42", server.protecting { _ in .text("a report") })
        }
        let report = try await report(api: loopback.baseURL, issuer: server.metadata.issuer, key: key)
        #expect(report == Data("a report".utf8))
        await loopback.stop()
        await server.stop()
    }

    private func report(api: URL, issuer: String, key: SigningKey) async throws -> Data {
        let authenticator = OAuth2Authenticator(
            discovery: AuthorizationServerDiscovery(issuer: issuer),
            clientAuthentication: .privateKeyJWT(clientID: "reports", signingService: key),
            grant: ClientCredentialsGrant(scope: "reports.read"),
            resources: [api]
        )
        let client = NetworkClient(interceptors: [authenticator, Retry.Policy.maxRetries(2)])
        let report = try await client.makeRequest(URLRequest(url: api.appending(path: "reports/42")))
        return report
    }

    @Test("Tests against loopback servers")
    func mocking() async throws {
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "reports", secret: "s3cret")])
        let api = try LoopbackServer.start { routes in
            routes.on(.get, "/reports", authorization.protecting { _ in .json("[]") })
        }
        let authenticator = OAuth2Authenticator(
            server: authorization.metadata,
            clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        let client = NetworkClient(interceptors: [authenticator])
        #expect(try await client.makeRequest(URLRequest(url: api.url(for: "/reports"))) == Data("[]".utf8))
        await api.stop()
        await authorization.stop()
    }
}
