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

@Suite("Authorization server discovered on demand", .limitedConcurrency, .tags(.concurrency))
struct DiscoveredServerTests {
    private static var metadata: MockTransport.Step {
        .json(
            #"{"issuer":"https://id.example","token_endpoint":"https://id.example/token","jwks_uri":"https://id.example/jwks"}"#
        )
    }

    private func discovery(_ transport: MockTransport, _ time: ManualTime) -> AuthorizationServerDiscovery {
        var options = AuthorizationServerDiscovery.Options()
        options.documents = [.oauth2]
        options.timing = OAuth2Timing(attempts: 1, timeSource: time.timeSource)
        return AuthorizationServerDiscovery(
            issuer: PublishedKeys.issuer,
            client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
            options: options
        )
    }

    private func authenticator(
        _ discovery: AuthorizationServerDiscovery,
        _ fixture: OAuth2Fixture,
        grant: any Grant = ClientCredentialsGrant(),
        store: (any TokenStore)? = nil
    ) -> OAuth2Authenticator {
        OAuth2Authenticator(
            client: OAuth2Client(
                discovery: discovery,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret-of-reports")),
                client: NetworkClient(transport: fixture.endpoint, options: .init(timeSource: fixture.time.timeSource)),
                timing: OAuth2Timing(attempts: 1, timeSource: fixture.time.timeSource, random: { 1 })
            ),
            grant: grant,
            resources: .everyHTTPSOrigin,
            store: store ?? InMemoryTokenStore(timeSource: fixture.time.timeSource)
        )
    }

    private func paths(_ fixture: OAuth2Fixture) -> [String] { fixture.endpoint.requests.map(\.url.path) }

    private static let wellKnown = "/.well-known/oauth-authorization-server"

    @Test("Requests fail while the issuer is down, and the next one after the backoff discovers it")
    func recovery() async throws {
        let fixture = OAuth2Fixture(steps: [.status(503), Self.metadata])
        let authenticator = authenticator(discovery(fixture.endpoint, fixture.time), fixture)
        let client = fixture.client(authenticator)
        #expect(fixture.endpoint.requests.isEmpty)
        let request = URLRequest(url: OAuth2Fixture.api)
        #expect(await failureCode { try await client.makeRequest(request) } == .serverTransient)
        #expect(await failureCode { try await client.makeRequest(request) } == .serverTransient)
        #expect(paths(fixture) == [Self.wellKnown])
        fixture.time.advance(by: .seconds(1))
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(paths(fixture) == [Self.wellKnown, Self.wellKnown, "/token"])
    }

    @Test("Concurrent first requests share one discovery, even across authenticators")
    func singleFlight() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [Self.metadata.gated(by: gate)])
        let discovery = discovery(fixture.endpoint, fixture.time)
        let authenticators = (1...2).map { _ in authenticator(discovery, fixture) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask { _ = try await authenticators[number % 2].accessToken() }
            }
            try await gate.waitForWaiters(count: 1)
            gate.open()
            try await group.waitForAll()
        }
        #expect(paths(fixture) == [Self.wellKnown, "/token", "/token"])
    }

    @Test("Rejects metadata of another issuer without sending the client's credentials")
    func otherIssuer() async throws {
        let other = #"{"issuer":"https://evil.example","token_endpoint":"https://evil.example/token"}"#
        let fixture = OAuth2Fixture(steps: [.json(other)])
        let authenticator = authenticator(discovery(fixture.endpoint, fixture.time), fixture)
        #expect(await failureCode { try await authenticator.accessToken() } == .issuerMismatch)
        #expect(paths(fixture) == [Self.wellKnown])
    }

    @Test(
        "A failed discovery neither uses a refresh token nor ends its grant",
        arguments: [
            (.status(503), .serverTransient), (.error("invalid_grant"), .protocolViolation),
            (.error("invalid_client", status: 401), .protocolViolation),
        ] as [(MockTransport.Step, OAuth2Error.Code)]
    )
    func refreshToken(step: MockTransport.Step, code: OAuth2Error.Code) async throws {
        let fixture = OAuth2Fixture(steps: [step, Self.metadata, .tokens("access", refresh: "r2")])
        let store = ProbedTokenStore()
        let grant = RefreshTokenGrant(refreshToken: Secret("r1"))
        let authenticator = authenticator(
            discovery(fixture.endpoint, fixture.time),
            fixture,
            grant: grant,
            store: store
        )
        #expect(await failureCode { try await authenticator.accessToken() } == code)
        #expect(store.written.isEmpty)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "access")
        #expect(fixture.forms.last?["refresh_token"] == "r1")
    }

    @Test("A resource server starts while the issuer is down and verifies tokens once it's up")
    func resourceServer() async throws {
        let key = try IssuerKey(id: "1")
        let issuer = PublishedKeys([key], steps: [.status(503), Self.metadata])
        let network = NetworkClient(transport: issuer.transport, options: .init(timeSource: issuer.time.timeSource))
        let options = RemoteKeySet.Options(timeSource: issuer.time.timeSource)
        var api = try GuardedAPI()
        api.verifier = AccessTokenVerifier(
            issuer: PublishedKeys.issuer,
            audience: GuardedAPI.audience,
            keys: .discovered(by: discovery(issuer.transport, issuer.time), client: network, options: options)
        ).at(issuer.time)
        let token = try api.token(key: key)
        let refusal = await #expect(throws: AccessRefusal.self) { try await api.verify(bearer: token) }
        #expect(refusal?.status == 503)
        #expect(issuer.fetchCount == 1)
        issuer.time.advance(by: options.cooldown)
        for _ in 1...3 { #expect(try await api.verify(bearer: token).subject == "ada") }
        #expect(issuer.transport.requests.map(\.url.path) == [Self.wellKnown, Self.wellKnown, "/jwks"])
    }
}
