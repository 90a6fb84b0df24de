import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The mock server's endpoints on real sockets.
@Suite("Endpoints on loopback", .limitedConcurrency)
struct LoopbackEndpointTests {
    @Test("Discovers a server with either document")
    func discovery() async throws {
        try await withServer { server, client in
            for document in [WellKnownDocument.openID, .oauth2] {
                var options = AuthorizationServerDiscovery.Options()
                options.documents = [document]
                let found = try await AuthorizationServerDiscovery(
                    issuer: server.metadata.issuer,
                    client: client,
                    options: options
                ).server()
                #expect(found == server.metadata)
            }
            let code = await failureCode {
                _ = try await AuthorizationServerDiscovery(issuer: server.metadata.issuer + "/", client: client)
                    .server()
            }
            #expect(code == .issuerMismatch)
        }
    }

    @Test("Rejects a truncated, late, huge, redirected or HTML document")
    func badDocuments() async throws {
        try await withServer { server, client in
            let page = LoopbackResponse.text(String(repeating: "x", count: 2 << 20))
            let cases: [(MockAuthorizationServer.Fault, OAuth2Error.Code)] = [
                (.cutAnswer, .serverUnreachable), (.html(), .protocolViolation), (.response(page), .protocolViolation),
                (.response(.status(302, headers: ["Location": "/elsewhere"])), .protocolViolation),
                (.members(["issuer": "https://evil.example"]), .issuerMismatch), (.unavailable(), .serverTransient),
                (.silence, .serverUnreachable),
            ]
            for (fault, code) in cases {
                server.misbehave(at: .metadata, fault)
                var options = AuthorizationServerDiscovery.Options()
                options.timing.attempts = 1
                options.timing.timeout = code == .serverUnreachable ? .seconds(3) : .seconds(100)
                let found = await failureCode {
                    _ = try await AuthorizationServerDiscovery(
                        issuer: server.metadata.issuer,
                        client: client,
                        options: options
                    ).server()
                }
                #expect(found == code)
            }
        }
    }

    @Test("Introspects a token before and after its revocation")
    func introspection() async throws {
        try await withServer { server, client in
            let oauth = OAuth2Client(server: server.metadata, clientAuthentication: Self.authentication, client: client)
            let refresh = server.issueRefreshToken(clientID: "api", subject: "ada", scope: "read write")
            let source = GrantTokenSource(
                server: server.metadata,
                clientAuthentication: Self.authentication,
                grant: RefreshTokenGrant(refreshToken: refresh),
                dpop: .generated(),
                client: client
            )
            let token = try await source.token().value
            let found = try await oauth.introspect(token, kind: .accessToken)
            #expect(found.isActive)
            #expect((found.subject, found.clientID, found.tokenType) == ("ada", "api", "DPoP"))
            #expect(found.scope == ["read", "write"])
            #expect(found.issuer == server.metadata.issuer && found.audience == [server.metadata.issuer])
            #expect(found.confirmation?["jkt"]?.string?.isEmpty == false)
            let lifetime = try #require(found.expiration).timeIntervalSinceNow
            #expect(lifetime > 0 && lifetime < 302)
            #expect(try await !oauth.introspect(refresh).isActive)
            #expect(try await !oauth.introspect(Secret("nobody's")).isActive)

            try await oauth.revoke(token, kind: .accessToken)
            #expect(try await !oauth.introspect(token).isActive)
            try await oauth.revoke(token)
        }
    }

    @Test("Revoking a refresh token revokes its access tokens")
    func revocation() async throws {
        try await withServer { server, client in
            let oauth = OAuth2Client(server: server.metadata, clientAuthentication: Self.authentication, client: client)
            let refresh = server.issueRefreshToken(clientID: "api", subject: "ada")
            #expect(try await oauth.introspect(refresh, kind: .refreshToken).isActive)
            try await oauth.revoke(refresh, kind: .refreshToken)
            #expect(try await !oauth.introspect(refresh).isActive)
        }
    }

    @Test("Introspection and revocation require client authentication")
    func otherClients() async throws {
        try await withServer { server, client in
            let oauth = OAuth2Client(
                server: server.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "api", secret: Secret("wrong")),
                client: client
            )
            let refresh = server.issueRefreshToken(clientID: "api", subject: "ada")
            #expect(await failureCode { _ = try await oauth.introspect(refresh) } == .invalidClient)
            #expect(await failureCode { try await oauth.revoke(refresh) } == .invalidClient)
        }
    }

    private static let authentication = ClientSecretBasic.clientSecretBasic(clientID: "api", secret: Secret("s3cret"))

    private func withServer(_ body: (MockAuthorizationServer, NetworkClient) async throws -> Void) async throws {
        let server = try MockAuthorizationServer.start(clients: [.init(id: "api", secret: "s3cret")])
        let transport = try CurlTransport(configuration: .init(proxy: .none))
        let result: Result<Void, any Error>
        do { result = .success(try await body(server, NetworkClient(transport: transport))) } catch {
            result = .failure(error)
        }
        await transport.close()
        await server.stop()
        try result.get()
    }
}
