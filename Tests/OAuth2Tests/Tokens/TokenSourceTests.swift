import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

@Suite("Token sources", .limitedConcurrency, .tags(.concurrency))
struct TokenSourceTests {
    private let time = ManualTime()

    private func token(_ text: String, lifetime: Double? = 3600) -> AccessToken {
        AccessToken(
            value: Secret(text),
            expiry: lifetime.map { time.now + .seconds($0) },
            requested: time.now
        )
    }

    private func text(
        _ source: some TokenSource,
        _ requirements: TokenRequirements = TokenRequirements()
    ) async throws -> String {
        try await source.token(for: requirements).value.expose { $0 }
    }

    /// Creates a source of numbered tokens: `name-1`, `name-2` …
    private func counting(_ name: String, _ count: Counter = Counter(), lifetime: Double? = 3600) -> ClosureTokenSource
    {
        ClosureTokenSource { [time] _ in
            AccessToken(
                value: Secret("\(name)-\(count.next())"),
                expiry: lifetime.map { time.now + .seconds($0) },
                requested: time.now
            )
        }
    }

    @Test("A cached source makes one request, and another if the token is unsuitable", .shows("3.14", "4.18"))
    func cached() async throws {
        let source = CachedTokenSource(counting("t"), timing: .init(timeSource: time.timeSource, random: { 0 }))
        #expect(try await text(source) == "t-1")
        let kept = try await source.token()
        #expect(kept.value == Secret("t-1"))
        #expect(try await text(source, .replacing(kept)) == "t-2")
        // A caller that rejects a token already replaced gets the current one.
        #expect(try await text(source, .replacing(kept)) == "t-2")
        time.advance(by: .seconds(3600))
        #expect(try await text(source) == "t-3")
    }

    @Test("A cached source never returns the token that a caller replaces, also shortly before its expiry")
    func replacedAheadOfExpiry() async throws {
        let source = CachedTokenSource(counting("t"), timing: .init(timeSource: time.timeSource, random: { 0 }))
        let kept = try await source.token()
        time.advance(by: .seconds(3500))
        #expect(try await text(source, .replacing(kept)) == "t-2")
    }

    @Test("A closure's error becomes the cause of an OAuth2Error")
    func closureFails() async throws {
        struct Failure: Error {}
        let source = CachedTokenSource(ClosureTokenSource { _ in throw Failure() })
        let error = await failure { try await source.token() }
        #expect(error?.code == .grantFailed)
        #expect(error?.cause is Failure)
    }

    @Test("A static source has a single token")
    func fixed() async throws {
        let source: any TokenSource = StaticTokenSource(token("s"))
        #expect(try await text(source) == "s")
        #expect(!source.canReplaceTokens)
        let personal = try StaticTokenSource(Secret("p")).token(for: TokenRequirements())
        #expect((personal.value, personal.type, personal.expiry) == (Secret("p"), "Bearer", nil))
        let requirements = TokenRequirements.replacing(token("s"))
        #expect(await failureCode { try await source.token(for: requirements) } == .reauthenticationRequired)
    }

    @Test("A fallback tries the next source after a failure or an unsuitable token")
    func fallback() async throws {
        let failing = ClosureTokenSource { _ in throw OAuth2Error(.serverUnreachable, "unreachable") }
        let fixed = StaticTokenSource(token("s"))
        #expect(try await text(failing.fallingBack(to: fixed).fallingBack(to: counting("t"))) == "s")
        let source = failing.fallingBack(to: fixed).fallingBack(to: counting("t"))
        #expect(try await text(source, .replacing(token("s"))) == "t-1")
        #expect(source.canReplaceTokens)
        #expect(!fixed.fallingBack(to: fixed).canReplaceTokens)
        let code = await failureCode { [token = token("s")] in
            _ = try await fixed.fallingBack(to: failing).token(for: .replacing(token))
        }
        #expect(code == .serverUnreachable)
        let rejected = await failureCode { [token = token("s")] in
            _ = try await failing.fallingBack(to: fixed).token(for: .replacing(token))
        }
        #expect(rejected == .reauthenticationRequired)
    }

