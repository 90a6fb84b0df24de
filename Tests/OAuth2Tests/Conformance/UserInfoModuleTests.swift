import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// The scenarios of oauth4webapi's conformance modules about UserInfo and resources, under their
/// original names.
@Suite("Conformance modules: UserInfo and resources", .limitedConcurrency)
struct UserInfoModuleTests {
    @Test(
        "scope-userinfo-claims, userinfo-bearer-header: sends the token only in the header",
        .shows("FAPI 2.0 §5.3.3.1 (3)", "scope-userinfo-claims", "userinfo-bearer-header")
    )
    func claims() async throws {
        try await ServerFixture.with { fixture in
            fixture.server.setUsers { $0.claims["ada"] = ["name": "Ada", "email": "ada@example.com"] }
            let (client, authorized, _) = try await signIn(fixture, scope: "openid profile email")
            let info = try await client.userInfo(subject: "ada", authorized: authorized)
            #expect((info["name"], info["email"]) == ("Ada", "ada@example.com"))
            let request = try #require(fixture.server.server.requests(for: "/userinfo").first)
            #expect(request.method == .get)
            #expect(request.headers["Authorization"]?.hasPrefix("Bearer ") == true)
            #expect(request.queryItems.isEmpty)
            #expect(request.formItems.isEmpty)
        }
    }

    @Test(
        "userinfo-invalid-sub: rejects a response about a different user than the ID token's",
        .shows("userinfo-invalid-sub")
    )
    func otherSubject() async throws {
        try await ServerFixture.with { fixture in
            fixture.server.setUsers { $0.substitute = "eve" }
            let (client, authorized, subject) = try await signIn(fixture)
            await #expect(throws: OAuth2Error(.subjectMismatch, "")) {
                try await client.userInfo(subject: subject, authorized: authorized)
            }
        }
    }

    @Test(
        "userinfo-signed: verifies a signed response with the server's keys, and rejects an unsigned one",
        .shows("userinfo-signed")
    )
    func signed() async throws {
        try await ServerFixture.with { fixture in
            fixture.server.setUsers {
                $0.claims["ada"] = ["name": "Ada"]
                $0.areSigned = true
            }
            let (client, authorized, subject) = try await signIn(fixture)
            let keys = IssuerKeys.fixed(fixture.server.keys)
            let info = try await client.userInfo(subject: subject, authorized: authorized, keys: keys)
            #expect(info["name"] == "Ada")
            try fixture.server.rotateKeys(withdrawingOld: true)
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await client.userInfo(subject: subject, authorized: authorized, keys: keys)
            }
            fixture.server.setUsers { $0.areSigned = false }
            await #expect(throws: OAuth2Error(.protocolViolation, "")) {
                try await client.userInfo(subject: subject, authorized: authorized, keys: keys)
            }
        }
    }

    @Test(
        "rs-dpop-auth-scheme-case-insensitivity: recognizes a challenge's scheme in any case",
        .shows("rs-dpop-auth-scheme-case-insensitivity"),
        arguments: ["DPoP", "dpop", "DPOP", "dPoP"]
    )
    func schemeCase(scheme: String) async throws {
        try await ServerFixture.with({
            $0.dpop = .required
            $0.requiresNonces = true
        }) { fixture in
            let reports = fixture.server.protecting { _ in .text("ok") }
            try await withLoopbackServer { api async throws in
                api.onAnyMethod("/reports") { request in
                    var response = try await reports(request)
                    if let challenge = response.headers["WWW-Authenticate"] {
                        response.headers["WWW-Authenticate"] = challenge.replacing("DPoP ", with: "\(scheme) ")
                    }
                    return response
                }
                // The first response only demands a nonce.
                fixture.server.misbehave(.members([:]), .members(["token_type": .string(scheme)]))
                let authenticator = OAuth2Authenticator(
                    client: OAuth2Client(
                        server: fixture.server.metadata,
                        clientAuthentication: try fixture.keyed(),
                        dpop: .generated(),
                        client: fixture.network
                    ),
                    grant: ClientCredentialsGrant(),
                    resources: [api.baseURL]
                )
                let transport = try CurlTransport(configuration: .init(proxy: .none))
                let client = NetworkClient(
                    transport: transport,
                    interceptors: [authenticator],
                    options: .init(timeout: .seconds(300))
                )
                let data = try await client.makeRequest(URLRequest(url: api.url(for: "/reports")))
                #expect(data == Data("ok".utf8))
                // One request without the nonce, one with it.
                #expect(api.requests(for: "/reports").count == 2)
                await transport.close()
            }
        }
    }

    private func signIn(
        _ fixture: ServerFixture,
        scope: String = "openid"
    ) async throws -> (client: OAuth2Client, authorized: NetworkClient, subject: String) {
        let client = fixture.client()
        let tokens = try await client.tokens(
            for: fixture.code(client, scope: scope),
            idToken: fixture.idToken(client)
        )
        let authenticator = OAuth2Authenticator(
            source: StaticTokenSource(tokens.accessToken),
            resources: [fixture.server.server.baseURL]
        )
        let subject = tokens.idToken?.registered.subject
        return (client, fixture.network(with: authenticator), try #require(subject))
    }
}
