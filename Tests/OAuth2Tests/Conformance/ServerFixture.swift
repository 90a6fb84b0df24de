import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TokenGeneration

/// A `MockAuthorizationServer` and its clients, with the system clock and real sockets.
struct ServerFixture {
    static let redirectURI = "https://reports.example/callback"
    static let secret = "s3cret:/+ é and thirty-two octets long"

    let server: MockAuthorizationServer
    /// The private key of the client `keyed`.
    let key: SigningKey
    let network: NetworkClient
    private let transport: CurlTransport

    /// Runs a test with a server that has a registered client of each kind.
    ///
    /// - Parameters:
    ///   - configure: A closure that changes the server's configuration.
    ///   - body: The test.
    static func with(
        _ configure: (inout MockAuthorizationServer.Configuration) -> Void = { _ in },
        _ body: (ServerFixture) async throws -> Void
    ) async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configure(&configuration)
        let fixture = try ServerFixture(configuration)
        let result: Result<Void, any Error>
        do { result = .success(try await body(fixture)) } catch { result = .failure(error) }
        await fixture.transport.close()
        await fixture.server.stop()
        try result.get()
    }

    private init(_ configuration: MockAuthorizationServer.Configuration) throws {
        key = try SigningKey.generate(.es256)
        let places = [Self.redirectURI, "http://127.0.0.1/callback"]
        server = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [
                .init(id: "public", authentication: .none, redirectURIs: places),
                .init(id: "basic:é", authentication: .clientSecretBasic(Self.secret), redirectURIs: places),
                .init(id: "raw", authentication: .clientSecretBasic(Self.secret, isEncoded: false)),
                .init(id: "post", authentication: .clientSecretPost(Self.secret)),
                .init(id: "mac", authentication: .clientSecretJWT(Self.secret)),
                .init(id: "keyed", authentication: .privateKeyJWT(key.verificationKey), redirectURIs: places),
            ]
        )
        transport = try CurlTransport(configuration: .init(proxy: .none))
        network = NetworkClient(transport: transport, options: .init(timeout: .seconds(300)))
    }

    /// The authentication of each client.
    func authentications() throws -> [any ClientAuthentication] {
        let secret = Secret(Self.secret)
        return [
            StandardClientAuthentication.none(clientID: "public"),
            StandardClientAuthentication.clientSecretBasic(clientID: "basic:é", secret: secret),
            StandardClientAuthentication.clientSecretBasic(clientID: "raw", secret: secret, encoding: .raw),
            StandardClientAuthentication.clientSecretPost(clientID: "post", secret: secret),
            try StandardClientAuthentication.clientSecretJWT(clientID: "mac", secret: secret),
            try keyed(),
        ]
    }

    func keyed(_ audience: AssertionAudience = .issuer, key: SigningKey? = nil) throws -> StandardClientAuthentication {
        StandardClientAuthentication.privateKeyJWT(
            clientID: "keyed",
            signingService: try ES256SigningService(key: key ?? self.key),
            audience: audience
        )
    }

    func client(
        _ authentication: any ClientAuthentication = .none(clientID: "public"),
        server metadata: AuthorizationServer? = nil,
        dpop: DPoPKey? = nil,
        attempts: Int = 1
    ) -> OAuth2Client {
        OAuth2Client(
            server: metadata ?? server.metadata,
            clientAuthentication: authentication,
            dpop: dpop,
            client: network,
            timing: .init(timeout: .seconds(120), attempts: attempts)
        )
    }

    /// Returns a network client with an interceptor.
    func network(with interceptor: any Interceptor) -> NetworkClient {
        NetworkClient(transport: transport, interceptors: [interceptor], options: .init(timeout: .seconds(300)))
    }

    /// Returns the rule that verifies a client's ID tokens.
    func idToken(_ client: OAuth2Client, _ algorithms: Set<JWSAlgorithm> = [.es256]) -> IDTokenRule {
        .verified(by: idTokenVerifier(clientID: client.clientAuthentication.clientID, algorithms))
    }

    /// Returns a verifier with the server's keys.
    func idTokenVerifier(clientID: String = "public", _ algorithms: Set<JWSAlgorithm> = [.es256]) -> IDTokenVerifier {
        IDTokenVerifier(
            issuer: server.metadata.issuer,
            clientID: clientID,
            keys: .url(
                server.metadata.keySetURL ?? server.server.baseURL,
                client: network,
                options: .init(timeout: .seconds(120))
            ),
            algorithms: algorithms
        )
    }

    /// Requests a user's authorization, which the user grants.
    func code(
        _ client: OAuth2Client,
        scope: String? = nil,
        resources: [String] = [],
        details: [AuthorizationDetail] = []
    ) async throws -> AuthorizationCodeGrant {
        let request = try client.authorizationRequest(
            redirectURI: Self.redirectURI,
            scope: scope,
            resources: resources,
            authorizationDetails: details
        )
        let redirect = try await server.visit(try await request.url(at: client.server), client: network)
        return try await request.grant(from: redirect, of: client.server)
    }

    /// Returns the claims of an access token from the server.
    func claims(_ tokens: IssuedTokens) throws -> JSONObject {
        let key = try VerificationKey(jwk: server.keys.keys[0])
        var policy = ValidationPolicy(issuer: .exactly(server.metadata.issuer))
        policy.audience = .skipAudienceCheck
        return try JWTVerifier(key: key, policy: policy).verify(tokens.accessToken.value.expose { $0 }).claims
    }
}
