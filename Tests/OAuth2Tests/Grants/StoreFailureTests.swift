import Foundation
import FoundationNetworking
import MockNetworking
import Networking
import OAuth2
import TestTurns
import Testing

@Suite("Stores that fail", .timeLimit(.minutes(10)), .turns)
struct StoreFailureTests {
    private let grant = RefreshTokenGrant(refreshToken: Secret("refresh-0"))
    private let store = ProbedTokenStore()

    @Test("Tokens that could not be written are used, and written at the next occasion")
    func writeFails() async throws {
        let realm = Realm(steps: [
            .tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2"),
            .tokens("a3", refresh: "refresh-3"),
        ])
        let authenticator = realm.authenticator(grant: grant, store: store)
        _ = try await authenticator.text()
        realm.time.advance(by: .seconds(3600))
        store.fail(.write, .write, .write)
        #expect(try await authenticator.text() == "a2")
        #expect(store.written.map(\.refresh) == ["refresh-1"])
        realm.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a3")
        #expect(store.written.map(\.refresh) == ["refresh-1", "refresh-2", "refresh-3"])
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1", "refresh-2"])
    }

    @Test("Without any store the tokens in memory go on")
    func storeIsGone() async throws {
        let realm = Realm(steps: [
            .tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2"),
            .tokens("a3", refresh: "refresh-3"),
        ])
        let authenticator = realm.authenticator(grant: grant, store: store)
        store.fail(.write, .write, .write)
        #expect(try await authenticator.text() == "a1")
        realm.time.advance(by: .seconds(3600))
        store.fail(.load, .write, .write, .write)
        #expect(try await authenticator.text() == "a2")
        realm.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a3")
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1", "refresh-2"])
        #expect(store.written.map(\.refresh) == ["refresh-2", "refresh-3"])
    }

    @Test("One failure of the store is made up for at once")
    func writeFailsOnce() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1")])
        store.fail(.write)
        _ = try await realm.authenticator(grant: grant, store: store).text()
        #expect(store.written.map(\.refresh) == ["refresh-1"])
    }

    @Test("A write that took effect and failed is not taken for another's")
    func writeThenFail() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let authenticator = realm.authenticator(grant: grant, store: store)
        store.fail(.writeThenFail)
        #expect(try await authenticator.text() == "a1")
        realm.time.advance(by: .seconds(3600))
        #expect(try await authenticator.text() == "a2")
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
        #expect(store.written.map(\.refresh) == ["refresh-1", "refresh-2"])
    }

    @Test("A write whose result could not be read back loses nothing")
    func reloadFails() async throws {
        let realm = Realm(steps: [
            .tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2"),
            .tokens("a3", refresh: "refresh-3"),
        ])
        let reloading = FailingReload(store: store)
        let authenticator = realm.authenticator(grant: grant, store: reloading)
        _ = try await authenticator.text()
        realm.time.advance(by: .seconds(3600))
        store.fail(.write, .write, .write)
        _ = try await authenticator.text()
        realm.time.advance(by: .seconds(3600))
        reloading.failsAfterWrite.open()
        #expect(try await authenticator.text() == "a3")
        #expect(store.written.map(\.refresh) == ["refresh-1", "refresh-2", "refresh-3"])
    }

    @Test("An access token from before a failed write does not come back")
    func oldAccessToken() async throws {
        let realm = Realm(steps: [.tokens("a1"), .tokens("a2"), .tokens("a3")])
        let authenticator = realm.authenticator(grant: grant, store: store)
        let client = realm.client(authenticator)
        for (expected, token) in [("Bearer a1", "a1"), ("Bearer a2", "a2"), ("Bearer a3", "a3")] {
            realm.revoke()
            realm.issue(token)
            store.fail(.write, .write, .write)
            _ = try await client.makeRequest(URLRequest(url: Realm.api))
            #expect(realm.credentials.last == expected)
            realm.time.advance(by: .seconds(1))
        }
        #expect(realm.credentials == ["Bearer a1", "Bearer a1", "Bearer a2", "Bearer a2", "Bearer a3"])
    }

    @Test("A store that can't be read fails the caller, who may come again")
    func loadFails() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1")])
        let authenticator = realm.authenticator(grant: grant, store: store)
        store.fail(.load)
        #expect(await failureCode { _ = try await authenticator.text() } == .storeFailed)
        #expect(realm.endpoint.requests.isEmpty)
        #expect(try await authenticator.text() == "a1")
    }

    @Test("A store that gives no exclusive access fails the caller: no refresh without it")
    func enterFails() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1")])
        let authenticator = realm.authenticator(grant: grant, store: store)
        store.fail(.enter)
        let error = await #expect(throws: OAuth2Error.self) { try await authenticator.text() }
        #expect(error?.code == .storeFailed)
        #expect(error?.cause is ProbedTokenStore.Failure)
        #expect(realm.endpoint.requests.isEmpty)
    }

    @Test("A store that hangs costs the time of one flight, not the tokens")
    func writeHangs() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let authenticator = realm.authenticator(grant: grant, store: store)
        store.fail(.hang)
        let call = Task { try await authenticator.text() }
        try await realm.endpoint.waitForRequests(count: 1)
        try await realm.time.waitForSleepers(count: 1)
        realm.time.advance(by: .seconds(30))
        #expect(await failureCode { _ = try await call.value } == .serverUnreachable)
        // The cancelled call is tried again, so the token is there for the next flight to find.
        _ = try await authenticator.text()
        realm.time.advance(by: .seconds(3600))
        _ = try await authenticator.text()
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "refresh-1"])
    }

    @Test("What another has written since counts")
    func conflict() async throws {
        let realm = Realm(steps: [.tokens("a1", refresh: "refresh-1"), .tokens("a2", refresh: "refresh-2")])
        let shared = InMemoryTokenStore()
        let intruding = IntrudingStore(store: shared)
        let authenticator = realm.authenticator(grant: grant, store: intruding)
        #expect(try await authenticator.text() == "a1")
        realm.time.advance(by: .seconds(7200))
        #expect(try await authenticator.text() == "a2")
        #expect(realm.forms.map { $0["refresh_token"] } == ["refresh-0", "another's"])
    }
}

