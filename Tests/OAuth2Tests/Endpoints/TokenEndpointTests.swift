import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("Token endpoint", .limitedConcurrency)
struct TokenEndpointTests {
    @Test(
        "Each error of RFC 6749 §5.2 has its own code",
        .shows("RFC 6749 §5.2"),
        arguments: [
            ("invalid_request", 400, OAuth2Error.Code.requestRejected), ("invalid_client", 401, .invalidClient),
            ("invalid_client", 400, .invalidClient), ("unauthorized_client", 400, .requestRejected),
            ("unsupported_grant_type", 400, .requestRejected), ("invalid_scope", 400, .requestRejected),
            ("invalid_target", 400, .requestRejected), ("surprise", 400, .requestRejected),
            ("invalid_scope", 403, .requestRejected), ("temporarily_unavailable", 400, .serverTransient),
            ("server_error", 400, .serverTransient), ("invalid_client", 500, .serverTransient),
            ("invalid_scope", 503, .serverTransient), ("invalid_grant", 502, .serverTransient),
            ("invalid_request", 429, .serverTransient), ("surprise", 401, .invalidClient),
        ]
    )
    func errors(serverCode: String, status: Int, code: OAuth2Error.Code) async throws {
        let error = try #require(await failure(.error(serverCode, status: status)))
        // Only registered codes are shown.
        let shown = serverCode == "surprise" ? nil : serverCode
        #expect((error.code, error.serverCode, error.status) == (code, shown, status))
        #expect(error.serverText == (shown == nil ? Secret("error: surprise") : nil))
        #expect(error.isRetryable == (code == .serverTransient))
    }

    @Test(
        "Classifies a response that isn't OAuth 2 by its status",
        arguments: [
            (200, OAuth2Error.Code.protocolViolation), (204, .protocolViolation), (302, .protocolViolation),
            (400, .protocolViolation), (403, .protocolViolation), (404, .protocolViolation), (429, .serverTransient),
            (500, .serverTransient), (503, .serverTransient),
        ]
    )
    func html(status: Int, code: OAuth2Error.Code) async throws {
        let page = MockTransport.Step.status(status, body: Data("<html>Sign in</html>".utf8))
        let error = try #require(await failure(page))
        #expect(error.code == code)
        #expect(status < 300 || error.status == status)
        #expect(error.serverCode == nil)
    }

    @Test(
        "Reports a server that can't be reached or loses the response as unreachable",
        arguments: [
            NetworkError.Code.cannotResolveHost, .cannotConnect, .connectionLost, .tls, .timedOut, .invalidResponse,
        ]
    )
    func unreachable(code: NetworkError.Code) async throws {
        let error = try #require(await failure(.failure(NetworkError(code, "no luck"))))
        #expect((error.code, (error.cause as? NetworkError)?.code) == (.serverUnreachable, code))
        #expect(error.isRetryable)
    }

    @Test("Doesn't follow a redirect of the token endpoint", .shows("G2", "RFC 6749 §3.2"))
    func redirect() async throws {
        let fixture = OAuth2Fixture(steps: [.status(307, headers: ["Location": "https://as.example/elsewhere"])])
        let error = await #expect(throws: OAuth2Error.self) { try await fixture.authenticator().accessToken() }
        #expect((error?.code, error?.status) == (.protocolViolation, 307))
        #expect(fixture.endpoint.requests.map(\.url) == [OAuth2Fixture.server.tokenEndpoint])
    }

    @Test("Posts a form, without a scope if the grant has none, and accepts JSON", .shows("RFC 6749 §3.2"))
    func request() async throws {
        let fixture = OAuth2Fixture()
        _ = try await fixture.authenticator(grant: ClientCredentialsGrant(scope: "a b&c")).accessToken()
        let request = try #require(fixture.endpoint.requests.first)
        #expect(request.method == .post)
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.headers["Accept"] == "application/json")
        #expect(request.headers["Authorization"]?.hasPrefix("Basic ") == true)
        #expect(String(decoding: request.body, as: UTF8.self) == "grant_type=client_credentials&scope=a+b%26c")
        let plain = OAuth2Fixture()
        _ = try await plain.authenticator().accessToken()
        #expect(plain.forms == [["grant_type": "client_credentials"]])
    }

    @Test(
        "Never sends a credential to another machine without TLS",
        .shows("G3", "RFC 6749 §3.2", "FAPI 2.0 §5.2.1 (TLS)"),
        arguments: [
            ("http://as.example/token", false), ("HTTP://as.example/token", false),
            ("http://127.0.0.1.example/token", false), ("http://localhost.example/token", false),
            ("http://127.0.0.256/token", false), ("http://10.0.0.1/token", false), ("ftp://as.example/", false),
            ("http://127.+0.0.1/token", false), ("http://127.0.0.1:8080/token", true), ("http://localhost/token", true),
            ("http://as.localhost/token", true), ("http://[::1]:80/token", true), ("http://127.1.2.3/token", true),
            ("https://as.example/token", true), ("HTTPS://as.example/token", true),
        ]
    )
    func transportSecurity(url: String, isAllowed: Bool) async throws {
        let fixture = OAuth2Fixture()
        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: AuthorizationServer(issuer: "i", tokenEndpoint: try #require(URL(string: url))),
                clientAuthentication: .clientSecretBasic(clientID: "a", secret: Secret("b")),
                client: NetworkClient(transport: fixture.endpoint)
            ),
            grant: ClientCredentialsGrant(),
            resources: .everyHTTPSOrigin
        )
        #expect(await failureCode { try await authenticator.accessToken() } == (isAllowed ? nil : .insecureTransport))
        #expect(fixture.endpoint.requests.count == (isAllowed ? 1 : 0))
    }

    @Test("Fails before sending a request if the grant's parameters can't be created")
    func grantFails() async throws {
        struct Assertions: Grant {
            struct Missing: Error {}
            let identifier = "assertions"
            let isRepeatable = true
            func parameters(at date: Date) async throws -> [(name: String, value: String)]? { throw Missing() }
        }
        let fixture = OAuth2Fixture()
        let error = await #expect(throws: OAuth2Error.self) {
            try await fixture.authenticator(grant: Assertions()).accessToken()
        }
        #expect(error?.code == .grantFailed)
        #expect(error?.cause is Assertions.Missing)
        #expect(fixture.endpoint.requests.isEmpty)
    }

    // MARK: Helpers

    private func failure(_ step: MockTransport.Step) async -> OAuth2Error? {
        await #expect(throws: OAuth2Error.self) { try await OAuth2Fixture(steps: [step]).authenticator().accessToken() }
    }
}
