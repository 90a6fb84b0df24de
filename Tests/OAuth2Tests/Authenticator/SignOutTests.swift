import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@Suite("OAuth2Authenticator: sign-out", .limitedConcurrency, .tags(.concurrency))
struct SignOutTests {
    private let grant = RefreshTokenGrant(refreshToken: Secret("r0"))

    @Test("Signing out deletes all tokens, and new ones require a sign-in")
    func signOut() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1"), .tokens("a2", refresh: "r2")])
        let store = ProbedTokenStore()
        let authenticator = fixture.authenticator(grant: grant, store: store)
        #expect(try await authenticator.text() == "a1")
        try await authenticator.signOut()
        #expect((store.written.last?.end, store.written.last?.refreshToken) == (.signedOut, nil))
        for _ in 1...3 {
            #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
        }
        #expect(fixture.endpoint.requests.count == 1)
        try await authenticator.signIn(with: Secret("r7"))
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["r0", "r7"])
    }

    @Test("Signing out fails waiting callers at once, and removes tokens that arrive later", .shows("L8"))
    func flightUnderWay() async throws {
        let gate = ResponseGate()
        let store = ProbedTokenStore()
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1").gated(by: gate)])
        let authenticator = fixture.authenticator(grant: grant, store: store)
        let waiting = Task { try await authenticator.text(until: fixture.time.now + .seconds(120)) }
        try await fixture.time.waitForSleepers(count: 3)
        let signingOut = Task { try await authenticator.signOut() }
        #expect(await failureCode { try await waiting.value } == .reauthenticationRequired)
        #expect(!gate.isOpen)
        gate.open()
        try await signingOut.value
        #expect(store.written.map(\.refresh) == ["r1", nil])
        #expect(store.written.map(\.end) == [nil, .signedOut])
        #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
        #expect(fixture.endpoint.requests.count == 1)
        await fixture.runOut()
    }

    @Test("A sign-out survives a restart: the first token isn't reused, and new ones require a sign-in", .shows("S15"))
    func restart() async throws {
        try await withTemporaryDirectory { directory in
            let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1"), .tokens("a2", refresh: "r2")])
            let store = { try FileTokenStore(directory: directory, timeSource: fixture.time.timeSource) }
            let first = fixture.authenticator(grant: grant, store: try store())
            #expect(try await first.text() == "a1")
            try await first.signOut()
            let second = fixture.authenticator(grant: grant, store: try store())
            for _ in 1...2 {
                let error = await failure { try await second.accessToken() }
                #expect(error?.code == .reauthenticationRequired)
                #expect(error?.message.contains("signed out") == true)
                #expect(error?.isPossiblyLostRotation == false)
            }
            #expect(fixture.endpoint.requests.count == 1)
            try await second.signIn(with: Secret("r7"))
            #expect(try await second.text() == "a2")
            #expect(fixture.forms.map { $0["refresh_token"] } == ["r0", "r7"])
        }
    }

    @Test("Knows without a request whether the user must sign in")
    func needsSignIn() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1")])
        let store = InMemoryTokenStore()
        let authenticator = fixture.authenticator(grant: UserGrant(identifier: "ada"), store: store)
        #expect(try await authenticator.needsSignIn)
        try await authenticator.signIn(with: Secret("r0"))
        #expect(try await !authenticator.needsSignIn)
        #expect(try await !fixture.authenticator(grant: UserGrant(identifier: "ada"), store: store).needsSignIn)
        #expect(try await fixture.authenticator(grant: UserGrant(identifier: "bob"), store: store).needsSignIn)
        #expect(fixture.endpoint.requests.isEmpty)
        #expect(try await authenticator.text() == "a1")
        #expect(try await !authenticator.needsSignIn)
        try await authenticator.signOut()
        #expect(try await authenticator.needsSignIn)
        #expect(try await !fixture.authenticator(grant: grant, store: InMemoryTokenStore()).needsSignIn)
        #expect(try await !fixture.authenticator(store: InMemoryTokenStore()).needsSignIn)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Looking whether a sign-in is needed doesn't make a used code usable again")
    func needsSignInAfterCode() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1")])
        let code = AuthorizationCodeGrant(
            code: Secret("c0de"),
            redirectURI: "urn:a",
            codeVerifier: try CodeVerifier(),
            idToken: .none
        )
        let authenticator = fixture.authenticator(grant: code)
        #expect(try await !authenticator.needsSignIn)
        #expect(try await authenticator.text() == "a1")
        fixture.time.advance(by: .seconds(3600))
        for _ in 1...2 { #expect(try await authenticator.needsSignIn) }
        #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Signing out also deletes tokens with the scope that a resource demanded")
    func demandedTokens() async throws {
        let challenge = #"Bearer error="insufficient_scope", scope="write""#
        let fixture = OAuth2Fixture(answers: [
            .status(403, headers: ["WWW-Authenticate": challenge]), .status(200),
        ])
        let store = ProbedTokenStore()
        let authenticator = fixture.authenticator(store: store, options: .obtaining(scope: "write"))
        _ = try await fixture.client(authenticator).makeRequest(URLRequest(url: OAuth2Fixture.api))
        #expect(store.written.count == 2)
        try await authenticator.signOut()
        #expect(store.removals == 2)
    }

    @Test("Reports a store that can't be read instead of asking the user to sign in")
    func needsSignInWithoutStore() async throws {
        let fixture = OAuth2Fixture()
        let store = ProbedTokenStore()
        store.fail(.load)
        let authenticator = fixture.authenticator(grant: UserGrant(identifier: "ada"), store: store)
        #expect(await failureCode { try await authenticator.needsSignIn } == .storeFailed)
    }

    @Test("Signing out before there are tokens takes effect")
    func withoutTokens() async throws {
        let fixture = OAuth2Fixture()
        let store = InMemoryTokenStore()
        try await fixture.authenticator(grant: grant, store: store).signOut()
        let other = fixture.authenticator(grant: grant, store: store)
        #expect(await failureCode { try await other.text() } == .reauthenticationRequired)
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test("Signing in or out ends when a store never accepts a write")
    func stubbornStore() async throws {
        let authenticator = OAuth2Fixture().authenticator(grant: grant, store: StubbornStore())
        #expect(await failureCode { try await authenticator.signOut() } == .storeBusy)
        #expect(await failureCode { try await authenticator.signIn(with: Secret("r1")) } == .storeBusy)
    }

    @Test("A client that needs no user gets new tokens after a sign-out and restart")
    func repeatableGrant() async throws {
        let fixture = OAuth2Fixture()
        let store = InMemoryTokenStore()
        let first = fixture.authenticator(store: store)
        #expect(try await first.text() == "access-1")
        try await first.signOut()
        #expect(try await fixture.authenticator(store: store).text() == "access-2")
    }

    @Test("Unsaved tokens don't overwrite another process's sign-out", .shows("S15"))
    func unsavedTokens() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "r1")])
        let store = ProbedTokenStore()
        let one = fixture.authenticator(grant: grant, store: store)
        store.fail(.write, .write, .write)
        #expect(try await one.text() == "a1")
        try await fixture.authenticator(grant: grant, store: store).signOut()
        fixture.time.advance(by: .seconds(7_200))
        await fixture.runOut()
        #expect(await failureCode { try await one.text() } == .reauthenticationRequired)
        #expect(store.written.map(\.end) == [.signedOut])
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("Ignores a rejection of a token from before the sign-out")
    func lateRefusal() async throws {
        let call = RefusedCall()
        let request = try await call.request()
        try await call.authenticator.signOut()
        #expect(try await call.action(401, on: request) == .none)
    }

    @Test("Signing in after the end of a grant continues with the new token, also with a file store")
    func afterTheEnd() async throws {
        try await withTemporaryDirectory { directory in
            let fixture = OAuth2Fixture(steps: [.error("invalid_grant")])
            let store = try FileTokenStore(directory: directory)
            let authenticator = fixture.authenticator(grant: grant, store: store)
            #expect(await failureCode { try await authenticator.text() } == .reauthenticationRequired)
            // Another authenticator doesn't reuse the first token.
            let second = fixture.authenticator(grant: grant, store: try FileTokenStore(directory: directory))
            #expect(await failureCode { try await second.text() } == .reauthenticationRequired)
            #expect(fixture.endpoint.requests.count == 1)
            try await authenticator.signIn(with: Secret("r9"))
            #expect(try await authenticator.text() == "access-1")
            #expect(fixture.forms.last?["refresh_token"] == "r9")
        }
    }

    @Test("Events and counters report everything in order, and observers outlive the authenticator", .shows("O24"))
    func events() async throws {
        let fixture = OAuth2Fixture(steps: [
            .tokens("a1", refresh: "r1", lifetime: 100), .retryAfter(7), .error("invalid_grant"),
        ])
        var authenticator: OAuth2Authenticator? = fixture.authenticator(grant: grant)
        _ = try await authenticator?.text()
        fixture.time.advance(by: .seconds(100))
        #expect(await failureCode { try await authenticator?.text() } == .serverTransient)
        fixture.time.advance(by: .seconds(7))
        #expect(await failureCode { try await authenticator?.text() } == .reauthenticationRequired)
        try await authenticator?.signOut()
        let counters = try #require(authenticator?.counters)
        authenticator = nil
        #expect(counters.tokenRequests == 3)
        #expect(counters.refreshes == 1)
        #expect(counters.failures == 2)
        #expect(counters.rotations == 1)
        #expect(counters.waits == 3)
        #expect(
            fixture.events.tokenEvents == [
                .refreshStarted(replacing: 0, isInBackground: false), .requested, .rotated,
                .refreshed(generation: 1, lifetime: .seconds(100), isFound: false),
                .refreshStarted(replacing: 1, isInBackground: false), .requested,
                .refreshFailed(.serverTransient, status: 503), .backoff(.seconds(7), .serverTransient),
                .refreshStarted(replacing: 1, isInBackground: false), .requested,
                .refreshFailed(.reauthenticationRequired, status: 400),
                .dead(.reauthenticationRequired, isPossiblyLostRotation: false), .signedOut,
            ]
        )
    }
}

/// A store in which another writer is always faster.
private struct StubbornStore: TokenStoreWrapper {
    let store = InMemoryTokenStore()

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        nil
    }
}