/// A store that can be written but not read back, once its gate is open.
private final class FailingReload: TokenStore {
    let outlivesProcess = false
    let failsAfterWrite = ResponseGate()
    private let store: ProbedTokenStore

    init(store: ProbedTokenStore) { self.store = store }

    func load(_ key: String) async throws -> VersionedTokenRecord? { try await store.load(key) }

    func compareAndSwap(_ key: String, expectedVersion: Int?, record: TokenRecord) async throws -> Bool {
        let isWritten = try await store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
        if failsAfterWrite.isOpen {
            failsAfterWrite.close()
            store.fail(.load)
        }
        return isWritten
    }

    func remove(_ key: String, ifVersion version: Int) async throws -> Bool {
        try await store.remove(key, ifVersion: version)
    }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await store.withExclusiveAccess(to: key, timeout: timeout, body)
    }
}

/// A store into which somebody who does not keep to the exclusive section writes first, once.
private final class IntrudingStore: TokenStore {
    let outlivesProcess = false
    private let store: InMemoryTokenStore
    private let hasIntruded = ResponseGate()

    init(store: InMemoryTokenStore) { self.store = store }

    func load(_ key: String) -> VersionedTokenRecord? { store.load(key) }

    func compareAndSwap(_ key: String, expectedVersion: Int?, record: TokenRecord) -> Bool {
        if !hasIntruded.isOpen {
            hasIntruded.open()
            let another = TokenRecord(
                accessToken: Secret("another's access"),
                expiration: Date(timeIntervalSince1970: 1_000_003_600),
                refreshToken: Secret("another's")
            )
            _ = store.compareAndSwap(key, expectedVersion: nil, record: another)
        }
        return store.compareAndSwap(key, expectedVersion: expectedVersion, record: record)
    }

    func remove(_ key: String, ifVersion version: Int) -> Bool { store.remove(key, ifVersion: version) }

    func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await store.withExclusiveAccess(to: key, timeout: timeout, body)
    }
}
