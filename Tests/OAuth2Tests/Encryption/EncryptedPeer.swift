import Foundation
import MockNetworking
import Networking
import OAuth2
import Testing
import TokenGeneration

/// A client that registered the encryption of one kind of message, at a fixture's server.
struct EncryptedPeer {
    let fixture: ServerFixture
    let client: OAuth2Client
    let message: SecuredMessage
    let metadata: ClientMetadata
    let key: DecryptionKey?

    /// Registers the client, with a key pair or its secret, depending on the algorithm.
    init(
        _ fixture: ServerFixture,
        _ message: SecuredMessage,
        _ algorithm: JWEAlgorithm,
        _ encryption: JWEEncryption = .a128CBCHS256
    ) throws {
        let isAsymmetric = algorithm.rawValue.contains("RSA") || algorithm.rawValue.contains("ECDH")
        key = isAsymmetric ? try DecryptionKey.generate(algorithm) : nil
        var metadata = ClientMetadata()
        metadata.secure(message, encryptedWith: algorithm, encryption)
        metadata.encryptionKeys = key.map { [$0.encryptionKey] } ?? []
        var registered = MockAuthorizationServer.Client(
            id: "secured",
            authentication: .clientSecretBasic(ServerFixture.secret),
            redirectURIs: [ServerFixture.redirectURI, "http://127.0.0.1/callback"]
        )
        registered.metadata = metadata
        fixture.server.register(registered)
        self.fixture = fixture
        self.message = message
        self.metadata = metadata
        client = fixture.client(.clientSecretBasic(clientID: "secured", secret: Secret(ServerFixture.secret)))
    }

    func decrypter() throws -> JWEDecrypter? {
        try metadata.decrypter(
            for: message,
            keys: key.map { [$0] } ?? [],
            clientSecret: Secret(ServerFixture.secret)
        )
    }

    func idTokenVerifier() throws -> IDTokenVerifier {
        var verifier = fixture.idTokenVerifier(clientID: "secured")
        verifier.decrypter = try decrypter()
        return verifier
    }

    func signIn(_ verifier: IDTokenVerifier) async throws -> IssuedTokens {
        let grant = try await fixture.code(client, scope: "openid")
        return try await client.tokens(for: grant, idToken: .verified(by: verifier))
    }

    /// Requests a signed authorization response.
    func signedGrant(_ verifier: SignedResponseVerifier) async throws -> AuthorizationCodeGrant {
        let request = try client.authorizationRequest(redirectURI: ServerFixture.redirectURI, responseMode: .jwt)
        let redirect = try await fixture.server.visit(request.url(at: client.server), client: fixture.network)
        return try await request.grant(from: redirect, of: client.server, verifiedBy: verifier)
    }

    /// Returns a network client with a user's access token.
    func authorized() async throws -> NetworkClient {
        let tokens = try await client.tokens(for: fixture.code(client))
        let authenticator = OAuth2Authenticator(
            source: StaticTokenSource(tokens.accessToken),
            resources: [fixture.server.server.baseURL]
        )
        return fixture.network(with: authenticator)
    }
}
