import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

@Suite("Failing stores", .limitedConcurrency, .tags(.concurrency))
struct StoreFailureTests {
    private let grant = RefreshTokenGrant(refreshToken: Secret("refresh-0"))
    private let store = ProbedTokenStore()

    @Test(
        "Uses tokens that couldn't be stored, and stores them later",
        .shows("T1"),
        arguments: [
            ([[], [.write, .write, .write]], ["refresh-1", "refresh-2", "refresh-3"]),
            ([[.write, .write, .write], [.load, .write, .write, .write]], ["refresh-2", "refresh-3"]),
        ] as [([[ProbedTokenStore.Fault]], [String])]
    )
    func storeIsGone(faults: [[ProbedTokenStore.Fault]], written: [String]) async throws {
        let fixture = OAuth2Fixture(steps: (1...3).map { .tokens("a\($0)", refresh: "refresh-\($0)") })
        let authenticator = fixture.authenticator(grant: grant, store: store)
        for (number, faults) in (faults + [[]]).enumerated() {
            for fault in faults { store.fail(fault) }
            #expect(try await authenticator.text() == "a\(number + 1)")
            if number < 2 { fixture.time.advance(by: .seconds(3600)) }
        }
        #expect(store.written.map(\.refresh) == written)
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1", "refresh-2"])
    }

