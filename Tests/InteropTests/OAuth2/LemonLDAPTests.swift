import Foundation
import FoundationNetworking
import Networking
import OAuth2
import ResourceServer
import Testing
import TokenGeneration

/// Tests against LemonLDAP::NG as an OpenID provider, which `Tests/Interop/servers` has started.
@Suite(
    "LemonLDAP::NG",
    .serialized,
    .enabled(if: Interop.variable("INTEROP_LEMONLDAP") != nil, Interop.serversHint),
    .timeLimit(.minutes(20))
)
struct LemonLDAPTests {
    private static let redirectURI = "https://client.example/callback"
    private let issuer = Interop.variable("INTEROP_LEMONLDAP") ?? ""

    private func server() async throws -> AuthorizationServer {
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [.openID]
        return try await AuthorizationServerDiscovery(issuer: issuer, client: NetworkClient(), options: options)
            .server()
    }

    private func oauth(
        _ id: String = "web",
        secret: String = "s3cret-of-a-client-0123456789-abcdef",
        encoding: StandardClientAuthentication.Encoding = .form,
        _ change: (inout AuthorizationServer) -> Void = { _ in }
    ) async throws -> OAuth2Client {
        var server = try await server()
        change(&server)
        return OAuth2Client(
            server: server,
            clientAuthentication: .clientSecretBasic(clientID: id, secret: Secret(secret), encoding: encoding)
        )
    }

    /// Returns a request, and the redirect that the server sends after its login form.
    private func authorize(_ client: OAuth2Client) async throws -> (AuthorizationRequest, URL) {
        let request = try client.authorizationRequest(redirectURI: Self.redirectURI, scope: "openid profile email")
        var form = URLRequest(url: try await request.url(at: client.server))
        form.httpMethod = "POST"
        form.setValue("application/x-www-form-urlencoded", forHTTPHeaderField: "Content-Type")
        form.httpBody = Data("user=dwho&password=dwho".utf8)
        let browser = NetworkClient(options: .init(redirects: .never))
        let redirect = try await #require(throws: ServerError.self, "the server didn't redirect") {
            try await browser.makeRequest(form)
        }
        return (request, try #require(redirect.headers["Location"].flatMap { URL(string: $0) }))
    }

    private func signIn(_ client: OAuth2Client) async throws -> IssuedTokens {
        let (request, redirect) = try await authorize(client)
        return try await client.tokens(
            for: request.grant(from: redirect, of: client.server),
            idToken: .verified(by: IDTokenVerifier(issuer: issuer, clientID: "web"))
        )
    }

    private func authorized(_ token: AccessToken) -> NetworkClient {
        NetworkClient(interceptors: [
            OAuth2Authenticator(source: StaticTokenSource(token), resources: .everyHTTPSOrigin)
        ])
    }

