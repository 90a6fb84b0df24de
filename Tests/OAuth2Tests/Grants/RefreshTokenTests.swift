import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("Refresh tokens", .timeLimit(.minutes(10)), .limitedConcurrency)
struct RefreshTokenTests {
    private let grant = RefreshTokenGrant(refreshToken: Secret("refresh-0"))

    @Test("The first refresh token starts the chain, and each successor goes on with it")
    func rotation() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let authenticator = fixture.authenticator(grant: grant)
        #expect(try await authenticator.text() == "a1")
        fixture.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.forms.map { $0["grant_type"] } == ["refresh_token", "refresh_token"])
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test("A rotated token is in the store before anyone uses the access token")
    func storedBeforeUse() async throws {
        let events = Journal()
        let store = ProbedTokenStore { record in events.add("stored \(record.refresh ?? "nothing")")
        }
        let fixture = OAuth2Fixture(
            steps: [.tokens("a1", refresh: "refresh-1")],
            answers: [
                .handler { request in
                    events.add("used \(request.headers["Authorization"] ?? "nothing")")
                    return .text("ok")
                }
            ]
        )
        let client = fixture.client(fixture.authenticator(grant: grant, store: store))
        _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(events.entries == ["stored refresh-1", "used Bearer a1"])
    }

    @Test("An answer without a refresh token means the old one to go on")
    func omitted() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1"), .tokens("a2", refresh: ""), .tokens("a3")])
        let store = ProbedTokenStore()
        let authenticator = fixture.authenticator(grant: grant, store: store)
        for expected in ["a1", "a2", "a3"] {
            #expect(try await authenticator.text() == expected)
            fixture.time.advance(by: .seconds(3600))
        }
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-0", "refresh-0"])
        #expect(store.written.map(\.refresh) == ["refresh-0", "refresh-0", "refresh-0"])
    }

    @Test("A refused refresh token ends the grant: every caller hears so, and the server no more")
    func invalidGrant() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = ProbedTokenStore()
        let authenticator = fixture.authenticator(grant: grant, store: store)
        let client = fixture.client(authenticator)
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(3600))
        for _ in 1...3 {
            #expect(await failureCode { _ = try await authenticator.text() } == .reauthenticationRequired)
            let code = await failureCode { _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
            #expect(code == .reauthenticationRequired)
        }
        #expect(fixture.endpoint.requests.count == 2)
        #expect(fixture.resource.requests.isEmpty)
        #expect(store.removals == 1)
    }

    @Test(
        "An authenticator whose grant has ended finds within a second that another has signed in",
        arguments: [false, true]
    )
    func signedInElsewhere(hasSignedOut: Bool) async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1"), .error("invalid_grant")])
        let store = InMemoryTokenStore(timeSource: fixture.time.timeSource)
        let ended = fixture.authenticator(grant: grant, store: store)
        _ = try await ended.text()
        fixture.time.advance(by: .seconds(3_600))
        if hasSignedOut { try await ended.signOut() }
        for _ in 1...5 { #expect(await failureCode { _ = try await ended.text() } == .reauthenticationRequired) }
        let requests = fixture.endpoint.requests.count
        fixture.time.advance(by: .seconds(10))
        #expect(await failureCode { _ = try await ended.text() } == .reauthenticationRequired)
        #expect(fixture.endpoint.requests.count == requests)
        try await fixture.authenticator(grant: grant, store: store).signIn(with: Secret("anew"))
        fixture.time.advance(by: .seconds(1))
        if hasSignedOut {
            // It has used none of the steps up.
            #expect(await failureCode { _ = try await ended.text() } == .reauthenticationRequired)
        } else {
            #expect(try await ended.text() == "access-1")
        }
        #expect(fixture.forms.last?["refresh_token"] == "anew")
    }

    @Test("Five hundred calls after a refusal are one request, and each hears at once how long to wait")
    func backoff() async throws {
        let fixture = OAuth2Fixture(steps: [.error("invalid_scope"), .tokens("a1", refresh: "r1")])
        let authenticator = fixture.authenticator(grant: grant)
        #expect(await failureCode { _ = try await authenticator.text() } == .requestRejected)
        for _ in 1...500 {
            let error = await #expect(throws: OAuth2Error.self) {
                try await authenticator.accessToken(until: fixture.time.now + .seconds(600))
            }
            #expect(error?.code == .requestRejected)
            #expect(error?.retryAfter == .seconds(1))
        }
        #expect(fixture.endpoint.requests.count == 1)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "a1")
    }

    @Test("A 401 without a body is a client that is not accepted", arguments: ["", #"Basic realm="as""#, "Bearer"])
    func emptyUnauthorized(challenge: String) async throws {
        let headers: HTTPHeaders = challenge.isEmpty ? [:] : ["WWW-Authenticate": challenge]
        let fixture = OAuth2Fixture(steps: [.status(401, headers: headers), .tokens("a1", refresh: "r1")])
        let authenticator = fixture.authenticator(grant: grant)
        #expect(await failureCode { _ = try await authenticator.text() } == .invalidClient)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "a1")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-0"])
    }

    @Test("What a client's refresh brings after its caller has left is there for the next call with the same token")
    func cancelledClient() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [
            .tokens("a1", refresh: "refresh-1").gated(by: gate), .text(#"{"refresh_token":"refresh-2"}"#),
            .tokens("a3", refresh: "refresh-3"),
        ])
        let client = OAuth2Client(
            server: OAuth2Fixture.server,
            clientAuthentication: .none(clientID: "app"),
            client: NetworkClient(transport: fixture.endpoint, options: .init(timeSource: fixture.time.timeSource)),
            timing: .init(timeSource: fixture.time.timeSource)
        )
        let first = Secret("refresh-0")
        let call = Task { try await client.tokens(refreshing: first) }
        try await fixture.endpoint.waitForRequests(count: 1)
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        gate.open()
        let tokens = try await client.tokens(refreshing: first)
        #expect(tokens.refreshToken == Secret("refresh-1"))
        // An answer that is no good but for its refresh token is gone on from, too.
        #expect(
            await failureCode { _ = try await client.tokens(refreshing: Secret("refresh-1")) } == .protocolViolation
        )
        #expect(try await client.tokens(refreshing: Secret("refresh-1")).refreshToken == Secret("refresh-3"))
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1", "refresh-2"])
        await fixture.runOut()
    }

    @Test("The error of a grant that ended has the server's code, status and cause")
    func invalidGrantDetails() async throws {
        let fixture = OAuth2Fixture(steps: [.error("invalid_grant")])
        let error = await #expect(throws: OAuth2Error.self) { try await fixture.authenticator(grant: grant).text() }
        #expect(error?.serverCode == "invalid_grant")
        #expect(error?.status == 400)
        #expect((error?.cause as? OAuth2Error)?.cause is ServerError)
        #expect(error?.isRetryable == false)
    }

    @Test("A store that can't remove a refused token does not bring it back")
    func refusedTokenStaysRefused() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = ProbedTokenStore()
        let authenticator = fixture.authenticator(grant: grant, store: store)
        _ = try await authenticator.text()
        store.fail(.remove)
        fixture.time.advance(by: .seconds(3600))
        #expect(await failureCode { _ = try await authenticator.text() } == .reauthenticationRequired)
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test(
        "A failing server, whatever code it sends, does not cost the refresh token",
        arguments: [
            (503, "invalid_grant"), (500, "server_error"), (429, "invalid_grant"), (400, "temporarily_unavailable"),
        ]
    )
    func transient(status: Int, code: String) async throws {
        let fixture = OAuth2Fixture(steps: [.error(code, status: status), .tokens("a1", refresh: "refresh-1")])
        let authenticator = fixture.authenticator(grant: grant)
        #expect(await failureCode { _ = try await authenticator.text() } == .serverTransient)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "a1")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-0"])
    }

    @Test("Two users' tokens in one store are two users' tokens")
    func twoUsers() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("for-alice", refresh: "x"), .tokens("for-bob", refresh: "y")])
        let store = InMemoryTokenStore()
        let alice = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("alice")), store: store)
        let bob = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("bob")), store: store)
        #expect(try await alice.text() == "for-alice")
        #expect(try await bob.text() == "for-bob")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["alice", "bob"])
    }

    @Test("A new authenticator goes on with the newest token in the store")
    func restart() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let store = InMemoryTokenStore()
        _ = try await fixture.authenticator(grant: grant, store: store).text()
        fixture.time.advance(by: .seconds(3600))
        #expect(try await fixture.authenticator(grant: grant, store: store).text() == "a2")
        #expect(fixture.forms.last?["refresh_token"] == "refresh-1")
    }

    @Test("A record that another removed ends the grant: the first token is not dug out again")
    func removedRecord() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = InMemoryTokenStore()
        let first = fixture.authenticator(grant: grant, store: store)
        _ = try await first.text()
        fixture.time.advance(by: .seconds(3600))
        let second = fixture.authenticator(grant: grant, store: store)
        #expect(await failureCode { _ = try await second.text() } == .reauthenticationRequired)
        #expect(await failureCode { _ = try await first.text() } == .reauthenticationRequired)
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("Nor is it by who only found a record and never refreshed")
    func removedRecordAfterFinding() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = InMemoryTokenStore()
        let first = fixture.authenticator(grant: grant, store: store)
        let second = fixture.authenticator(grant: grant, store: store)
        #expect(try await first.text() == "a1")
        #expect(try await second.text() == "a1")
        fixture.time.advance(by: .seconds(3600))
        #expect(await failureCode { _ = try await first.text() } == .reauthenticationRequired)
        #expect(await failureCode { _ = try await second.text() } == .reauthenticationRequired)
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("Client credentials that are called an invalid grant may be right later, when the clock is")
    func clientCredentials() async throws {
        let fixture = OAuth2Fixture(steps: [.error("invalid_grant")])
        let authenticator = fixture.authenticator()
        #expect(await failureCode { _ = try await authenticator.text() } == .requestRejected)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "access-1")
    }

    @Test("A refused refresh token of client credentials leads back to the client's credentials")
    func refreshTokenOfClientCredentials() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let authenticator = fixture.authenticator()
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "access-1")
        #expect(
            fixture.forms.map { $0["grant_type"] } == ["client_credentials", "refresh_token", "client_credentials"]
        )
    }
}
