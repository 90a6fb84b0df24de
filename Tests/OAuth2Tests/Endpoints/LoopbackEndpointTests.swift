import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The mock server's endpoints for clients and users on real sockets.
@Suite("Endpoints on loopback", .limitedConcurrency)
struct LoopbackEndpointTests {
    @Test("Discovers a server with either document", .shows("O10"))
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

    @Test(
        "Introspects tokens before and after their revocation, for authenticated clients",
        .shows("RFC 7662 §2", "RFC 7009 §2")
    )
    func introspection() async throws {
        try await withServer { server, client in
            let oauth = OAuth2Client(server: server.metadata, clientAuthentication: Self.authentication, client: client)
            let refresh = server.issueRefreshToken(clientID: "api", subject: "ada", scope: "read write")
            let source = GrantTokenSource(
                client: OAuth2Client(
                    server: server.metadata,
                    clientAuthentication: Self.authentication,
                    dpop: .generated(),
                    client: client
                ),
                grant: RefreshTokenGrant(refreshToken: refresh)
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
            let other = server.issueRefreshToken(clientID: "api", subject: "ada")
            #expect(try await oauth.introspect(other, kind: .refreshToken).isActive)
            try await oauth.revoke(other, kind: .refreshToken)
            #expect(try await !oauth.introspect(other).isActive)
            // Both endpoints require the client's authentication.
            let stranger = OAuth2Client(
                server: server.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "api", secret: Secret("wrong")),
                client: client
            )
            #expect(await failureCode { try await stranger.introspect(refresh) } == .invalidClient)
            #expect(await failureCode { try await stranger.revoke(refresh) } == .invalidClient)
        }
    }

    @Test("Registers a client, gets tokens, updates and deletes the registration")
    func registration() async throws {
        try await withServer({ $0.initialAccessToken = Secret("initial") }) { server, client in
            let registrar = ClientRegistrar(server: server.metadata, client: client)
            let refusal = await failure { try await registrar.register(ClientMetadata()) }
            #expect(refusal?.code == .accessTokenRejected)
            #expect(refusal?.message.hasSuffix("requires an access token; pass `initialAccessToken`") == true)
            var metadata = ClientMetadata(["client_name": "Reports"])
            metadata.redirectURIs = ["https://reports.example/callback"]
            metadata.scope = ["read"]
            let registered = try await registrar.register(metadata, initialAccessToken: Secret("initial"))
            #expect(registered.metadata.tokenEndpointAuthenticationMethod == "client_secret_basic")
            let secret = try #require(registered.clientSecret)
            // Create a new source each time, because a source stores its first token.
            func source() -> GrantTokenSource {
                GrantTokenSource(
                    client: OAuth2Client(
                        server: server.metadata,
                        clientAuthentication: .clientSecretBasic(clientID: registered.clientID, secret: secret),
                        client: client
                    ),
                    grant: ClientCredentialsGrant(scope: "read")
                )
            }
            _ = try await source().token()

            let read = try await registrar.read(registered)
            #expect(read == registered)
            var changed = read.metadata
            changed.scope = ["write"]
            let updated = try await registrar.update(read, to: changed)
            #expect(updated.registrationAccessToken != read.registrationAccessToken)
            #expect(await failureCode { try await registrar.read(read) } == .accessTokenRejected)
            #expect(await failureCode { try await source().token() } == .requestRejected)
            try await registrar.delete(updated)
            #expect(await failureCode { try await registrar.read(updated) } == .accessTokenRejected)
            #expect(await failureCode { try await source().token() } == .invalidClient)
        }
    }

    @Test("Registers a client's key, and reports codes for malformed metadata")
    func keysAndRefusals() async throws {
        try await withServer { server, client in
            let registrar = ClientRegistrar(server: server.metadata, client: client)
            let key = try SigningKey.generate(.es256)
            var metadata = ClientMetadata()
            metadata.tokenEndpointAuthenticationMethod = "private_key_jwt"
            let missing = await #expect(throws: OAuth2Error.self) { try await registrar.register(metadata) }
            #expect(missing?.serverCode == "invalid_client_metadata")
            metadata.keys = [key.verificationKey]
            let registered = try await registrar.register(metadata)
            #expect(registered.clientSecret == nil)
            let service = try ES256SigningService(key: key)
            let source = GrantTokenSource(
                client: OAuth2Client(
                    server: server.metadata,
                    clientAuthentication: .privateKeyJWT(clientID: registered.clientID, signingService: service),
                    client: client
                ),
                grant: ClientCredentialsGrant()
            )
            _ = try await source.token()
            metadata.redirectURIs = ["/callback"]
            let relative = await #expect(throws: OAuth2Error.self) { try await registrar.register(metadata) }
            #expect(relative?.serverCode == "invalid_redirect_uri")
        }
    }

    @Test("Pushes a request, and the server denies repeated, forged and other clients' requests")
    func pushedRequests() async throws {
        try await withServer { server, client in
            let key = try SigningKey.generate(.es256)
            server.register(.init(id: "web", key: key.verificationKey))
            let service = try ES256SigningService(key: key)
            let oauth = OAuth2Client(
                server: server.metadata,
                clientAuthentication: .privateKeyJWT(clientID: "web", signingService: service),
                client: client
            )
            let request = try AuthorizationRequest(
                clientID: "web",
                redirectURI: "https://web.example/callback",
                scope: "openid",
                additionalParameters: ["max_age": "60"]
            )
            let pushed = try await oauth.push(request)
            let found = try #require(server.pushedAuthorizationRequest(pushed.requestURI))
            #expect(found["state"] == request.state && found["max_age"] == "60")
            let signed = try await SignedAuthorizationRequest(request, for: server.metadata, signingService: service)
            let second = try await oauth.push(parameters: signed.parameters)
            #expect(second.requestURI != pushed.requestURI)
            #expect(server.pushedAuthorizationRequest(second.requestURI)?["state"] == request.state)
            #expect(server.pushedAuthorizationRequest(second.requestURI)?["max_age"] == "60")
            let forged = try await SignedAuthorizationRequest(
                request,
                for: server.metadata,
                signingService: ES256SigningService(key: .generate(.es256))
            )
            let error = await #expect(throws: OAuth2Error.self) { try await oauth.push(parameters: forged.parameters) }
            #expect(error?.serverCode == "invalid_request_object")
            let empty = await #expect(throws: OAuth2Error.self) { try await oauth.push(parameters: []) }
            #expect(empty?.serverCode == "invalid_request")
        }
    }

    private static let authentication = StandardClientAuthentication.clientSecretBasic(
        clientID: "api",
        secret: Secret("s3cret")
    )

    private func withServer(
        _ configure: (inout MockAuthorizationServer.Configuration) -> Void = { _ in },
        _ body: (MockAuthorizationServer, NetworkClient) async throws -> Void
    ) async throws {
        try await ServerFixture.with(configure) { fixture in
            fixture.server.register(.init(id: "api", secret: "s3cret"))
            try await body(fixture.server, fixture.network)
        }
    }
}
