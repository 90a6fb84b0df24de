import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

/// Invalid server responses, each of which is a typed error without anything that was sent or
/// received.
@Suite("Invalid server responses", .limitedConcurrency)
struct BadServerTests {
    private static let secret = "S3cr3t-of-the-client"

    @Test(
        "Rejects invalid responses from every endpoint",
        .shows("O25", "T4"),
        arguments: [
            (
                LoopbackResponse.text(
                    "<html>Sign in S3cr3t-of-the-client</html>",
                    headers: ["Content-Type": "text/html"]
                ), OAuth2Error.Code.protocolViolation
            ),
            (.text("<html>S3cr3t-of-the-client</html>", status: 403), .protocolViolation),
            (.text("<html>S3cr3t-of-the-client</html>", status: 502), .serverTransient),
            (.json("[]"), .protocolViolation), (.json("null"), .protocolViolation), (.json(""), .protocolViolation),
            (.json(#"{"a":1,"a":2}"#), .protocolViolation), (.json("{}"), .protocolViolation),
            (.status(204), .protocolViolation),
            (.json(#"{"error":"invalid_request"}"#), .requestRejected),
            (.json(#"{"error":"server_error"}"#, status: 400), .serverTransient),
            (
                .json(#"{"error":"invalid_client","error_description":"no S3cr3t-of-the-client"}"#, status: 401),
                .invalidClient
            ),
            (.json(#"{"error":5}"#, status: 400), .protocolViolation),
            (.json(String(repeating: "[", count: 100_000)), .protocolViolation),
            (
                .json(#"{"access_token":"\#(String(repeating: "a", count: 2 << 20))","token_type":"Bearer"}"#),
                .protocolViolation
            ),
            (.status(302, headers: ["Location": "/elsewhere"]), .protocolViolation),
            (.status(307, headers: ["Location": "/elsewhere"]), .protocolViolation),
            (.status(308, headers: ["Location": "https://evil.example/"]), .protocolViolation),
            (.text("hello").cut(.afterBody(octets: 2)), .serverUnreachable),
            (.text("").cut(.beforeHead), .serverUnreachable),
            (.raw("nonsense\r\n\r\n"), .serverUnreachable),
        ]
    )
    func answers(response: LoopbackResponse, code: OAuth2Error.Code) async throws {
        try await withServer { server, client, network async throws in
            server.onAnyMethod("/*") { _ in response }
            let pushed: [(String, () async throws -> Void)] = [
                ("token", { _ = try await client.tokens(for: ClientCredentialsGrant()) }),
                ("refresh", { _ = try await client.tokens(refreshing: Secret(Self.secret)) }),
                ("device", { _ = try await client.authorizeDevice() }),
            ]
            for (what, ask) in pushed {
                let error = try #require(await #expect(throws: OAuth2Error.self, "\(what)") { try await ask() })
                #expect(error.code == code, "\(what): \(error)")
                #expect(error.isRetryable == [.serverTransient, .serverUnreachable].contains(code))
                let shown = EndpointFixture.texts(of: error).joined()
                #expect(!shown.contains(Self.secret) && !shown.contains("html"), "\(what)")
                #expect((error.cause as? ServerError)?.response == nil, "\(what)")
            }
            // One request each, without redirects and retries.
            #expect(server.requestCount == 3)
            #expect(server.requests(for: "/elsewhere").isEmpty)
        }
    }

    @Test("Keeps unknown members, and tolerates wrong types of optional ones")
    func extra() async throws {
        try await withServer { server, client, _ async throws in
            server.on(
                .post,
                "/token",
                .json(
                    #"{"access_token":"a","token_type":"Bearer","expires_in":{},"scope":7,"refresh_token":8,"id_token":9,"authorization_details":[1,{"a":1},{"type":"x"}],"patient":"42"}"#
                )
            )
            let tokens = try await client.tokens(for: ClientCredentialsGrant())
            #expect((tokens.accessToken.value, tokens.accessToken.expiry) == (Secret("a"), nil))
            #expect((tokens.accessToken.scope, tokens.refreshToken) == (nil, nil))
            #expect(tokens.unverifiedIDToken == nil)
            #expect(tokens.issuedTokenType == nil)
            #expect(tokens.authorizationDetails == [AuthorizationDetail(type: "x")])
            #expect(tokens.members["patient"] == "42")
        }
    }

    @Test("The error has the server's description, page and challenge, but shows none of them")
    func errorMembers() async throws {
        try await withServer { server, client, _ async throws in
            let challenge = #"Basic realm="as", hint="S3cr3t-of-the-client", more="x""#
            let answers =
                [
                    (
                        #""error_description":"who?","error_uri":"https://as.example/help""#,
                        ["WWW-Authenticate": challenge],
                        "error_description: who?; error_uri: https://as.example/help; WWW-Authenticate: \(challenge)"
                    ),
                    (
                        #""error_description":7,"error_uri":"javascript:alert(1)""#, [:],
                        "error_uri: javascript:alert(1)"
                    ),
                    (
                        #""error_uri":"https://as.example/?S3cr3t-of-the-client""#, [:],
                        "error_uri: https://as.example/?S3cr3t-of-the-client"
                    ),
                ] as [(String, HTTPHeaders, String)]
            for (members, headers, text) in answers {
                server.on(
                    .post,
                    "/token",
                    .json(#"{"error":"invalid_client",\#(members)}"#, status: 401, headers: headers)
                )
                let error = try #require(await failure { try await client.tokens(for: ClientCredentialsGrant()) })
                #expect((error.serverCode, error.status) == ("invalid_client", 401))
                #expect(error.serverText == Secret(text))
                for shown in EndpointFixture.texts(of: error) {
                    for word in ["who?", "as.example/", "javascript", "realm", Self.secret] {
                        #expect(!shown.contains(word))
                    }
                }
            }
        }
    }

    @Test("Times out if the server never responds, and reports cancellation")
    func silence() async throws {
        try await withServer { server, client, network async throws in
            server.onAnyMethod("/*") { _ in .never }
            let time = ManualTime()
            let hasty = OAuth2Client(
                server: try await client.server,
                clientAuthentication: client.clientAuthentication,
                client: network,
                timing: .init(attempts: 1, timeSource: time.timeSource)
            )
            let call = Task { try await hasty.tokens(for: ClientCredentialsGrant()) }
            try await server.waitForRequests(count: 1)
            time.advance(by: .seconds(30))
            await #expect(throws: OAuth2Error(.serverUnreachable, "")) { try await call.value }
            let waiting = Task { try await client.tokens(for: ClientCredentialsGrant()) }
            try await server.waitForRequests(count: 2)
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }

    private func withServer(
        _ body: (LoopbackServer, OAuth2Client, NetworkClient) async throws -> Void
    ) async throws {
        try await withLoopbackServer { server async throws in
            let transport = try CurlTransport(configuration: .init(proxy: .none))
            let network = NetworkClient(transport: transport, options: .init(timeout: .seconds(300)))
            var metadata = AuthorizationServer(
                issuer: server.baseURL.absoluteString,
                tokenEndpoint: server.url(for: "/token")
            )
            metadata.deviceAuthorizationEndpoint = server.url(for: "/device")
            let client = OAuth2Client(
                server: metadata,
                clientAuthentication: .clientSecretPost(clientID: "reports", secret: Secret(Self.secret)),
                client: network,
                timing: .init(timeout: .seconds(120), attempts: 1)
            )
            let result: Result<Void, any Error>
            do { result = .success(try await body(server, client, network)) } catch { result = .failure(error) }
            await transport.close()
            try result.get()
        }
    }
}
