import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

/// Tests of a store that fails or is slow while the server answers.
@Suite("Stores that fail while the server answers", .limitedConcurrency)
struct StoreOutageTests {
    private static let another = RefreshAttempt(id: "another", host: "b:1")

    /// Creates hosts, of which the first loses its store when it announces its refresh, and whose
    /// server rejects the refresh token.
    private func hosts(isLost: Bool) -> SharedGrantFixture {
        let hosts = SharedGrantFixture([.error("invalid_grant")])
        hosts.write {
            $0.expiration = Date(timeIntervalSince1970: 0)
            $0.refreshAttempt = isLost ? Self.another : nil
        }
        let store = hosts.stores[0]
        store.beforeNextWrite { _ in store.setOut(true) }
        return hosts
    }

    @Test(
        "An end that the store couldn't record is known at once, and recorded later",
        .shows("S18"),
        arguments: [true, false]
    )
    func lateEnd(isLost: Bool) async throws {
        let hosts = hosts(isLost: isLost)
        for _ in 1...2 {
            let error = await hosts.code(on: 0)
            #expect(error?.code == .reauthenticationRequired)
            #expect(error?.isPossiblyLostRotation == isLost)
        }
        hosts.stores[0].setOut(false)
        while hosts.record?.end == nil {
            hosts.time.advanceToNextSleeper(within: .seconds(1))
            await Task.yield()
        }
        #expect(hosts.record?.end == (isLost ? .lost : .revoked))
        for host in [0, 1] {
            let error = await hosts.code(on: host)
            #expect(error?.code == .reauthenticationRequired)
            #expect(error?.isPossiblyLostRotation == isLost)
        }
        #expect(hosts.sent.count == 1)
        await hosts.fixture.runOut()
    }

    @Test("A host whose end isn't recorded still tells a lost answer from a revoked grant", arguments: [true, false])
    func rememberedEnd(isLost: Bool) async throws {
        let hosts = hosts(isLost: isLost)
        #expect(await hosts.code(on: 0)?.code == .reauthenticationRequired)
        // The other host sends the token itself, and learns of the end by itself.
        hosts.write { $0.refreshAttempt = RefreshAttempt(id: "third", host: "c:1") }
        for isOut in [true, false, false] {
            hosts.stores[0].setOut(isOut)
            let error = await hosts.code(on: 0)
            #expect(error?.code == .reauthenticationRequired)
            #expect(error?.isPossiblyLostRotation == isLost)
        }
        #expect(hosts.record?.refreshAttempt?.id == "third")
        #expect(hosts.record?.end == nil)
        #expect(hosts.sent.count == 1)
        await hosts.fixture.runOut()
    }

    @Test("An end that isn't recorded yet doesn't replace the tokens of a sign-in elsewhere")
    func signedInElsewhere() async throws {
        let hosts = hosts(isLost: false)
        #expect(await hosts.code(on: 0)?.code == .reauthenticationRequired)
        hosts.write { $0 = TokenRecord(accessToken: Secret("new"), refreshToken: Secret("n0"), epoch: "new") }
        hosts.stores[0].setOut(false)
        await hosts.fixture.runOut()
        #expect(try await hosts.token(on: 0) == "new")
        #expect(hosts.record?.end == nil)
    }

    @Test("A caller that waits for another's request learns that the server hangs, not the store")
    func serverHangs() async throws {
        let fixture = OAuth2Fixture(steps: [.never])
        let source = GrantTokenSource(
            client: OAuth2Client(
                server: OAuth2Fixture.server,
                clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                client: NetworkClient(transport: fixture.endpoint, options: .init(timeSource: fixture.time.timeSource)),
                timing: .init(attempts: 1, timeSource: fixture.time.timeSource)
            ),
            grant: RefreshTokenGrant(refreshToken: Secret("r0")),
            store: InMemoryTokenStore(timeSource: fixture.time.timeSource)
        )
        let first = Task { try await source.token() }
        while fixture.endpoint.requests.isEmpty { await Task.yield() }
        #expect(
            await failureCode { try await source.token(for: .init(deadline: fixture.time.now)) } == .serverUnreachable
        )
        let result = await fixture.runOut(first)
        #expect(await failureCode { try result.get() } == .serverUnreachable)
        #expect(fixture.endpoint.requests.count == 1)
    }

    @Test("A token that expired while it was stored isn't handed out, and its successor is")
    func expiredInStore() async throws {
        let hosts = SharedGrantFixture([
            .tokens("a1", refresh: "r1", lifetime: 5), .tokens("a2", refresh: "r2", lifetime: 60),
        ])
        delaySaving(of: "a1", in: hosts.stores[0], hosts.time)
        #expect(try await hosts.token(on: 0) == "a2")
        #expect(hosts.sent == ["r0", "r1"])
        #expect(hosts.record?.refreshToken == Secret("r2"))
    }

    @Test("A store that always takes longer than tokens are valid is named in the error")
    func alwaysExpired() async throws {
        for grant in [RefreshTokenGrant(refreshToken: Secret("r0")), ClientCredentialsGrant()] as [any Grant] {
            let hosts = SharedGrantFixture((1...3).map { .tokens("a\($0)", lifetime: 5) }, grant: grant)
            delaySaving(of: nil, in: hosts.stores[0], hosts.time)
            let error = await hosts.code(on: 0)
            #expect(error?.code == .storeUnavailable)
            #expect(hosts.fixture.endpoint.requests.count == 3)
        }
    }

    @Test("A token that the server issues without a lifetime left is handed out")
    func noLifetime() async throws {
        let hosts = SharedGrantFixture([.tokens("a1", refresh: "r1", lifetime: 0)])
        #expect(try await hosts.token(on: 0) == "a1")
    }

    @Test("A persisted source asks again for a token that expired while it was stored")
    func expiredInPersistedSource() async throws {
        let hosts = SharedGrantFixture([])
        let count = Mutex(0)
        let source = ClosureTokenSource { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            return AccessToken(
                value: Secret("a\(number)"),
                expiry: hosts.time.now + .seconds(5),
                requested: hosts.time.now
            )
        }
        .persisted(in: hosts.stores[0], key: "k", timeSource: hosts.time.timeSource)
        delaySaving(of: "a1", in: hosts.stores[0], hosts.time)
        #expect(try await source.token().value == Secret("a2"))
    }

    /// Makes six seconds pass while a token is stored, or while any is.
    private func delaySaving(of access: String?, in store: HostStore, _ time: ManualTime) {
        store.beforeNextWrite { [weak store] record in
            if record.refreshAttempt == nil, access == nil || record.accessToken == access.map(Secret.init) {
                time.advance(by: .seconds(6))
            }
            if let store { delaySaving(of: access, in: store, time) }
        }
    }
}