    @Test(
        "Sends nothing if the store can't be read or locked or record the attempt, and works when it can",
        arguments: [[.load], [.enter], [.mark, .mark, .mark]] as [[ProbedTokenStore.Fault]]
    )
    func noteFails(faults: [ProbedTokenStore.Fault]) async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1")])
        let authenticator = fixture.authenticator(grant: grant, store: store)
        for fault in faults { store.fail(fault) }
        let error = await failure { try await authenticator.text() }
        #expect(error?.code == .storeFailed)
        #expect(error?.cause is ProbedTokenStore.Failure)
        #expect(fixture.endpoint.requests.isEmpty)
        #expect(try await authenticator.text() == "a1")
    }

    @Test("A failed sign-in keeps a refresh token that couldn't be stored")
    func failedSignIn() async throws {
        let fixture = OAuth2Fixture(steps: (1...2).map { .tokens("a\($0)", refresh: "refresh-\($0)") })
        let authenticator = fixture.authenticator(grant: grant, store: store)
        store.fail(.write, .write, .write)
        #expect(try await authenticator.text() == "a1")
        store.fail(.load)
        #expect(await failureCode { try await authenticator.signIn(with: Secret("other")) } == .storeFailed)
        fixture.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
        await fixture.runOut()
    }

    @Test("Repeats a failed write in the background")
    func savedBeside() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1")])
        store.fail(.write, .write, .write)
        #expect(try await fixture.authenticator(grant: grant, store: store).text() == "a1")
        #expect(store.written.isEmpty)
        try await fixture.time.waitForSleepers(count: 1)
        await fixture.runOut()
        while store.written.isEmpty { await Task.yield() }
        #expect(store.written.map(\.refresh) == ["refresh-1"])
        await fixture.runOut()
    }

    @Test(
        "Waits for another process's recorded attempt unless it's too old, and reports a possibly lost token",
        arguments: [0.0, 79, 80, -3_600]
    )
    func foundNote(age: Double) async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .error("invalid_grant")])
        let shared = InMemoryTokenStore(timeSource: fixture.time.timeSource)
        let left = LeavingStore(store: shared)
        // Another process sends the token and ends before it has the response.
        let key = Mutex("")
        left.onWrite { name in key.withLock { $0 = name } }
        _ = try await fixture.authenticator(grant: grant, store: left).text()
        fixture.time.advance(by: .seconds(3_600))
        let name = key.withLock { $0 }
        let stored = try #require(shared.load(name))
        var record = stored.record
        record.refreshAttempt = RefreshAttempt(id: "another", date: fixture.time.date.addingTimeInterval(-age))
        #expect(shared.compareAndSwap(name, expectedVersion: stored.version, record: record) != nil)
        let authenticator = fixture.authenticator(grant: grant, store: shared)
        let call = Task { try await authenticator.accessToken() }
        if age < 80 {
            // The refresh's timeout and the pause.
            try await fixture.time.waitForSleepers(count: 2)
            #expect(fixture.endpoint.requests.count == 1)
            fixture.time.advance(by: .seconds(20))
        }
        let error = await failure { try await call.value }
        #expect((error?.code, error?.isPossiblyLostRotation) == (.reauthenticationRequired, true))
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test("Stores a response that arrives after the timeout, and uses it for the next refresh", .shows("S4"))
    func lateAnswer() async throws {
        let gate = ResponseGate()
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1").gated(by: gate)])
        let store = InMemoryTokenStore(timeSource: fixture.time.timeSource)
        let authenticator = fixture.authenticator(grant: grant, store: store)
        let call = Task { try await authenticator.text() }
        try await fixture.endpoint.waitForRequests(count: 1)
        try await fixture.time.waitForSleepers(count: 2)
        fixture.time.advance(by: .seconds(30))
        #expect(await failureCode { try await call.value } == .serverUnreachable)
        gate.open()
        #expect(try await authenticator.text() == "a1")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0"])
        await fixture.runOut()
    }

    @Test(
        "Stores the refresh token of an otherwise invalid response, and reports the error",
        .shows("S3"),
        arguments: [
            #"{"refresh_token":"refresh-1"}"#,
            #"{"access_token":"","token_type":"Bearer","refresh_token":"refresh-1"}"#,
            #"{"access_token":"a","refresh_token":"refresh-1"}"#,
            #"{"access_token":"a","token_type":5,"refresh_token":"refresh-1","scope":{}}"#,
            #"{"access_token":"a","token_type":"mac","refresh_token":"refresh-1"}"#,
            #"{"access_token":"a\nb","token_type":"Bearer","refresh_token":"refresh-1"}"#,
            #"{"access_token":"a","token_type":"Bearer","expires_in":0x10,"refresh_token" : "refresh-1"}"#,
            #"{"access_token":"a","token_type":"Bearer","refresh_token":"refresh\u002d1","expires_in":NaN}"#,
            #"{"error":"invalid_grant","refresh_token":"refresh-1"}"#,
        ]
    )
    func oddAnswer(body: String) async throws {
        let fixture = OAuth2Fixture(steps: [.text(body), .tokens("a2", refresh: "refresh-2")])
        let authenticator = fixture.authenticator(grant: grant, store: store, attempts: 3)
        let code = await failureCode { try await authenticator.text() }
        #expect(code == .protocolViolation || code == .unsupportedTokenType)
        #expect(store.written.map(\.refresh) == ["refresh-1"])
        fixture.time.advance(by: .seconds(60))
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test(
        "Keeps the refresh token if that of an invalid response is truncated, ambiguous or not a text",
        arguments: [
            #"{"access_token":"a","refresh_token":"refresh-1"#, #"{"access_token":"a","refresh_token" "refresh-1"}"#,
            #"{"access_token":"a","refresh_token":refresh-1}"#,
            #"{"refresh_token":"refresh-1","expires_in":NaN,"refresh_token":"refresh-3"}"#,
        ]
    )
    func unusableRefreshToken(body: String) async throws {
        let fixture = OAuth2Fixture(steps: [.text(body), .tokens("a2", refresh: "refresh-2")])
        let authenticator = fixture.authenticator(grant: grant, store: store)
        #expect(await failureCode { try await authenticator.text() } == .protocolViolation)
        fixture.time.advance(by: .seconds(60))
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-0"])
    }

    @Test(
        "Retries at once after one failed write, and recognizes one that took effect but reported an error",
        arguments: [ProbedTokenStore.Fault.write, .writeThenFail]
    )
    func writeThenFail(fault: ProbedTokenStore.Fault) async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let authenticator = fixture.authenticator(grant: grant, store: store)
        store.fail(fault)
        #expect(try await authenticator.text() == "a1")
        #expect(store.written.map(\.refresh) == ["refresh-1"])
        fixture.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
        #expect(store.written.map(\.refresh) == ["refresh-1", "refresh-2"])
    }

    @Test("Loses no token if a write's result can't be read back")
    func reloadFails() async throws {
        let fixture = OAuth2Fixture(steps: [
            .tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2"),
            .tokens("a3", refresh: "refresh-3"),
        ])
        let reloading = FailingReload(store: store)
        let authenticator = fixture.authenticator(grant: grant, store: reloading)
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(3600))
        store.fail(.write, .write, .write)
        _ = try await authenticator.text()
        // Store the token first, so that nothing else runs when the next write can't be read back.
        while store.written.count < 2 {
            _ = fixture.time.advanceToNextSleeper()
            await Task.yield()
        }
        fixture.time.advance(by: .seconds(3600))
        reloading.failsAfterWrite.open()
        #expect(try await authenticator.text() == "a3")
        #expect(store.written.map(\.refresh) == ["refresh-1", "refresh-2", "refresh-3"])
    }

    @Test("Doesn't use an older access token after a failed write")
    func oldAccessToken() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1"), .tokens("a2"), .tokens("a3")])
        let authenticator = fixture.authenticator(grant: grant, store: store)
        let client = fixture.client(authenticator)
        for (expected, token) in [("Bearer a1", "a1"), ("Bearer a2", "a2"), ("Bearer a3", "a3")] {
            fixture.revoke()
            fixture.issue(token)
            store.fail(.write, .write, .write)
            _ = try await client.makeRequest(URLRequest(url: OAuth2Fixture.api))
            #expect(fixture.credentials.last == expected)
            fixture.time.advance(by: .seconds(1))
        }
        #expect(fixture.credentials == ["Bearer a1", "Bearer a1", "Bearer a2", "Bearer a2", "Bearer a3"])
    }

    @Test("Loses time but no tokens if a store hangs")
    func writeHangs() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let authenticator = fixture.authenticator(grant: grant, store: store)
        store.fail(.hang)
        let call = Task { try await authenticator.text() }
        try await fixture.endpoint.waitForRequests(count: 1)
        while !store.isHanging { await Task.yield() }
        while store.isHanging {
            fixture.time.advance(by: .seconds(10))
            await Task.yield()
        }
        // Even if the refresh timed out, the next one finds the token.
        _ = try? await call.value
        _ = try await authenticator.text()
        fixture.time.advance(by: .seconds(3600))
        _ = try await authenticator.text()
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test("Gets client credentials tokens without the store's lock")
    func enterFailsWithoutNeed() async throws {
        let fixture = OAuth2Fixture()
        let authenticator = fixture.authenticator(store: store)
        store.fail(.enter)
        #expect(try await authenticator.text() == "access-1")
        #expect(store.written.isEmpty)
        #expect(authenticator.counters.storeFailures == 1)
        // The server's error takes precedence.
        let refused = OAuth2Fixture(steps: [.error("invalid_client")])
        store.fail(.enter)
        let other = refused.authenticator(store: store)
        #expect(await failureCode { try await other.text() } == .invalidClient)
        #expect(refused.endpoint.requests.count == 1)
    }

    @Test("Works without lock files for client credentials, and sends no refresh token")
    func noLockFiles() async throws {
        try await withTemporaryDirectory { parent in
            let directory = parent.appending(path: "tokens")
            let fixture = OAuth2Fixture()
            let files = try FileTokenStore(directory: directory, timeSource: fixture.time.timeSource)
            try FileManager.default.removeItem(at: directory)
            #expect(try await fixture.authenticator(store: files).text() == "access-1")
            let user = fixture.authenticator(grant: grant, store: files)
            #expect(await failureCode { try await user.text() } == .storeFailed)
            #expect(fixture.endpoint.requests.count == 1)
        }
    }

    @Test("Reports a store that hangs before the request as unavailable")
    func enterHangs() async throws {
        let fixture = OAuth2Fixture()
        let store = HangingStore()
        let authenticator = fixture.authenticator(grant: grant, store: store)
        let call = Task { try await authenticator.text() }
        try await store.lock.waitForWaiters(count: 1)
        try await fixture.time.waitForSleepers(count: 1)
        fixture.time.advance(by: .seconds(30))
        let error = await failure { try await call.value }
        #expect(error?.code == .storeUnavailable)
        #expect(error?.isRetryable == false)
        #expect(fixture.endpoint.requests.isEmpty)
    }

    @Test("Treats a stored token from the future as expired, because the clock was set back", .shows("S16"))
    func clockSetBack() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let shared = InMemoryTokenStore()
        #expect(try await fixture.authenticator(grant: grant, store: shared).text() == "a1")
        let date = fixture.time.date
        // Another process finds it while the clock is correct.
        #expect(try await fixture.authenticator(grant: grant, store: shared).text() == "a1")
        fixture.time.setDate(date.addingTimeInterval(-86_400))
        #expect(try await fixture.authenticator(grant: grant, store: shared).text() == "a2")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
        #expect(try await fixture.authenticator(grant: grant, store: shared).text() == "a2")
    }

    @Test("Prefers a newer record from another process")
    func conflict() async throws {
        let fixture = OAuth2Fixture(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let shared = InMemoryTokenStore()
        let intruding = IntrudingStore(store: shared)
        let authenticator = fixture.authenticator(grant: grant, store: intruding)
        #expect(try await authenticator.text() == "a1")
        fixture.time.advance(by: .seconds(7200))
        #expect(try await authenticator.text() == "a2")
        #expect(fixture.forms.map { $0["refresh_token"] } == ["refresh-0", "another's"])
    }
}

