import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("Refresh tokens", .limitedConcurrency, .tags(.concurrency))
struct RefreshTokenTests {
    private let grant = RefreshTokenGrant(refreshToken: Secret("refresh-0"))

    @Test(
        "Starts with the first refresh token, and continues with each successor",
        .shows("O2", "4.18", "RFC 6749 §6", "FAPI 2.0 §5.3.3.1 (6)")
    )
    func rotation() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let authenticator = fixture.authenticator(grant: grant)
        #expect(try await authenticator.text() == "a1")
        fixture.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.forms.map { $0["grant_type"] } == ["refresh_token", "refresh_token"])
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test("Keeps the refresh token if the response has none", .shows("T2", "RFC 6749 §6"))
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

    @Test(
        "Ends the grant for every caller after a rejected refresh token, without more requests",
        .shows("R13", "4.25", "RFC 6749 §6")
    )
    func invalidGrant() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = ProbedTokenStore()
        let authenticator = fixture.authenticator(grant: grant, store: store)
        let client = fixture.client(authenticator)
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(3600))
        let error = try #require(await failure { try await authenticator.text() })
        #expect((error.serverCode, error.status, error.isRetryable) == ("invalid_grant", 400, false))
        #expect((error.cause as? OAuth2Error)?.cause is ServerError)
        for _ in 1...3 {
            #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
            let code = await failureCode { try await client.makeRequest(URLRequest(url: OAuth2Fixture.api)) }
            #expect(code == .reauthenticationRequired)
        }
        #expect(fixture.endpoint.requests.count == 2)
        #expect(fixture.resource.requests.isEmpty)
        #expect(store.removals == 1)
    }

    @Test(
        "Only the server's setting makes invalid_request the end of a grant",
        arguments: [
            (true, "invalid_request", 400, OAuth2Error.Code.reauthenticationRequired),
            (false, "invalid_request", 400, .requestRejected), (true, "invalid_request", 500, .serverTransient),
            (true, "invalid_request", 401, .requestRejected), (true, "invalid_scope", 400, .requestRejected),
        ]
    )
    func invalidRequest(ends: Bool, answer: String, status: Int, code: OAuth2Error.Code) async throws {
        let time = ManualTime()
        defer { time.end() }
        let transport = MockTransport(
            steps: [.tokens("a1", refresh: "refresh-1"), .error(answer, status: status), .tokens("a2")],
            time: time.timeSource
        ) { _ in .init(status: 404) }
        var server = OAuth2Fixture.server
        server.endsGrantsWithInvalidRequest = ends
        let store = ProbedTokenStore()
        let authenticator = OAuth2Authenticator(
            client: OAuth2Client(
                server: server,
                clientAuthentication: .none(clientID: "reports"),
                client: NetworkClient(transport: transport, options: .init(timeSource: time.timeSource)),
                timing: OAuth2Timing(attempts: 1, timeSource: time.timeSource, random: { 0 })
            ),
            grant: grant,
            resources: .everyHTTPSOrigin,
            store: store
        )
        _ = try await authenticator.text()
        time.advance(by: .seconds(3_600))
        let error = try #require(await failure { try await authenticator.text() })
        #expect(error.code == code)
        #expect(
            error.message.contains("`endsGrantsWithInvalidRequest`") == (!ends && answer == "invalid_request")
        )
        time.advance(by: .seconds(3_600))
        if code == .reauthenticationRequired {
            #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
            #expect((transport.requests.count, store.removals) == (2, 1))
        } else {
            // The refresh token survives.
            #expect(try await authenticator.text() == "a2")
            #expect(transport.forms.last?["refresh_token"] == "refresh-1")
        }
    }

    @Test(
        "Finds another authenticator's sign-in within a second after the grant has ended",
        arguments: [false, true]
    )
    func signedInElsewhere(hasSignedOut: Bool) async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1"), .error("invalid_grant")])
        let store = InMemoryTokenStore(timeSource: fixture.time.timeSource)
        let ended = fixture.authenticator(grant: grant, store: store)
        _ = try await ended.text()
        fixture.time.advance(by: .seconds(3_600))
        if hasSignedOut { try await ended.signOut() }
        for _ in 1...5 { #expect(await failureCode { try await ended.text() } == .reauthenticationRequired) }
        let requests = fixture.endpoint.requests.count
        fixture.time.advance(by: .seconds(10))
        #expect(await failureCode { try await ended.text() } == .reauthenticationRequired)
        #expect(fixture.endpoint.requests.count == requests)
        try await fixture.authenticator(grant: grant, store: store).signIn(with: Secret("anew"))
        fixture.time.advance(by: .seconds(1))
        if hasSignedOut {
            // It hasn't used any of the scripted steps.
            #expect(await failureCode { try await ended.text() } == .reauthenticationRequired)
        } else {
            #expect(try await ended.text() == "access-1")
        }
        #expect(fixture.forms.last?["refresh_token"] == "anew")
    }

    @Test("Sends one request for 500 calls during the backoff, and tells each how long to wait", .shows("S6"))
    func backoff() async throws {
        let fixture = OAuth2Fixture(steps: [.error("invalid_scope"), .tokens("a1", refresh: "r1")])
        let authenticator = fixture.authenticator(grant: grant)
        #expect(await failureCode { try await authenticator.text() } == .requestRejected)
        for _ in 1...500 {
            let error = await failure { try await authenticator.accessToken(until: fixture.time.now + .seconds(600)) }
            #expect(error?.code == .requestRejected)
            #expect(error?.retryAfter == .seconds(1))
        }
        #expect(fixture.endpoint.requests.count == 1)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "a1")
    }

    @Test("Treats a 401 without a body as a rejected client", arguments: ["", #"Basic realm="as""#, "Bearer"])
    func emptyUnauthorized(challenge: String) async throws {
        let headers: HTTPHeaders = challenge.isEmpty ? [:] : ["WWW-Authenticate": challenge]
        let fixture = OAuth2Fixture(steps: [.status(401, headers: headers), .tokens("a1", refresh: "r1")])
        let authenticator = fixture.authenticator(grant: grant)
        #expect(await failureCode { try await authenticator.text() } == .invalidClient)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "a1")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-0"])
    }

    @Test("Keeps a cancelled caller's result for the next call with the same refresh token", .shows("S4"))
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
        // The client also continues from a response in which only the refresh token is usable.
        #expect(await failureCode { try await client.tokens(refreshing: Secret("refresh-1")) } == .protocolViolation)
        #expect(try await client.tokens(refreshing: Secret("refresh-1")).refreshToken == Secret("refresh-3"))
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1", "refresh-2"])
        await fixture.runOut()
    }

    @Test("Sends a refresh token again that the server has returned again")
    func returnedAgain() async throws {
        let fixture = OAuth2Fixture(steps: [
            .text(#"{"refresh_token":"refresh-1"}"#), .text(#"{"refresh_token":"refresh-0"}"#),
            .tokens("a1", refresh: "refresh-2"),
        ])
        let client = OAuth2Client(
            server: OAuth2Fixture.server,
            clientAuthentication: .none(clientID: "app"),
            client: NetworkClient(transport: fixture.endpoint, options: .init(timeSource: fixture.time.timeSource)),
            timing: .init(attempts: 1, timeSource: fixture.time.timeSource)
        )
        let first = Secret("refresh-0")
        for _ in 1...2 {
            #expect(await failureCode { try await client.tokens(refreshing: first) } == .protocolViolation)
        }
        #expect(try await client.tokens(refreshing: first).refreshToken == Secret("refresh-2"))
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1", "refresh-0"])
        await fixture.runOut()
    }

    @Test("Doesn't use a rejected token again if the store can't remove it")
    func refusedTokenStaysRefused() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = ProbedTokenStore()
        let authenticator = fixture.authenticator(grant: grant, store: store)
        _ = try await authenticator.text()
        store.fail(.remove)
        fixture.time.advance(by: .seconds(3600))
        #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test("Keeps the tokens of two users in one store apart", .shows("G4"))
    func twoUsers() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("for-alice", refresh: "x"), .tokens("for-bob", refresh: "y")])
        let store = InMemoryTokenStore()
        let alice = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("alice")), store: store)
        let bob = fixture.authenticator(grant: RefreshTokenGrant(refreshToken: Secret("bob")), store: store)
        #expect(try await alice.text() == "for-alice")
        #expect(try await bob.text() == "for-bob")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["alice", "bob"])
    }

    @Test("A new authenticator continues with the newest token in the store")
    func restart() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let store = InMemoryTokenStore()
        _ = try await fixture.authenticator(grant: grant, store: store).text()
        fixture.time.advance(by: .seconds(3600))
        #expect(try await fixture.authenticator(grant: grant, store: store).text() == "a2")
        #expect(fixture.forms.last?["refresh_token"] == "refresh-1")
    }

    @Test(
        "Ends the grant if another authenticator removed its record, without using the first token",
        arguments: [false, true]
    )
    func removedRecord(isLoaded: Bool) async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let store = InMemoryTokenStore()
        let authenticators = (1...2).map { _ in fixture.authenticator(grant: grant, store: store) }
        for authenticator in authenticators.prefix(isLoaded ? 2 : 1) { #expect(try await authenticator.text() == "a1") }
        fixture.time.advance(by: .seconds(3600))
        for authenticator in isLoaded ? authenticators : authenticators.reversed() {
            #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
        }
        #expect(fixture.endpoint.requests.count == 2)
    }

    @Test("Retries client credentials later after an invalid_grant")
    func clientCredentials() async throws {
        let fixture = OAuth2Fixture(steps: [.error("invalid_grant")])
        let authenticator = fixture.authenticator()
        #expect(await failureCode { try await authenticator.text() } == .requestRejected)
        fixture.time.advance(by: .seconds(1))
        #expect(try await authenticator.text() == "access-1")
    }

    @Test("Uses the client credentials again after their refresh token is rejected", .shows("T6"))
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