    @Test("A limited source fails beyond its limit and reports the time to wait")
    func limited() async throws {
        let source = counting("t").limited(to: 2, per: .seconds(10), timeSource: time.timeSource)
        #expect(try await text(source) == "t-1")
        time.advance(by: .seconds(4))
        #expect(try await text(source) == "t-2")
        let error = await failure { try await source.token() }
        #expect(error?.code == .excessiveRefresh)
        #expect(error?.retryAfter == .seconds(6))
        time.advance(by: .seconds(6))
        #expect(try await text(source) == "t-3")
        #expect(await failureCode { try await source.token() } == .excessiveRefresh)
    }

    @Test("A persisted source uses a token stored by another until it expires or is unsuitable")
    func persisted() async throws {
        let store = InMemoryTokenStore()
        let sources = ["a", "b"].map { name in
            counting(name).persisted(in: store, key: "k", timeSource: time.timeSource)
        }
        #expect(try await text(sources[0]) == "a-1")
        let found = try await sources[1].token()
        #expect(found.value == Secret("a-1"))
        #expect(found.isFound)
        #expect(found.expiry == time.now + .seconds(3600))
        #expect(try await text(sources[1], .replacing(found)) == "b-1")
        #expect(try await text(sources[0]) == "b-1")
        time.advance(by: .seconds(3600))
        #expect(try await text(sources[0]) == "a-2")
    }

    @Test("A persisted source continues when its store fails")
    func persistedFailing() async throws {
        let store = ProbedTokenStore()
        let source = counting("a").persisted(in: store, key: "k", timeSource: time.timeSource)
        store.fail(.write)
        #expect(try await text(source) == "a-1")
        store.fail(.load)
        #expect(try await text(source) == "a-2")
    }

    @Test("A cached source of a grant keeps the tokens in its store, and reports events to the client's observers")
    func cachedGrant() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1")])
        let store = InMemoryTokenStore()
        let events = EventJournal()
        let client = OAuth2Client(
            server: OAuth2Fixture.server,
            clientAuthentication: .none(clientID: "reports"),
            client: NetworkClient(transport: fixture.endpoint, options: .init(observers: [events]))
        )
        for _ in 1...2 {
            let source = CachedTokenSource(client: client, grant: ClientCredentialsGrant(), store: store)
            #expect(try await text(source) == "a1")
        }
        #expect(fixture.endpoint.requests.count == 1)
        #expect(events.tokenEvents.contains(.requested))
    }

    @Test("A chain of exchanges refreshes itself from its first link", .shows("O3", "RFC 8693 §2", "RFC 8707"))
    func chain() async throws {
        let fixture = OAuth2Fixture(steps: [.exchanged("b1", lifetime: 100), .exchanged("b2", lifetime: 100)])
        let count = Counter()
        let user = CachedTokenSource(
            ClosureTokenSource { [time = fixture.time] _ in
                AccessToken(
                    value: Secret("s-\(count.next())"),
                    expiry: time.now + .seconds(150),
                    requested: time.now
                )
            },
            timing: .init(timeSource: fixture.time.timeSource, random: { 0 })
        )
        let grant = TokenExchangeGrant(subject: user, identifier: "ada", audiences: ["reports"], scope: "read")
        let authenticator = fixture.authenticator(grant: grant)
        #expect(try await authenticator.text() == "b1")
        fixture.time.advance(by: .seconds(145))
        #expect(try await authenticator.text() == "b2")
        #expect(fixture.forms.map { $0["subject_token"] } == ["s-1", "s-2"])
        let form = try #require(fixture.forms.first)
        #expect(form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange")
        #expect(form["subject_token_type"] == "urn:ietf:params:oauth:token-type:access_token")
        #expect((form["audience"], form["scope"]) == ("reports", "read"))
    }

    @Test(
        "Replaces a subject token that the server rejects once",
        arguments: ["invalid_grant", "invalid_request"]
    )
    func exchangeOfRevokedSubject(code: String) async throws {
        let fixture = OAuth2Fixture(steps: [.error(code), .exchanged("b1"), .error(code), .error(code)])
        let grant = TokenExchangeGrant(subject: CountingSource("s"), identifier: "ada")
        #expect(try await fixture.authenticator(grant: grant).text() == "b1")
        #expect(fixture.forms.map { $0["subject_token"] } == ["s-1", "s-2"])
        #expect(await failureCode { try await fixture.authenticator(grant: grant).text() } == .requestRejected)
        #expect(fixture.endpoint.requests.count == 4)
    }
}

private final class Counter: Sendable {
    private let count = Mutex(0)

    func next() -> Int {
        count.withLock { count in
            count += 1
            return count
        }
    }
}