    @Test("Discovers the server, whose keys don't name their algorithm")
    func discovery() async throws {
        let server = try await server()
        #expect(server.introspectionEndpoint != nil && server.revocationEndpoint == nil)
        let keys = try await JSONObject(
            parsing: NetworkClient().makeRequest(URLRequest(url: try #require(server.keySetURL)))
        )
        let key = try #require(keys["keys"]?.array?.first?.object)
        #expect(key["kty"] == "RSA" && key["alg"] == nil)
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [.oauth2]
        let discovery = AuthorizationServerDiscovery(issuer: issuer, client: NetworkClient(), options: options)
        await #expect(throws: OAuth2Error.self) { try await discovery.server() }
    }

    @Test("Signs in with PKCE, refreshes and introspects, and rejects a user's token for another client")
    func signIn() async throws {
        let client = try await oauth()
        let tokens = try await signIn(client)
        #expect(tokens.idToken?.registered.subject == "dwho")
        let info = try await client.userInfo(subject: "dwho", authorized: authorized(tokens.accessToken))
        #expect(info["name"] == "Doctor Who" && info["email"] == "dwho@badwolf.org")

        let found = try await client.introspect(tokens.accessToken.value)
        #expect(found.isActive && found.clientID == "web" && found.subject == "dwho")
        #expect(found.scope == ["openid", "profile", "email"])
        #expect(found.audience.isEmpty)
        #expect(try await !client.introspect(Secret("unknown")).isActive)

        // The server doesn't rotate refresh tokens.
        let refreshToken = try #require(tokens.refreshToken)
        let refreshed = try await client.tokens(refreshing: refreshToken)
        #expect(refreshed.refreshToken == refreshToken)
        #expect(refreshed.accessToken.value != tokens.accessToken.value)
        #expect(try await client.introspect(refreshed.accessToken.value).isActive)

        let (request, redirect) = try await authorize(client)
        let foreign = IDTokenVerifier(issuer: issuer, clientID: "another")
        let error = await #expect(throws: OAuth2Error.self) {
            try await client.tokens(
                for: request.grant(from: redirect, of: client.server),
                idToken: .verified(by: foreign)
            )
        }
        #expect((error?.cause as? TokenError)?.code == .audienceMismatch)
    }

    @Test("The server rejects another code verifier, a used code, and a wrong secret")
    func refusals() async throws {
        let client = try await oauth()
        let stolen = try await authorize(client)
        let forged = try AuthorizationRequest(
            clientID: "web",
            redirectURI: Self.redirectURI,
            scope: "openid",
            state: stolen.0.state
        )
        let (request, redirect) = try await authorize(client)
        let grant = try await request.grant(from: redirect, of: client.server)
        _ = try await client.tokens(for: grant, idToken: .skipIDTokenCheck)
        for wrong in [try await forged.grant(from: stolen.1, of: client.server), grant] {
            let error = await #expect(throws: OAuth2Error.self) {
                try await client.tokens(for: wrong, idToken: .skipIDTokenCheck)
            }
            #expect(error?.code == .reauthenticationRequired)
        }
        let stranger = try await oauth(secret: "wrong")
        let error = await #expect(throws: OAuth2Error.self) {
            try await stranger.tokens(for: ClientCredentialsGrant(scope: "read"))
        }
        #expect(error?.code == .invalidClient)
    }

    @Test("A dead refresh token ends the grant only with the server's setting")
    func deadRefreshTokens() async throws {
        let client = try await oauth()
        var error = await #expect(throws: OAuth2Error.self) { try await client.tokens(refreshing: Secret("dead")) }
        #expect(error?.code == .requestRejected && error?.serverCode == "invalid_request")
        #expect(error?.message.contains("`endsGrantsWithInvalidRequest`") == true)
        let told = try await oauth { $0.endsGrantsWithInvalidRequest = true }
        error = await #expect(throws: OAuth2Error.self) { try await told.tokens(refreshing: Secret("dead")) }
        #expect(error?.code == .reauthenticationRequired)
    }

    @Test("The server doesn't decode Basic credentials, and the error names the setting")
    func encodings() async throws {
        let secret = "s3cret%2Bof-a-client-0123456789-abcdef"
        let encoded = try await oauth("percent", secret: secret)
        let grant = ClientCredentialsGrant(scope: "read")
        let error = await #expect(throws: OAuth2Error.self) { try await encoded.tokens(for: grant) }
        #expect(error?.code == .invalidClient)
        #expect(error?.message.contains("`encoding: .raw` (jwt token --basic-encoding raw)") == true)
        _ = try await oauth("percent", secret: secret, encoding: .raw).tokens(for: grant)
    }

    @Test(
        "The server reads a secret only up to a colon, and Base64 up to “+” or “/”",
        arguments: [
            ("colon", "s3cret:of-a-client-0123456789-abcdef"), ("tilde", "s3cret~~~of-a-client-0123456789-abcdef"),
        ]
    )
    func basic(id: String, secret: String) async throws {
        let grant = ClientCredentialsGrant(scope: "read")
        let raw = try await oauth(id, secret: secret, encoding: .raw)
        let error = await #expect(throws: OAuth2Error.self) { try await raw.tokens(for: grant) }
        #expect(error?.code == .invalidClient)
        let post = OAuth2Client(
            server: try await server(),
            clientAuthentication: .clientSecretPost(clientID: id, secret: Secret(secret))
        )
        _ = try await post.tokens(for: grant)
    }

    @Test("Verifies a JWT access token with a key that doesn't name its algorithm")
    func accessTokens() async throws {
        let token = try await oauth("service").tokens(for: ClientCredentialsGrant(scope: "read")).accessToken.value
        func verifier(_ audience: String) -> AccessTokenVerifier {
            var verifier = AccessTokenVerifier(issuer: issuer, audience: audience)
            verifier.policy.type = .absentOrJWT
            return verifier
        }
        let request = ProtectedRequest(
            method: .get,
            url: "https://api.example/",
            headers: ["Authorization": "Bearer \(token.expose { $0 })"]
        )
        let verified = try await verifier("service").verify(request, requires: AccessRequirement(scope: ["read"]))
        #expect(verified.clientID == "service" && verified.subject == "service")
        await #expect(throws: AccessRefusal(.invalidToken, "")) {
            try await verifier("https://api.example").verify(request)
        }
        await #expect(throws: AccessRefusal(.insufficientScope, "")) {
            try await verifier("service").verify(request, requires: AccessRequirement(scope: ["write"]))
        }
        // The server's type isn't that of RFC 9068.
        let strict = AccessTokenVerifier(issuer: issuer, audience: "service")
        await #expect(throws: AccessRefusal(.invalidToken, "")) { try await strict.verify(request) }
    }

    @Test("A 401 of UserInfo rejects the token, although its challenge has no scheme")
    func challenge() async throws {
        let client = try await oauth()
        let unknown = AccessToken(value: Secret("unknown"), requested: .now)
        let error = await #expect(throws: OAuth2Error.self) {
            try await client.userInfo(subject: "dwho", authorized: authorized(unknown))
        }
        #expect(error?.code == .accessTokenRejected)
        #expect(error?.status == 401)
    }

    @Test("The command gets a token, which it verifies with the server's keys")
    func command() async throws {
        let folder = try PrivateFolder()
        let secret = try folder.write(Data("s3cret%2Bof-a-client-0123456789-abcdef".utf8), to: "secret")
        func arguments(_ more: String...) -> [String] {
            ["token", "--issuer", issuer, "--client-id", "percent", "--client-secret-file", secret, "--no-cache"]
                + ["--grant", "client_credentials", "--scope", "read"] + more
        }
        let token = try await CommandRun.text(arguments("--basic-encoding", "raw"))
        let claims = try await CommandRun.output(
            ["verify", "--discover", issuer, "--alg", "RS256", "--aud", "percent"],
            input: token
        )
        #expect(try JSONObject(parsing: claims)["client_id"] == "percent")
        let refused = try await ChildProcess.run(Interop.required("JWT_UNDER_TEST"), arguments())
        #expect(refused.status == 1 && refused.errors.contains("--basic-encoding raw"))
    }
}
