import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TokenGeneration

/// An API that verifies access tokens locally: their signature, claims and scope.
///
/// To adapt it, copy ``TokenGate`` and call it from your web framework.
struct ProtectedAPI: Example {
    static let name = "resource-server"
    static let summary = "an API that verifies access tokens with a published key set"

    static func run() async throws {
        let authorization = try MockAuthorizationServer.start(clients: [
            .init(id: "reader", secret: "s3cret", scopes: ["reports.read"])
        ])
        let issuer = authorization.metadata.issuer
        let gate = TokenGate(keys: authorization.server.url(for: "/jwks"), issuer: issuer, audience: issuer)
        let api = try LoopbackServer.start { routes in
            routes.on(.get, "/reports") { request in
                try await gate.answer(request, scope: "reports.read") { token in
                    .text("reports for \(token.subject ?? "nobody")")
                }
            }
            routes.on(.delete, "/reports") { request in
                try await gate.answer(request, scope: "reports.write") { _ in .status(204) }
            }
        }

        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: authorization.metadata,
                clientAuthentication: .clientSecretBasic(clientID: "reader", secret: Secret("s3cret"))
            ),
            grant: ClientCredentialsGrant(scope: "reports.read"),
            resources: [api.baseURL]
        )
        let client = NetworkClient(interceptors: [authenticator])
        let answer = try await client.makeRequest(URLRequest(url: api.url(for: "/reports")))
        print("1. with a token: \(String(decoding: answer, as: UTF8.self))")

        var deletion = URLRequest(url: api.url(for: "/reports"))
        deletion.httpMethod = "DELETE"
        try await authenticator.accessToken().value.expose { deletion.setAuthorization("Bearer \($0)") }
        try await expect(403, "insufficient scope", deletion, NetworkClient())
        try await expect(401, "no token", URLRequest(url: api.url(for: "/reports")), NetworkClient())
        var forged = URLRequest(url: api.url(for: "/reports"))
        let stranger = try ES256SigningService.generate()
        let claims = RegisteredClaims(issuer: issuer, audience: [issuer], expiration: Date() + 300)
        forged.setAuthorization("Bearer \(try JWTGenerator(claims: claims, signingService: stranger).token())")
        try await expect(401, "a token signed with another key", forged, NetworkClient())

        await api.stop()
        await authorization.stop()
    }

    private static func expect(
        _ status: Int,
        _ what: String,
        _ request: URLRequest,
        _ client: NetworkClient
    ) async throws {
        do {
            _ = try await client.makeRequest(request)
            throw Surprise("the API accepted: \(what)")
        } catch let error as ServerError {
            try Surprise.unless(error.errorCode == status, "\(what): \(error.errorCode)")
            print("\(status): \(what); \(error.httpResponse?.headers["WWW-Authenticate"] ?? "")")
        }
    }
}

struct TokenGate: Sendable {
    private let verifier: AccessTokenVerifier

    init(keys: URL, issuer: String, audience: String) {
        var verifier = AccessTokenVerifier(issuer: issuer, audience: audience, keys: .url(keys))
        verifier.realm = "reports"
        self.verifier = verifier
    }

    /// Passes a request with a valid token on.
    ///
    /// Otherwise, logs the reason, and returns the response that RFC 6750 specifies, or 503 if the
    /// keys aren't available.
    func answer(
        _ request: LoopbackRequest,
        scope: String,
        handler: (VerifiedAccessToken) throws -> LoopbackResponse
    ) async throws -> LoopbackResponse {
        // DPoP proofs need the public URL. This API doesn't accept them.
        let head = ProtectedRequest(method: request.method, url: request.path, headers: request.headers)
        let token: VerifiedAccessToken
        do { token = try await verifier.verify(head, requires: AccessRequirement(scope: [scope])) } catch {
            print("   refused: \(error)")
            return .status(error.status, headers: error.headers)
        }
        return try handler(token)
    }
}
