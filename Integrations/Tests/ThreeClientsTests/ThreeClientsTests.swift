import Foundation
import MockNetworking
import Networking
import OAuth2
import Testing

/// A request, the server's situation, and what every client makes of it.
struct AuthenticationCase: CustomTestStringConvertible, Sendable {
    /// The token before the request.
    enum Token: Sendable { case none, valid, revoked }

    let testDescription: String
    var path = "/reports"
    var body = CallBody.none
    var token = Token.valid
    var isDPoP = false
    var authorization: String?
    let outcome: Outcome
    /// The number of requests to the API.
    let requests: Int
    /// The number of tokens that the server issues.
    let tokens: Int

    static let table: [Self] = [
        Self(
            testDescription: "no token yet",
            token: .none,
            outcome: .response(200, "a report"),
            requests: 1,
            tokens: 1
        ),
        Self(testDescription: "a valid token", outcome: .response(200, "a report"), requests: 1, tokens: 1),
        Self(
            testDescription: "a revoked token",
            token: .revoked,
            outcome: .response(200, "a report"),
            requests: 2,
            tokens: 2
        ),
        Self(testDescription: "data", body: .data, outcome: .response(200, "a new report"), requests: 1, tokens: 1),
        Self(
            testDescription: "data with a revoked token",
            body: .data,
            token: .revoked,
            outcome: .response(200, "a new report"),
            requests: 2,
            tokens: 2
        ),
        Self(
            testDescription: "a repeatable stream with a revoked token",
            body: .stream,
            token: .revoked,
            outcome: .response(200, "a new report"),
            requests: 2,
            tokens: 2
        ),
        Self(
            testDescription: "a stream to read once",
            body: .once,
            outcome: .response(200, "a new report"),
            requests: 1,
            tokens: 1
        ),
        Self(
            testDescription: "a stream to read once with a revoked token",
            body: .once,
            token: .revoked,
            outcome: .response(401),
            requests: 1,
            tokens: 1
        ),
        Self(
            testDescription: "a nonce for the proof",
            isDPoP: true,
            outcome: .response(200, "a report"),
            requests: 2,
            tokens: 1
        ),
        Self(
            testDescription: "a nonce for the proof, with a repeatable stream",
            body: .stream,
            isDPoP: true,
            outcome: .response(200, "a new report"),
            requests: 2,
            tokens: 1
        ),
        Self(
            testDescription: "a nonce for the proof, with a stream to read once",
            body: .once,
            isDPoP: true,
            outcome: .response(401),
            requests: 1,
            tokens: 1
        ),
        Self(
            testDescription: "too little scope",
            path: "/admin",
            outcome: .failure(.insufficientScope),
            requests: 1,
            tokens: 1
        ),
        Self(
            testDescription: "too little scope, with a stream to read once",
            path: "/admin",
            body: .once,
            outcome: .failure(.insufficientScope),
            requests: 1,
            tokens: 1
        ),
        Self(
            testDescription: "every token rejected",
            path: "/never",
            token: .none,
            outcome: .failure(.freshTokenRejected),
            requests: 2,
            tokens: 2
        ),
        Self(testDescription: "an error of the server", path: "/busy", outcome: .response(503), requests: 1, tokens: 1),
        Self(
            testDescription: "credentials of the caller",
            path: "/open",
            token: .none,
            authorization: "Basic YTpi",
            outcome: .response(200, "Basic YTpi"),
            requests: 1,
            tokens: 0
        ),
    ]
}

@Suite("An authenticator with three clients")
struct ThreeClientsTests {
    /// Runs a test with an authorization server, an API and an authenticator.
    private func withServers(
        isDPoP: Bool = false,
        _ test: (MockAuthorizationServer, LoopbackServer, OAuth2Authenticator) async throws -> Void
    ) async throws {
        var configuration = MockAuthorizationServer.Configuration()
        configuration.requiresNonces = isDPoP
        let authorization = try MockAuthorizationServer.start(
            configuration: configuration,
            clients: [.init(id: "reports", secret: "s3cret")]
        )
        do {
            try await withLoopbackServer { api in
                api.on(.get, "/reports", authorization.protecting { _ in .text("a report") })
                api.on(.post, "/reports", authorization.protecting { .text(String(decoding: $0.body, as: UTF8.self)) })
                for method in [HTTPMethod.get, .post] {
                    api.on(method, "/admin", authorization.protecting(scope: "admin") { _ in .text("secrets") })
                }
                api.on(.get, "/never", .status(401, headers: ["WWW-Authenticate": #"Bearer error="invalid_token""#]))
                api.on(.get, "/busy", authorization.protecting { _ in .status(503) })
                api.on(.get, "/open") { .text($0.headers["Authorization"] ?? "-") }
                let authenticator = OAuth2Authenticator(
                    client: OAuth2Client(
                        server: authorization.metadata,
                        clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                        dpop: isDPoP ? .generated() : nil
                    ),
                    grant: ClientCredentialsGrant(),
                    resources: [api.baseURL]
                )
                try await test(authorization, api, authenticator)
            }
        } catch {
            await authorization.stop()
            throw error
        }
        await authorization.stop()
    }

    @Test("Have the same outcome", arguments: ClientUnderTest.allCases, AuthenticationCase.table)
    func outcome(client: ClientUnderTest, example: AuthenticationCase) async throws {
        try await withServers(isDPoP: example.isDPoP) { authorization, api, authenticator in
            if example.token != .none { _ = try await authenticator.accessToken() }
            if example.token == .revoked { authorization.revokeAccessTokens() }
            let call = Call(url: api.url(for: example.path), body: example.body, authorization: example.authorization)
            #expect(try await client.send(call, with: authenticator) == example.outcome)
            #expect(api.requestCount == example.requests)
            #expect(authorization.issuedTokenCount == example.tokens)
        }
    }

    @Test("Get a new token for the request after a body that couldn't be repeated", arguments: ClientUnderTest.allCases)
    func next(client: ClientUnderTest) async throws {
        try await withServers { authorization, api, authenticator in
            _ = try await authenticator.accessToken()
            authorization.revokeAccessTokens()
            let call = Call(url: api.url(for: "/reports"), body: .once)
            #expect(try await client.send(call, with: authenticator) == .response(401))
            #expect(try await client.send(call, with: authenticator) == .response(200, "a new report"))
            #expect(authorization.issuedTokenCount == 2)
        }
    }

    @Test("Refresh a revoked token once for all requests", arguments: ClientUnderTest.allCases)
    func refresh(client: ClientUnderTest) async throws {
        try await withServers { authorization, api, authenticator in
            _ = try await authenticator.accessToken()
            authorization.revokeAccessTokens()
            let call = Call(url: api.url(for: "/reports"), body: .none)
            try await withThrowingTaskGroup(of: Outcome.self) { group in
                for _ in 1...10 { group.addTask { try await client.send(call, with: authenticator) } }
                for try await outcome in group { #expect(outcome == .response(200, "a report")) }
            }
            #expect(authorization.issuedTokenCount == 2)
        }
    }

    @Test("Give another origin no token", arguments: ClientUnderTest.allCases)
    func otherOrigin(client: ClientUnderTest) async throws {
        try await withServers { authorization, _, authenticator in
            try await withLoopbackServer { other in
                other.on(.get, "/", .status(401))
                let outcome = try await client.send(Call(url: other.url(for: "/"), body: .none), with: authenticator)
                #expect(outcome == .response(401))
                #expect(other.requests.map { $0.headers["Authorization"] } == [nil])
                #expect(authorization.issuedTokenCount == 0)
            }
        }
    }
}
