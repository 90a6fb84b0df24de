import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The mock server's registration, pushed requests, signed requests and UserInfo on real sockets.
@Suite("Clients and users on loopback", .limitedConcurrency)
struct LoopbackRegistrationTests {
    @Test("Registers a client, gets tokens, updates and deletes the registration")
    func registration() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.initialAccessToken = Secret("initial")
        try await withServer(configuration) { server, client in
            let registrar = ClientRegistrar(server: server.metadata, client: client)
            #expect(await failureCode { _ = try await registrar.register(ClientMetadata()) } == .accessTokenRejected)
            var metadata = ClientMetadata(["client_name": "Reports"])
            metadata.redirectURIs = ["https://reports.example/callback"]
            metadata.scope = ["read"]
            let registered = try await registrar.register(metadata, initialAccessToken: Secret("initial"))
            #expect(registered.metadata.tokenEndpointAuthenticationMethod == "client_secret_basic")
            let secret = try #require(registered.clientSecret)
            // Create a new source each time, because a source stores its first token.
            func source() -> GrantTokenSource {
                GrantTokenSource(
                    server: server.metadata,
                    clientAuthentication: .clientSecretBasic(clientID: registered.clientID, secret: secret),
                    grant: ClientCredentialsGrant(scope: "read"),
                    client: client
                )
            }
            _ = try await source().token()

            let read = try await registrar.read(registered)
            #expect(read == registered)
            var changed = read.metadata
            changed.scope = ["write"]
            let updated = try await registrar.update(read, to: changed)
            #expect(updated.registrationAccessToken != read.registrationAccessToken)
            #expect(await failureCode { _ = try await registrar.read(read) } == .accessTokenRejected)
            #expect(await failureCode { _ = try await source().token() } == .requestRejected)
            try await registrar.delete(updated)
            #expect(await failureCode { _ = try await registrar.read(updated) } == .accessTokenRejected)
            #expect(await failureCode { _ = try await source().token() } == .invalidClient)
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
                server: server.metadata,
                clientAuthentication: .privateKeyJWT(clientID: registered.clientID, signingService: service),
                grant: ClientCredentialsGrant(),
                client: client
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
            let signed = try SignedAuthorizationRequest(request, for: server.metadata, signingService: service)
            let second = try await oauth.push(parameters: signed.parameters)
            #expect(second.requestURI != pushed.requestURI)
            #expect(server.pushedAuthorizationRequest(second.requestURI)?["state"] == request.state)
            #expect(server.pushedAuthorizationRequest(second.requestURI)?["max_age"] == "60")
            let forged = try SignedAuthorizationRequest(
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

    @Test("Gets UserInfo with a bound token, signed and about another user", arguments: [false, true])
    func userInfo(isSigned: Bool) async throws {
        try await withServer { server, client in
            server.register(.init(id: "web", secret: "s3cret"))
            server.setUsers { users in
                users.claims["ada"] = ["name": "Ada Lovelace"]
                users.areSigned = isSigned
            }
            let authentication = ClientSecretBasic.clientSecretBasic(clientID: "web", secret: Secret("s3cret"))
            let authenticator = OAuth2Authenticator(
                server: server.metadata,
                clientAuthentication: authentication,
                grant: RefreshTokenGrant(
                    refreshToken: server.issueRefreshToken(clientID: "web", subject: "ada", scope: "openid")
                ),
                resources: .everyHTTPSOrigin,
                dpop: .generated(),
                client: client
            )
            let authorized = NetworkClient(interceptors: [authenticator])
            let oauth = OAuth2Client(server: server.metadata, clientAuthentication: authentication, client: client)
            let keys = isSigned ? server.keys : nil
            let info = try await oauth.userInfo(subject: "ada", authorized: authorized, keys: keys)
            #expect(info["name"] == "Ada Lovelace")
            server.revokeAccessTokens()
            _ = try await oauth.userInfo(subject: "ada", authorized: authorized, keys: keys)
            server.setUsers { $0.substitute = "eve" }
            let code = await failureCode {
                _ = try await oauth.userInfo(subject: "ada", authorized: authorized, keys: keys)
            }
            #expect(code == .subjectMismatch)
        }
    }

    @Test("Each fault of an endpoint has its own error")
    func faults() async throws {
        try await withServer { server, client in
            server.register(.init(id: "web", secret: "s3cret"))
            let oauth = OAuth2Client(
                server: server.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "web", secret: Secret("s3cret")),
                client: client,
                timing: .init(attempts: 1)
            )
            let registrar = ClientRegistrar(server: server.metadata, client: client, timing: .init(attempts: 1))
            let faults: [(MockAuthorizationServer.Fault, OAuth2Error.Code)] = [
                (.html(), .protocolViolation), (.unavailable(), .serverTransient), (.cutAnswer, .serverUnreachable),
                (.lostAnswer, .serverUnreachable), (.error("invalid_request"), .requestRejected),
                (.response(.status(307, headers: ["Location": "/elsewhere"])), .protocolViolation),
            ]
            for (fault, code) in faults {
                server.misbehave(at: .pushedAuthorizationRequests, fault)
                server.misbehave(at: .registration, fault)
                let parameters = [(name: "response_type", value: "code")]
                #expect(await failureCode { _ = try await oauth.push(parameters: parameters) } == code)
                #expect(await failureCode { _ = try await registrar.register(ClientMetadata()) } == code)
                // Without a token, the response is too short to be truncated.
                if code == .serverUnreachable { continue }
                server.misbehave(at: .userInfo, fault)
                #expect(await failureCode { _ = try await oauth.userInfo(subject: "a", authorized: client) } == code)
            }
        }
    }

    private func withServer(
        _ configuration: MockAuthorizationServer.Configuration = .init(),
        _ body: (MockAuthorizationServer, NetworkClient) async throws -> Void
    ) async throws {
        let server = try MockAuthorizationServer.start(configuration: configuration)
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