/// A store that reports the keys of its writes.
private final class LeavingStore: TokenStoreWrapper {
    let store: InMemoryTokenStore
    private let action = Mutex<@Sendable (String) -> Void>({ _ in })

    init(store: InMemoryTokenStore) { self.store = store }

    func onWrite(_ action: @escaping @Sendable (String) -> Void) { self.action.withLock { $0 = action } }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) -> TokenRecordVersion? {
        action.withLock { $0 }(key)
        return store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
    }
}

/// A store that can be written but not read back, once its gate is open.
private final class FailingReload: TokenStoreWrapper {
    let failsAfterWrite = ResponseGate()
    let store: ProbedTokenStore

    init(store: ProbedTokenStore) { self.store = store }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        let fails = failsAfterWrite.isOpen
        let isWritten = try await store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
        if fails {
            failsAfterWrite.close()
            store.fail(.load)
        }
        return isWritten
    }
}

/// A store in which another process ignores the lock and writes first, once.
private final class IntrudingStore: TokenStoreWrapper {
    let store: InMemoryTokenStore
    private let hasIntruded = ResponseGate()

    init(store: InMemoryTokenStore) { self.store = store }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) -> TokenRecordVersion? {
        if !hasIntruded.isOpen, record.refreshAttempt == nil {
            hasIntruded.open()
            let another = TokenRecord(
                accessToken: Secret("another's access"),
                expiration: Date(timeIntervalSince1970: 1_000_003_600),
                refreshToken: Secret("another's")
            )
            _ = store.compareAndSwap(key, expectedVersion: store.load(key)?.version, record: another)
        }
        return store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
    }
}

/// A store whose lock is never available.
private struct HangingStore: TokenStore {
    let lock = ResponseGate()

    func load(_ key: String) async throws -> VersionedTokenRecord? { nil }

    func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? { TokenRecordVersion("1") }

    func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool { true }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await lock.wait()
        return try await body()
    }
}
