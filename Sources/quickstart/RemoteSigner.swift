import Foundation
import MockNetworking
import Networking
import OAuth2
import TokenGeneration

/// A service that signs tokens and client assertions in a key management service.
///
/// To adapt it, copy ``ManagedKey`` and call your service in `sign(data:)`.
struct RemoteSigner: Example {
    static let name = "remote-signer"
    static let summary = "tokens and client assertions signed by a key management service"

    static func run() async throws {
        // A stand-in for a KMS, which holds the key and signs messages.
        let key = try SigningKey.generate(.es256)
        let vault = try ES256SigningService(key: key)
        let keyService = try LoopbackServer.start { routes in
            routes.on(.post, "/keys/7/sign") { request in
                let message = try JSONDecoder().decode(ManagedKey.Message.self, from: request.body)
                return try .json(encoding: ManagedKey.Answer(signature: vault.sign(data: message.message)))
            }
        }
        let managed = ManagedKey(
            client: NetworkClient(),
            url: keyService.url(for: "/keys/7/sign"),
            keyID: key.verificationKey.thumbprint,
            publicKey: key.verificationKey
        )

        // Sign a token …
        let claims = RegisteredClaims(issuer: "billing", audience: ["orders"], expiration: Date() + 300)
        let token = try await managed.token(for: claims)
        let policy = ValidationPolicy(issuer: "billing", audience: "orders")
        let verified = try JWTVerifier(key: key.verificationKey, policy: policy).verify(token)
        print("1. the key service signed a token: \(verified.claims)")

        // … and the client assertion for an access token.
        let authorization = try MockAuthorizationServer.start(clients: [.init(id: "billing", key: key.verificationKey)])
        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .privateKeyJWT(clientID: "billing", signingService: managed)
            ),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        let accessToken = try await authenticator.accessToken()
        try Surprise.unless(accessToken.value.expose(authorization.isActive), "the access token is not active")
        print("2. it also signed the client assertion; \(authorization.issuedTokenCount) access token in all")
        try Surprise.unless(keyService.requestCount == 2, "\(keyService.requestCount) signatures")
        print("3. the private key never left the key service, which signed \(keyService.requestCount) times")

        await authorization.stop()
        await keyService.stop()
    }
}

struct ManagedKey: SigningService {
    let client: NetworkClient
    let url: URL
    let algorithm = JWSAlgorithm.es256
    let keyID: String?
    /// The key for verifying each signature before it's used.
    let publicKey: VerificationKey?

    struct Message: Codable { let message: Data }
    struct Answer: Codable { let signature: Data }

    func sign(data: Data) async throws -> Data {
        let answer: Answer = try await client.fetch(SignEndpoint(baseURL: url, message: data))
        return answer.signature
    }

    private struct SignEndpoint: HTTPEndpoint {
        let baseURL: URL
        let message: Data

        var method: HTTPMethod { .post }
        var body: EndpointBody { get throws { try .json(Message(message: message)) } }
    }
}
