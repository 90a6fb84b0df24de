import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// What happens to a request that a resource refuses.
@Suite("OAuth2Authenticator: refused requests", .timeLimit(.minutes(10)), .limitedConcurrency)
struct RefusalTests {
    private let request = URLRequest(url: OAuth2Fixture.api)

    @Test("A request refused with the current token is sent again after a refresh")
    func refresh() async throws {
        let fixture = OAuth2Fixture()
        let client = fixture.client(fixture.authenticator())
        _ = try await client.makeRequest(request)
        fixture.revoke()
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-1", "Bearer access-2"])
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("A late refusal of a token that has a successor makes no token request")
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

    @Test("Five thousand calls that are refused at once make one token request")
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

    @Test("A resource that always refuses gets two requests, and the error says why there is no third")
    func alwaysRefused() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal, .refusal])
        let client = fixture.client(fixture.authenticator())
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == 401)
        #expect(error?.retry.map { DecidedAction($0.reason) } == .noRetry(.freshTokenRejected))
        #expect(error?.retry?.state.authenticationErrors.count == 1)
        #expect(fixture.resource.requests.count == 2)
        #expect(fixture.endpoint.requests.count == 2)
        // The token itself is good: other requests go on with it.
        _ = try await client.makeRequest(request)
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("However many resources refuse requests, tokens are asked for thirty times in half a minute because of it")
    func storm() async throws {
        let fixture = OAuth2Fixture(answers: Array(repeating: .refusal, count: 100))
        let client = fixture.client(fixture.authenticator())
        var reasons: [DecidedAction] = []
        for _ in 1...40 {
            fixture.time.advance(by: .milliseconds(500))
            // Another resource each time: the same one would not be believed again so soon.
            let request = URLRequest(url: try #require(URL(string: "https://api\(reasons.count).example/")))
            let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
            reasons.append(DecidedAction(error?.retry?.reason))
        }
        #expect(fixture.endpoint.requests.count == 31)
        #expect(reasons.prefix(30).allSatisfy { $0 == .noRetry(.freshTokenRejected) })
        #expect(reasons.suffix(10).allSatisfy { $0 == .noRetry(.excessiveRefresh) })
    }

    @Test("A refusal after the grant has ended carries that as its reason")
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
        "A 401 that is not about the token is not the authenticator's",
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
        "A 401 that is about the token, or may be, is answered by a refresh",
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

    @Test("A 401 without any challenge is answered by a refresh")
    func noChallenge() async throws {
        let fixture = OAuth2Fixture(answers: [.status(401)])
        let client = fixture.client(fixture.authenticator())
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("Other statuses are not the authenticator's", arguments: [400, 403, 404, 407, 429, 500, 503])
    func otherStatuses(status: Int) async throws {
        let challenge: HTTPHeaders = ["WWW-Authenticate": #"Bearer error="invalid_token""#]
        let fixture = OAuth2Fixture(answers: [.status(status, headers: challenge)])
        let client = fixture.client(fixture.authenticator())
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == status)
        #expect(fixture.resource.requests.count == 1)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("A failed transport is not the authenticator's")
    func transportFailure() async throws {
        let fixture = OAuth2Fixture(answers: [.failure(NetworkError(.connectionLost, "cut"))])
        let client = fixture.client(fixture.authenticator())
        await #expect(throws: NetworkError(.connectionLost, "")) { try await client.makeRequest(request) }
        #expect(fixture.endpoint.requests.count == 1)
    }

    // MARK: Together with retry policies

    @Test("A policy of no retries does not suppress the retry that a new token needs")
    func policyOfNoRetries() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let client = fixture.client(Retry.Policy.maxRetries(0, when: .always), fixture.authenticator())
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.resource.requests.count == 2)
    }

    @Test("A retry for a new token is not one of a policy's")
    func policyKeepsItsRetries() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal, .status(503), .status(503)])
        let client = fixture.client(fixture.authenticator(), Retry.Policy.maxRetries(1, when: .always))
        let error = await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect(error?.errorCode == 503)
        #expect(error?.retry?.state.errors.count == 1)
        #expect(error?.retry?.state.authenticationErrors.count == 1)
        #expect(fixture.resource.requests.count == 3)
    }

    @Test("A policy's delay does not hold up the retry that a new token needs")
    func policyOfDelays() async throws {
        let fixture = OAuth2Fixture(answers: [.refusal])
        let policy = Retry.Policy.backoff(.constant(.seconds(3600), until: .maxRetries(5)), when: .always)
        let client = fixture.client(policy, fixture.authenticator())
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(!fixture.time.sleeps.contains(.seconds(3600)))
    }

    @Test("A POST is sent again with its body")
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

    @Test("Two authenticators with one store answer one refusal each by one token request together")
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

    @Test("A token that another authenticator had got before the call is no reason to give up")
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
        // Refused with access-1, then with access-2 from the store: only then a token of its own.
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
