import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import ResourceServer
import TestIssuers
import TestSupport
import Testing
import TokenGeneration

/// Tests of our client and verifier against doubles that behave like widely used authorization
/// servers.
@Suite("Authorization servers' dialects", .limitedConcurrency)
struct DialectTests {
    typealias Dialect = MockAuthorizationServer.Dialect

    private static let secret = "s3cret-of-reports"

    private func withServer(
        _ dialect: Dialect,
        scopes: Set<String>? = nil,
        _ configure: (inout MockAuthorizationServer.Configuration) -> Void = { _ in },
        _ body: (MockAuthorizationServer) async throws -> Void
    ) async throws {
        var configuration = MockAuthorizationServer.Configuration(dialect: dialect)
        configure(&configuration)
        let client = MockAuthorizationServer.Client(id: "reports", secret: Self.secret, scopes: scopes)
        try await withAuthorizationServer(configuration, clients: [client], body)
    }

    private func client(of server: MockAuthorizationServer, secret: String = Self.secret) -> OAuth2Client {
        OAuth2Client(
            server: server.metadata,
            clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(secret)),
            timing: .patient
        )
    }

    private func verified(_ token: String, by verifier: AccessTokenVerifier) async throws -> VerifiedAccessToken {
        let headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
        return try await verifier.verify(
            ProtectedRequest(method: .get, url: "https://api.example/reports", headers: headers)
        )
    }

    private func patientVerifier(_ issuer: TokenIssuer, audience: String) -> AccessTokenVerifier {
        let keys = IssuerKeys.published(by: issuer, options: .patient)
        return AccessTokenVerifier(issuer, audience: audience, keys: keys)
    }

    private func token(
        _ server: MockAuthorizationServer,
        _ grant: ClientCredentialsGrant,
        dpop: DPoPKey? = nil
    ) async throws -> AccessToken {
        // Discovery checks that the document is that of the issuer.
        let source = GrantTokenSource(
            client: OAuth2Client(
                server: try await server.discovery.server(),
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret(Self.secret)),
                dpop: dpop,
                timing: .patient
            ),
            grant: grant
        )
        return try await source.token(for: TokenRequirements())
    }

    private func issued(_ server: MockAuthorizationServer, _ grant: ClientCredentialsGrant) async throws -> String {
        try await token(server, grant).value.expose { $0 }
    }

    // MARK: Tokens of clients

    @Test("Keycloak: a token is always for the audiences of the realm")
    func keycloak() async throws {
        try await withServer(.keycloak, { $0.resources = ["orders"] }) { server in
            let grant = ClientCredentialsGrant(scope: "read", resources: ["https://x.example"])
            let token = try await issued(server, grant)
            let verifier = patientVerifier(.keycloak(issuer: server.metadata.issuer), audience: "orders")
            let found = try await verified(token, by: verifier)
            #expect((found.clientID, found.scope) == ("reports", ["read"]))
            #expect(found.audience == ["account", "orders"])
            let other = patientVerifier(.keycloak(issuer: server.metadata.issuer), audience: "https://x.example")
            await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verified(token, by: other) }
        }
    }

    @Test("Auth0: a token is for the API in the parameter audience, and opaque without it")
    func auth0() async throws {
        try await withServer(.auth0) { server in
            let api = "https://orders.example"
            let token = try await issued(server, ClientCredentialsGrant(additionalParameters: ["audience": api]))
            let verifier = patientVerifier(.auth0(issuer: server.metadata.issuer), audience: api)
            let found = try await verified(token, by: verifier)
            #expect((found.clientID, found.subject) == ("reports", "reports@clients"))
            // A user's token with openid is also for the UserInfo endpoint.
            let user = try server.issueAccessToken(clientID: "reports", subject: "ada", scope: "openid", audience: api)
            #expect(try await verified(user, by: verifier).audience == [api, server.metadata.issuer + "userinfo"])
            let opaque = try await issued(server, ClientCredentialsGrant())
            #expect(!opaque.contains("."))
            await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verified(opaque, by: verifier) }
        }
    }

    @Test("Okta: the scope is an array, the client is in cid, and DPoP requires a nonce")
    func okta() async throws {
        try await withServer(.okta) { server in
            let token = try await issued(server, ClientCredentialsGrant(scope: "orders.read orders.write"))
            let verifier = patientVerifier(.okta(issuer: server.metadata.issuer), audience: "api://default")
            let found = try await verified(token, by: verifier)
            #expect((found.clientID, found.scope) == ("reports", ["orders.read", "orders.write"]))
            let error = await failure { try await issued(server, ClientCredentialsGrant()) }
            #expect((error?.code, error?.serverCode) == (.requestRejected, "invalid_scope"))
            let key = DPoPKey.generated()
            let bound = try await self.token(server, ClientCredentialsGrant(scope: "orders.read"), dpop: key)
            #expect(bound.type == "DPoP")
            #expect(server.tokenRequestCount == 4)
        }
    }

    @Test("Cognito: a token has no audience unless the client requests a resource")
    func cognito() async throws {
        try await withServer(.cognito) { server in
            let issuer = server.metadata.issuer
            let verifier = patientVerifier(
                .cognito(issuer: issuer, clients: ["reports"]),
                audience: "https://orders.example"
            )
            let plain = try await issued(server, ClientCredentialsGrant(scope: "orders/read"))
            #expect(try await verified(plain, by: verifier).audience == [])
            let grant = ClientCredentialsGrant(resources: ["https://orders.example"])
            #expect(try await verified(issued(server, grant), by: verifier).audience == ["https://orders.example"])
            let others = patientVerifier(
                .cognito(issuer: issuer, clients: ["other"]),
                audience: "https://orders.example"
            )
            await #expect(throws: AccessRefusal(.invalidToken, "")) { try await verified(plain, by: others) }
        }
    }

    @Test("Entra: the scope determines the audience, and the token has the client's roles")
    func entra() async throws {
        try await withServer(.entra, scopes: ["api://orders/.default", "Orders.Read.All"]) { server in
            let token = try await issued(server, ClientCredentialsGrant(scope: "api://orders/.default"))
            let claims = try UnverifiedToken(token).unverifiedClaims
            #expect((claims["aud"], claims["roles"]) == ("api://orders", ["Orders.Read.All"]))
            #expect((claims["scp"], claims["azp"]) == (nil, "reports"))
            #expect(claims["iss"]?.string == server.metadata.issuer)
            let error = await failure { try await issued(server, ClientCredentialsGrant()) }
            #expect((error?.code, error?.serverCode) == (.requestRejected, "invalid_request"))
        }
    }

    @Test("Google and GitHub: a client can't act for itself", arguments: [Dialect.google, .gitHub])
    func users(dialect: Dialect) async throws {
        try await withServer(dialect) { server in
            let error = await #expect(throws: OAuth2Error.self) {
                try await issued(server, ClientCredentialsGrant())
            }
            #expect(error?.serverCode == "unsupported_grant_type")
        }
    }

    // MARK: Refresh tokens and errors

    @Test(
        "Refreshes as each server expects, and knows when a grant has ended",
        .shows("J28"),
        arguments: [
            (.keycloak, true), (.entra, true), (.gitHub, true), (.auth0, false), (.okta, false), (.cognito, false),
            (.google, false),
        ] as [(Dialect, Bool)]
    )
    func refresh(dialect: Dialect, isReplaced: Bool) async throws {
        try await withServer(dialect) { server in
            let oauth = client(of: server)
            let first = server.issueRefreshToken(clientID: "reports", subject: "ada", scope: "api://orders/read")
            let tokens = try await oauth.tokens(refreshing: first)
            #expect((tokens.members["refresh_token"] != nil) == isReplaced)
            #expect(server.isActive(tokens.accessToken.value.expose { $0 }))
            let again = await failureCode { try await oauth.tokens(refreshing: first) }
            // Only GitHub, among those that replace it, invalidates the old one.
            #expect(again == (dialect == .gitHub ? .reauthenticationRequired : nil))
            server.revokeRefreshTokens()
            let ended = await failureCode { try await oauth.tokens(refreshing: first) }
            #expect(ended == .reauthenticationRequired)
        }
    }

    @Test(
        "Reports a wrong secret as such",
        arguments: [Dialect.keycloak, .entra, .auth0, .okta, .cognito, .google, .gitHub]
    )
    func wrongSecret(dialect: Dialect) async throws {
        try await withServer(dialect) { server in
            let oauth = client(of: server, secret: "wrong-secret-of-reports")
            let code = await failureCode { try await oauth.tokens(refreshing: Secret("refresh-1")) }
            #expect(code == .invalidClient)
        }
    }

    @Test("GitHub: responds with a form, unless the request accepts JSON")
    func forms() async throws {
        try await withServer(.gitHub) { server in
            let refresh = server.issueRefreshToken(clientID: "reports", subject: "ada").expose { $0 }
            var request = URLRequest(url: server.metadata.tokenEndpoint)
            request.httpMethod = "POST"
            request.httpBody = Data("grant_type=refresh_token&refresh_token=\(refresh)".utf8)
            request.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
            let pair = Data("reports:\(Self.secret)".utf8).base64EncodedString()
            request.setValue("Basic \(pair)", forHTTPHeaderField: "Authorization")
            let body = try await NetworkClient().makeRequest(request)
            let fields = try #require(FormURLEncoded.decode(String(decoding: body, as: UTF8.self)))
            #expect(fields.first { $0.name == "token_type" }?.value == "bearer")
            #expect(fields.first { $0.name == "access_token" }?.value.hasPrefix("ghu_") == true)
        }
    }
}
