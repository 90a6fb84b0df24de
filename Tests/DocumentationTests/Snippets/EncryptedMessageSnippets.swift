import Foundation
import MockNetworking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The samples of “Encrypting messages” and of signed introspection responses, run with a mock
/// server.
@Suite("Encrypted message samples", .limitedConcurrency)
struct EncryptedMessageSnippets {
    @Test("A registered client gets encrypted ID tokens")
    func idTokens() async throws {
        let server = try MockAuthorizationServer.start()
        let registrar = ClientRegistrar(server: server.metadata)
        let (registered, verifier) = try await register(registrar, server.keys)
        let secret = try #require(registered.clientSecret)
        let oauth = OAuth2Client(
            server: server.metadata,
            clientAuthentication: .clientSecretBasic(clientID: registered.clientID, secret: secret)
        )
        let request = try oauth.authorizationRequest(
            redirectURI: "https://reports.example/callback",
            scope: "openid"
        )
        let redirect = try await server.visit(request.url(at: server.metadata))
        let grant = try request.grant(from: redirect, of: server.metadata)
        let tokens = try await oauth.tokens(for: grant, idToken: .verified(by: verifier))
        #expect(tokens.idToken?.registered.subject == "ada")
        await server.stop()
    }

    @Test("Encrypts an authorization request for the server")
    func requests() async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.decryptionKeys = [try DecryptionKey.generate(.rsaOAEP256)]
        let signer = try SigningKey.generate(.es256)
        let client = MockAuthorizationServer.Client(
            id: "reports",
            authentication: .privateKeyJWT(signer.verificationKey),
            redirectURIs: ["https://reports.example/callback"]
        )
        let server = try MockAuthorizationServer.start(configuration: configuration, clients: [client])
        let request = try AuthorizationRequest(
            clientID: "reports",
            redirectURI: "https://reports.example/callback"
        )
        let signed = try SignedAuthorizationRequest(request, for: server.metadata, signingService: signer)
        let keys = RemoteKeySet(url: try #require(server.metadata.keySetURL))
        let url = try await self.url(signed, keys, server.metadata)
        let redirect = try await server.visit(url)
        _ = try request.grant(from: redirect, of: server.metadata)
        await server.stop()
    }

    @Test("Requires a signed introspection response")
    func introspection() async throws {
        let server = try MockAuthorizationServer.start(clients: [.init(id: "api", secret: "s3cret")])
        let oauth = OAuth2Client(
            server: server.metadata,
            clientAuthentication: .clientSecretBasic(clientID: "api", secret: Secret("s3cret"))
        )
        let token = server.issueRefreshToken(clientID: "api", subject: "ada")
        #expect(try await find(oauth, token, server.keys).subject == "ada")
        await server.stop()
    }

    private func register(
        _ registrar: ClientRegistrar,
        _ keys: JWKSet
    ) async throws -> (RegisteredClient, IDTokenVerifier) {
        let key = try DecryptionKey.generate(.ecdhESA256KW)
        var metadata = ClientMetadata(["client_name": "Reports"])
        metadata.redirectURIs = ["https://reports.example/callback"]
        metadata.secure(.idToken, signedWith: .es256, encryptedWith: .ecdhESA256KW)
        metadata.encryptionKeys = [key.encryptionKey]
        let registered = try await registrar.register(metadata)
        var verifier = IDTokenVerifier(
            issuer: registrar.server.issuer,
            clientID: registered.clientID,
            keys: keys,
            algorithms: [.es256]
        )
        verifier.decrypter = try registered.metadata.decrypter(
            for: .idToken,
            keys: [key],
            clientSecret: registered.clientSecret
        )
        return (registered, verifier)
    }

    private func url(
        _ signed: SignedAuthorizationRequest,
        _ serverKeys: RemoteKeySet,
        _ server: AuthorizationServer
    ) async throws -> URL {
        let serverKey = try await serverKeys.encryptionKey(for: .rsaOAEP256)
        let url = try signed.encrypted(for: serverKey).url(at: server)
        return url
    }

    private func find(_ oauth: OAuth2Client, _ token: Secret, _ keys: JWKSet) async throws -> IntrospectedToken {
        let responses = SignedResponseVerifier(
            keys: keys,
            algorithms: [.es256]
        )
        let found = try await oauth.introspect(token, verifiedBy: responses)
        return found
    }
}
