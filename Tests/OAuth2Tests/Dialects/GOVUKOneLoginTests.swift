import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Signs in at a double of GOV.UK One Login, with the settings that its article shows.
@Suite("GOV.UK One Login", .limitedConcurrency)
struct GOVUKOneLoginTests {
    private static let redirectURI = "https://reports.example/callback"

    @Test("Signs in a user", arguments: [JWSAlgorithm.es256, .rs256])
    func signIn(algorithm: JWSAlgorithm) async throws {
        let key = try SigningKey.generate(algorithm)
        try await withServer(key) { server async throws in
            let tokens = try await tokens(of: server, key)
            #expect(tokens.idToken?.registered.subject == "ada")
            let lifetime = try #require(tokens.accessToken.expiry) - tokens.accessToken.requested
            #expect(lifetime == .seconds(180))
            let requests = server.server.requests(for: "/token")
            #expect(requests.count == 1)
            #expect(requests.allSatisfy { $0.headers["User-Agent"]?.isEmpty == false })
        }
    }

    @Test(
        "Recovers from the invalid_grant of a wrong clock without a new sign-in",
        .shows("FAPI 2.0 §5.3.3.1 (note 1)"),
        arguments: [600, -600]
    )
    func skew(seconds: Int) async throws {
        let key = try SigningKey.generate(.es256)
        try await withServer(key, clockOffset: .seconds(seconds)) { server async throws in
            let tokens = try await tokens(of: server, key, leeway: .seconds(660))
            #expect(server.isActive(tokens.accessToken.value.expose { $0 }))
            #expect(server.tokenRequestCount == 2)
        }
    }

    @Test("Rejects another audience, another key and a missing user agent")
    func refusals() async throws {
        let key = try SigningKey.generate(.es256)
        try await withServer(key) { server async throws in
            func refusal(_ key: SigningKey, _ audience: AssertionAudience) async -> OAuth2Error? {
                do {
                    _ = try await client(of: server, key, audience).tokens(for: ClientCredentialsGrant())
                    return nil
                } catch { return error as? OAuth2Error }
            }
            for audience in [AssertionAudience.issuer, .tokenEndpoint] { #expect(await refusal(key, audience) == nil) }
            for error in [
                await refusal(key, .custom("https://another.example")), await refusal(try .generate(.es256), .issuer),
            ] {
                #expect(error?.code == .invalidClient)
                #expect(error?.status == 400)
            }
            var request = URLRequest(url: server.metadata.tokenEndpoint)
            request.httpMethod = "POST"
            request.setValue("", forHTTPHeaderField: "User-Agent")
            let error = await #expect(throws: ServerError.self) { try await NetworkClient().makeRequest(request) }
            #expect(error?.errorCode == 403)
        }
    }

    private func client(
        of server: MockAuthorizationServer,
        _ key: SigningKey,
        _ audience: AssertionAudience = .tokenEndpoint
    ) -> OAuth2Client {
        OAuth2Client(
            server: server.metadata,
            clientAuthentication: .privateKeyJWT(
                clientID: "reports",
                signingService: key.identified(by: "2026-11"),
                audience: audience,
                lifetime: .seconds(300)
            )
        )
    }

    private func tokens(
        of server: MockAuthorizationServer,
        _ key: SigningKey,
        leeway: Duration = .seconds(60)
    ) async throws -> IssuedTokens {
        var verifier = IDTokenVerifier(
            issuer: server.metadata.issuer,
            clientID: "reports",
            keys: .fixed(server.keys),
            algorithms: [.es256]
        )
        verifier.leeway = leeway
        let oauth = client(of: server, key)
        let request = try oauth.authorizationRequest(redirectURI: Self.redirectURI, scope: "openid email")
        let redirect = try await server.visit(request.url(at: oauth.server))
        return try await oauth.tokens(
            for: request.grant(from: redirect, of: oauth.server),
            idToken: .verified(by: verifier)
        )
    }

    private func withServer(
        _ key: SigningKey,
        clockOffset: Duration = .zero,
        _ body: (MockAuthorizationServer) async throws -> Void
    ) async throws {
        var configuration = MockAuthorizationServer.Configuration(tokenLifetime: .seconds(180))
        configuration.dialect = .govUKOneLogin
        configuration.clockOffset = clockOffset
        let client = MockAuthorizationServer.Client(
            id: "reports",
            authentication: .privateKeyJWT(key.verificationKey),
            redirectURIs: [Self.redirectURI]
        )
        let server = try MockAuthorizationServer.start(configuration: configuration, clients: [client])
        let result: Result<Void, any Error>
        do { result = .success(try await body(server)) } catch { result = .failure(error) }
        await server.stop()
        try result.get()
    }
}
