import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

/// Tests of requests that a resource rejects.
@Suite("OAuth2Authenticator: rejected requests", .limitedConcurrency, .tags(.concurrency))
struct RefusalTests {
    private let request = URLRequest(url: OAuth2Fixture.api)
    private let refusal = RefusedCall.failure(401, RefusedCall.invalidToken)

    @Test("Retries a request rejected with the current token after a refresh", .shows("R13", "0.9", "4.22"))
    func refresh() async throws {
        let fixture = OAuth2Fixture()
        let client = fixture.client(fixture.authenticator())
        _ = try await client.makeRequest(request)
        fixture.revoke()
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.credentials == ["Bearer access-1", "Bearer access-1", "Bearer access-2"])
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("A late rejection of a replaced token makes no token request", .shows("L1", "O19"))
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

    @Test("Five thousand calls rejected at once make one token request", .shows("L2", "O41", "P17"))
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

    @Test("Stops after two requests to a resource that always rejects, and reports why", .shows("R13", "2.7"))
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

    @Test(
        "Rejections cause at most thirty token requests in 30 seconds, however many resources reject",
        .shows("O20", "R13")
    )
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

    @Test(
        "Ignores a 401 that isn't about the token",
        .shows("R12"),
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
        .shows("R13", "RFC 6750 §3, §3.1 (received)"),
        arguments: [
            "Bearer", "bearer", #"Bearer realm="api""#, #"BEARER error="invalid_token""#,
            #"Bearer error="invalid_token", error_description="The \"access token\" expired, sorry""#,
            #"Basic realm="api", Bearer error="invalid_token""#, #"Bearer error="invalid_token", Basic realm="api""#,
            #"DPoP algs="ES256""#, "", "\u{1}", nil,
        ]
    )
    func bearerChallenges(challenge: String?) async throws {
        let fixture = OAuth2Fixture(answers: [challenge.map { .challenge($0) } ?? .status(401)])
        let client = fixture.client(fixture.authenticator())
        #expect(try await client.makeRequest(request) == Data("ok".utf8))
        #expect(fixture.endpoint.requests.count == 2)
    }

    /// [RFC 9421 §5](https://www.rfc-editor.org/rfc/rfc9421#section-5)
    @Test(
        "A 401 that asks for a signature doesn't refresh the token, unless it challenges for the token, too",
        arguments: [(nil, 1), (RefusedCall.invalidToken, 2)]
    )
    func signatureDemand(challenge: String?, tokens: Int) async throws {
        var headers: HTTPHeaders = ["Accept-Signature": #"sig1=("@method");created"#]
        headers["WWW-Authenticate"] = challenge
        let fixture = OAuth2Fixture(answers: [.status(401, headers: headers), .status(401, headers: headers)])
        let client = fixture.client(fixture.authenticator())
        await #expect(throws: ServerError.self) { try await client.makeRequest(request) }
        #expect((fixture.endpoint.requests.count, fixture.resource.requests.count) == (tokens, tokens))
    }

    // MARK: Decisions

    @Test("A resource that rejected a new token causes no refresh for 30 seconds, but others do")
    func rejectingResource() async throws {
        let call = RefusedCall()
        _ = try await call.request()
        let state = Retry.State(authenticationErrors: [refusal], started: call.fixture.time.now)
        #expect(try await call.action(401, state: state) == .noRetry(.freshTokenRejected))
        #expect(try await call.action(401) == .noRetry(.freshTokenRejected))
        call.fixture.time.advance(by: .seconds(30))
        #expect(try await call.action(401) == .retry)
        let other = RefusedCall()
        _ = try await other.request()
        let first = Retry.State(authenticationErrors: [refusal], started: other.fixture.time.now)
        #expect(try await other.action(401, state: first) == .noRetry(.freshTokenRejected))
        let elsewhere = try await other.request(url: #require(URL(string: "https://other.example/")))
        #expect(try await other.action(401, on: elsewhere) == .retry)
    }

    @Test("Fails if the source can't replace its token", .shows("R13"))
    func irreplaceableToken() async throws {
        let fixture = OAuth2Fixture()
        let token = AccessToken(value: Secret("static"), requested: fixture.time.now)
        let authenticator = OAuth2Authenticator(
            source: StaticTokenSource(token),
            resources: .everyHTTPSOrigin,
            timing: .init(timeSource: fixture.time.timeSource)
        )
        let call = RefusedCall(fixture, authenticator: authenticator)
        #expect(try await call.action(401) == .noRetry(.reauthenticationRequired))
        #expect(try await authenticator.text() == "static")
    }

    @Test("Delays the retry during a backoff, within the delay budget", .shows("R13"))
    func backoff() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1"), .retryAfter(20)])
        let call = RefusedCall(fixture)
        let request = try await call.request()
        #expect(try await call.action(401, on: request) == .retry)
        #expect(await failureCode { try await call.authenticator.text() } == .serverTransient)
        fixture.time.advance(by: .seconds(5))
        #expect(try await call.action(401, on: request) == .retryAfter(.seconds(15)))
        let spent = Retry.State(delays: [.seconds(46)], started: fixture.time.now)
        guard case .noRetry(.delay(let budget)) = try await call.rawAction(401, on: request, state: spent) else {
            Issue.record("not failed for exceeding its budget")
            return
        }
        #expect(budget == .seconds(60))
    }

    @Test("Waits once for a resource that learns of tokens late", .shows("R13"))
    func replicationDelay() async throws {
        let fixture = OAuth2Fixture()
        let call = RefusedCall(fixture, authenticator: fixture.authenticator(replicationDelay: .milliseconds(500)))
        let request = try await call.request()
        #expect(try await call.action(401, on: request) == .retryAfter(.milliseconds(500)))
        #expect(fixture.endpoint.requests.count == 1)
        let again = Retry.State(authenticationErrors: [refusal], started: fixture.time.now + .seconds(1))
        #expect(try await call.action(401, on: request, state: again) == .retry)
        #expect(try await call.authenticator.text() == "access-2")
        fixture.time.advance(by: .seconds(2))
        #expect(try await call.action(401) == .retry)
    }

    @Test("Ignores an unknown error code until the token expires", .shows("R14"))
    func unknownError() async throws {
        let call = RefusedCall()
        let request = try await call.request()
        #expect(try await call.action(401, #"Bearer error="something_new""#, on: request) == .none)
        call.fixture.time.advance(by: .seconds(3571))
        #expect(try await call.action(401, #"Bearer error="something_new""#, on: request) == .retry)
        #expect(try await call.authenticator.text() == "access-2")
    }

    // MARK: Retry policies

    @Test("A policy neither suppresses nor delays the retry with a new token", .shows("4.24"))
    func policyOfNoRetries() async throws {
        let delays = Retry.Policy.backoff(.constant(.seconds(3600), until: .maxRetries(5)), when: .always)
        for policy in [Retry.Policy.maxRetries(0, when: .always), delays] {
            let fixture = OAuth2Fixture(answers: [.refusal])
            let client = fixture.client(policy, fixture.authenticator())
            #expect(try await client.makeRequest(request) == Data("ok".utf8))
            #expect(fixture.resource.requests.count == 2)
            #expect(!fixture.time.sleeps.contains(.seconds(3600)))
        }
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
