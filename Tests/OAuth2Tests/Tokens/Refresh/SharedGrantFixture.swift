import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization

/// Hosts that share the grant of one refresh token, and their server.
final class SharedGrantFixture: Sendable {
    let fixture: OAuth2Fixture
    let base: InMemoryTokenStore
    let stores: [HostStore]
    let sources: [GrantTokenSource]

    var time: ManualTime { fixture.time }
    /// The refresh tokens that the server has been sent.
    var sent: [String?] { fixture.forms.filter { $0["grant_type"] == "refresh_token" }.map { $0["refresh_token"] } }
    /// The tokens that the server has been asked to revoke.
    var revoked: [String?] { fixture.forms.filter { $0["token_type_hint"] != nil }.map { $0["token"] } }
    var record: TokenRecord? { base.load("k")?.record }

    init(
        _ steps: [MockTransport.Step],
        rotation: RefreshTokenRotation = .rotating(),
        grant: any Grant = RefreshTokenGrant(refreshToken: Secret("r0"))
    ) {
        let fixture = OAuth2Fixture(steps: steps)
        let base = InMemoryTokenStore(timeSource: fixture.time.timeSource)
        let stores = [HostStore(base), HostStore(base)]
        var server = OAuth2Fixture.server
        server.revocationEndpoint = URL(string: "https://as.example/revoke")
        self.fixture = fixture
        self.base = base
        self.stores = stores
        sources = stores.map { [server] store in
            GrantTokenSource(
                client: OAuth2Client(
                    server: server,
                    clientAuthentication: .clientSecretBasic(clientID: "reports", secret: Secret("s3cret")),
                    client: NetworkClient(
                        transport: fixture.endpoint,
                        options: .init(timeSource: fixture.time.timeSource)
                    ),
                    timing: .init(
                        attempts: 1,
                        rotation: rotation,
                        timeSource: fixture.time.timeSource,
                        random: { 1 }
                    )
                ),
                grant: grant,
                store: store
            )
        }
    }

    /// Writes a record as another host would.
    func write(_ change: (inout TokenRecord) -> Void) {
        let stored = base.load("k")
        var record = stored?.record ?? TokenRecord(accessToken: Secret("old"), refreshToken: Secret("r0"))
        change(&record)
        _ = base.compareAndSwap("k", expectedVersion: stored?.version, record: record)
    }

    /// Gets a token on one host, while time passes.
    func token(on host: Int, _ requirements: TokenRequirements = .init()) async throws -> String {
        let source = sources[host]
        return try await passingTime { try await source.token(for: requirements).value.expose { $0 } }
    }

    func code(on host: Int) async -> OAuth2Error? { await failure { try await token(on: host) } }

    /// Lets the token in the store expire, with another host's announcement.
    func expire(_ attempt: RefreshAttempt?) {
        write {
            $0.expiration = Date(timeIntervalSince1970: 0)
            $0.refreshAttempt = attempt
        }
    }

    /// Does something after the first host's announcement, and before it writes the result.
    func beforeResult(_ action: @escaping @Sendable () -> Void) {
        stores[0].beforeNextWrite { [stores] _ in stores[0].beforeNextWrite { _ in action() } }
    }

    /// Runs an operation, and advances the clock whenever a task pauses.
    ///
    /// The pauses between two looks at the store, or two attempts to write, are under a second. All
    /// longer sleeps are timeouts.
    func passingTime<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await fixture.runOut(Task { try await body() }, within: .seconds(1)).get()
    }
}
