import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// The samples of the MockNetworking catalog.
@Suite("MockNetworking samples", .limitedConcurrency)
struct MockNetworkingSnippets {
    @Test("Scripts a transport")
    func scripting() async throws {
        let request = URLRequest(url: try #require(URL(string: "https://api.example/users/1")))

        let transport = MockTransport(.status(503), .json(#"{"name":"Ada"}"#))
        let client = NetworkClient(
            transport: transport,
            interceptors: [Retry.Policy.maxRetries(1)]
        )
        let data = try await client.makeRequest(request)
        let attempts = transport.requests.count

        #expect(data == Data(#"{"name":"Ada"}"#.utf8))
        #expect(attempts == 2)
    }

    private struct CreateUser: HTTPEndpoint {
        let name: String
        let baseURL = URL(string: "https://api.example/users")!
        let method = HTTPMethod.post
        var body: EndpointBody { get throws { try .json(["name": name]) } }
    }

    @Test("Expects requests")
    func expecting() async throws {
        let transport = MockTransport(time: ManualTime(advancesWhenSleeping: true).timeSource)

        transport.expect(
            RequestExpectation(.get, "https://api.example/users?page=1"),
            .status(503),
            .json("[]")
        )
        let created = MockTransport.Step.json(#"{"id":1}"#, status: 201)
        transport.expect(
            try .endpoint(CreateUser(name: "Ada")),
            created.delayed(by: .seconds(2))
        )
        let gone = NetworkError(.connectionLost, "the connection ended")
        transport.on(
            .matching("telemetry") { $0.url.path == "/telemetry" },
            .failure(gone)
        )

        let client = NetworkClient(transport: transport, interceptors: [Retry.Policy.maxRetries(1)])
        let page = URLRequest(url: try #require(URL(string: "https://api.example/users?page=1")))
        #expect(try await client.makeRequest(page) == Data("[]".utf8))
        let response = try await client.fetch(Resource(CreateUser(name: "Ada")))
        #expect(response.status == 201)
        #expect(transport.discrepancies() == [])
    }

    @Test("Retries after failures of a token endpoint")
    func faults() async throws {
        var configuration = MockAuthorizationServer.Configuration(
            tokenLifetime: .seconds(60)
        )
        configuration.refreshTokenGrace = .seconds(30)
        let server = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [.init(id: "reports", secret: "s3cret")]
        )
        let granted = server.issueRefreshToken(
            clientID: "reports",
            subject: "ada",
            scope: "reports.read"
        )
        server.misbehave(
            .unavailable(retryAfter: "0"),
            .tooManyRequests(retryAfter: "0")
        )

        let authenticator = OAuth2Authenticator(
            server: server.metadata,
            clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
            grant: RefreshTokenGrant(refreshToken: granted),
            resources: .everyHTTPSOrigin
        )
        let token = try await authenticator.accessToken()
        #expect(token.value.expose(server.isActive))
        #expect(server.tokenRequestCount == 3)
        await server.stop()
    }

    @Test("Tests a token store for conformance")
    func conformance() async throws {
        try await TokenStoreConformance {
            let store = InMemoryTokenStore()
            return (store, store)
        }
        .check()
    }

    @Test("Rejects an untrusted TLS server before sending a byte")
    func distrust() async throws {
        let authority = try MockCertificateAuthority()
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(
            certificate: try authority.issueServerCertificate()
        )
        try await withLoopbackServer(configuration: configuration) { server in
            let request = URLRequest(url: server.url(for: "/"))
            await #expect(throws: NetworkError(.tls, "")) {
                _ = try await NetworkClient().makeRequest(request)
            }
            try await server.waitForOpenConnections(atMost: 0)
            #expect(server.connections.map(\.receivedOctetCount) == [0])
        }
    }
}
