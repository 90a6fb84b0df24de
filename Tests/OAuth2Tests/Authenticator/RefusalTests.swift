import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Tests of requests that a resource rejects.
@Suite("OAuth2Authenticator: rejected requests", .limitedConcurrency)
struct RefusalTests {
    private let request = URLRequest(url: OAuth2Fixture.api)

    @Test("Retries a request rejected with the current token after a refresh")
    func refresh() async throws {
        let fixture = OAuth2Fixture()
        let client = fixture.client(fixture.authenticator())
        _ = try await client.makeRequest(request)
        fixture.revoke()
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-1", "Bearer access-2"])
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("A late rejection of a replaced token makes no token request")
    func lateRefusal() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(answers: [.refusal.gated(by: gate)])
        let client = fixture.client(fixture.authenticator())
        let late = Task { [request] in try await client.makeRequest(request) }
        try await fixture.resource.waitForRequests(count: 1)
        fixture.revoke()
        _ = try await client.makeRequest(request)
        #expect(fixture.endpoint.requests.count == 2)
        gate.open()
        #expect(try await late.value == Data("ok".utf8))
        #expect(fixture.endpoint.requests.count == 2)
        #expect(fixture.credentials.last == "Bearer access-2")
    }

    @Test("Five thousand calls rejected at once make one token request")
    func fiveThousandRefusals() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(answers: Array(repeating: .refusal.gated(by: gate), count: 5_000))
        let client = fixture.client(fixture.authenticator())
        let answers = try await withThrowingTaskGroup(of: Data.self) { [request] group in
            for _ in 1...5_000 { group.addTask { try await client.makeRequest(request) } }
            try await fixture.resource.waitForRequests(count: 5_000)
            fixture.revoke()
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: Data("ok".utf8), count: 5_000))
        #expect(fixture.endpoint.requests.count == 2)
        #expect(fixture.resource.requests.count == 10_000)
        #expect(Set(fixture.credentials.suffix(5_000)) == ["Bearer access-2"])
    }

    @Test("Stops after two requests to a resource that always rejects, and reports why")
    func alwaysRefused() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal, .refusal])
        let client = fixture.client(fixture.authenticator())
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == 401)
        #expect(error?.retry.map { DecidedAction($0.reason) } == .noRetry(.freshTokenRejected))
        #expect(error?.retry?.state.authenticationErrors.count == 1)
        #expect(fixture.resource.requests.count == 2)
        #expect(fixture.endpoint.requests.count == 2)
        // The token itself is valid, and other requests continue to use it.
        _ = try await client.makeRequest(request)
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("Rejections cause at most thirty token requests in 30 seconds, however many resources reject")
    func storm() async throws {
        let fixture = OAuth2Fixture(answers: Array(repeating: .refusal, count: 100))
        let client = fixture.client(fixture.authenticator())
        var reasons: [DecidedAction] = []
        for _ in 1...40 {
            fixture.time.advance(by: .milliseconds(500))
            // Another resource each time, because repeated rejections by the same one cause no
            // refresh.
            let request = URLRequest(url: try #require(URL(string: "https://api\(reasons.count).example/")))
            let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
            reasons.append(DecidedAction(error?.retry?.reason))
        }
        #expect(fixture.endpoint.requests.count == 31)
        #expect(reasons.prefix(30).allSatisfy { $0 == .noRetry(.freshTokenRejected) })
        #expect(reasons.suffix(10).allSatisfy { $0 == .noRetry(.excessiveRefresh) })
    }

    @Test("A rejection after the end of the grant has that as its reason")
    func deadGrant() async throws {
        let fixture = OAuth2Fixture(
            steps: [.tokens("a1", refresh: "r1", lifetime: 100), .error("invalid_grant")],
            answers: [.refusal, .refusal]
        )
        let authenticator = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("r0")))
        let client = fixture.client(authenticator)
        let code = await failureCode { _ = try await client.makeRequest(request) }
        #expect(code == .reauthenticationRequired)
        #expect(fixture.resource.requests.count == 1)
        #expect(await failureCode { _ = try await client.makeRequest(request) } == .reauthenticationRequired)
        #expect(fixture.resource.requests.count == 1)
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test(
        "Ignores a 401 that isn't about the token",
        arguments: [
            #"Basic realm="api""#, "Negotiate", #"Digest realm="api", nonce="n""#,
            #"Bearer error="invalid_request""#, #"Bearer error="something_new""#,
        ]
    )
    func otherChallenges(challenge: String) async throws {
        let fixture = OAuth2Fixture(answers: [.challenge(challenge)])
        let client = fixture.client(fixture.authenticator())
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == 401)
        #expect(error?.retry == nil)
        #expect(fixture.resource.requests.count == 1)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test(
        "Refreshes after a 401 that is, or may be, about the token",
        arguments: [
            "Bearer", "bearer", #"Bearer realm="api""#, #"BEARER error="invalid_token""#,
            #"Bearer error="invalid_token", error_description="The \"access token\" expired, sorry""#,
            #"Basic realm="api", Bearer error="invalid_token""#, #"Bearer error="invalid_token", Basic realm="api""#,
            "", "\u{1}",
        ]
    )
    func bearerChallenges(challenge: String) async throws {
        let fixture = OAuth2Fixture(answers: [.challenge(challenge)])
        let client = fixture.client(fixture.authenticator())
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("Refreshes after a 401 without a challenge")
    func noChallenge() async throws {
        let fixture = OAuth2Fixture(answers: [.status(401)])
        let client = fixture.client(fixture.authenticator())
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("Ignores other status codes", arguments: [400, 403, 404, 407, 429, 500, 503])
    func otherStatuses(status: Int) async throws {
        let challenge: HTTPHeaders = ["WWW-Authenticate": #"Bearer error="invalid_token""#]
        let fixture = OAuth2Fixture(answers: [.status(status, headers: challenge)])
        let client = fixture.client(fixture.authenticator())
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == status)
        #expect(fixture.resource.requests.count == 1)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Ignores a transport failure")
    func transportFailure() async throws {
        let fixture = OAuth2Fixture(answers: [.failure(NetworkError(.connectionLost, "cut"))])
        let client = fixture.client(fixture.authenticator())
        await #expect(throws: NetworkError(.connectionLost, "")) { try await client.makeRequest(request) }
        #expect(fixture.endpoint.requests.count == 1)
    }

    // MARK: Retry policies

    @Test("A policy of no retries doesn't suppress the retry with a new token")
    func policyOfNoRetries() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let client = fixture.client(Retry.Policy.maxRetries(0, when: .always), fixture.authenticator())
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.resource.requests.count == 2)
    }

    @Test("A retry with a new token doesn't count as one of the policy's")
    func policyKeepsItsRetries() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal, .status(503), .status(503)])
        let client = fixture.client(fixture.authenticator(), Retry.Policy.maxRetries(1, when: .always))
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == 503)
        #expect(error?.retry?.state.errors.count == 1)
        #expect(error?.retry?.state.authenticationErrors.count == 1)
        #expect(fixture.resource.requests.count == 3)
    }

    @Test("A policy's delay doesn't delay the retry with a new token")
    func policyOfDelays() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let policy = Retry.Policy.backoff(.constant(.seconds(3600), until: .maxRetries(5)), when: .always)
        let client = fixture.client(policy, fixture.authenticator())
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(!fixture.time.sleeps.contains(.seconds(3600)))
    }

    @Test("Retries a POST with its body")
    func bodyIsSentAgain() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let client = fixture.client(fixture.authenticator())
        var post = request
        post.httpMethod = "POST"
        post.httpBody = Data("the body".utf8)
        #expect(try await client.makeRequest(post) == Data("ok".utf8))
        #expect(fixture.resource.requests.map(\.method) == [.post, .post])
        #expect(fixture.resource.requests.map(\.body) == [Data("the body".utf8), Data("the body".utf8)])
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-2"])
    }

    @Test("Two authenticators with one store share one token request after a rejection of each")
    func sharedStore() async throws {
        let fixture = OAuth2Fixture()
        let store = InMemoryTokenStore()
        let clients = [
            fixture.client(fixture.authenticator(store: store)), fixture.client(fixture.authenticator(store: store)),
        ]
        for client in clients { _ = try await client.makeRequest(request) }
        fixture.time.advance(by: .seconds(1))
        fixture.revoke()
        for client in clients { _ = try await client.makeRequest(request) }
        #expect(fixture.endpoint.requests.count == 2)
        #expect(
            fixture.credentials.suffix(4) == [
                "Bearer access-1", "Bearer access-2", "Bearer access-1", "Bearer access-2",
            ]
        )
    }

    @Test("Retries again if the first replacement came from the store and was already revoked")
    func revokedTokenFromStore() async throws {
        let fixture = OAuth2Fixture(answers: [.text("ok"), .text("ok")])
        let store = InMemoryTokenStore()
        let first = fixture.client(fixture.authenticator(store: store))
        let second = fixture.client(fixture.authenticator(store: store))
        for client in [first, second] { _ = try await client.makeRequest(request) }
        fixture.time.advance(by: .seconds(1))
        fixture.revoke()
        _ = try await first.makeRequest(request)
        fixture.revoke()
        fixture.time.advance(by: .seconds(1))
        // Rejected with access-1, then with access-2 from the store. Only then does it request a
        // new token.
        #expect(try await second.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.credentials.suffix(3) == ["Bearer access-1", "Bearer access-2", "Bearer access-3"])
        #expect(fixture.endpoint.requests.count == 3)
    }
}

extension DecidedAction {
    init(_ reason: Retry.Error?) {
        self.init(reason.map(Retry.Action.noRetry) ?? .none)
    }
}
