import Foundation
import MockNetworking
import Networking
import OAuth2
import SharedStores
import Testing
import WebSignIn

/// Tests against the cluster that `Tests/Interop/servers` has started: three members with TLS, a
/// user of `/tokens/` and `/sessions/`, and the leader first.
@Suite(
    "etcd with TLS and users",
    .serialized,
    .enabled(if: Interop.variable("INTEROP_ETCD") != nil, Interop.serversHint),
    .timeLimit(.minutes(20))
)
struct EtcdClusterTests {
    @Test("The store conforms for a user of its prefix, at different members")
    func conformance() async throws {
        try await TokenStoreConformance {
            let prefix = "/tokens/\(UUID().uuidString)/"
            return (try connect(members: [0], prefix: prefix), try connect(members: [1, 2], prefix: prefix))
        }
        .check()
    }

    @Test("Rejects another password, and a prefix that the user's role doesn't have")
    func users() async throws {
        let stranger = try connect(members: [0, 1, 2], password: "another")
        var error = await #expect(throws: OAuth2Error.self) { try await stranger.load("k") }
        #expect(error?.code == .storeFailed)
        let other = try connect(members: [0, 1, 2], prefix: "/others/")
        error = await #expect(throws: OAuth2Error.self) { try await other.load("k") }
        #expect(error?.code == .storeFailed)
        error = await #expect(throws: OAuth2Error.self) {
            try await other.compareAndSwap("k", expectedVersion: nil, record: record("1"))
        }
        #expect(error?.code == .storeFailed)
    }

    @Test("Hosts at different members share sessions: one writer wins, a removal counts at once, and values expire")
    func sessions() async throws {
        let prefix = "/sessions/\(UUID().uuidString)/"
        let first = EtcdSessions(try cluster(members: [0]), prefix: prefix)
        let second = EtcdSessions(try cluster(members: [1, 2]), prefix: prefix)
        let hour = Duration.seconds(3_600)
        #expect(first.isSharedByHosts)
        #expect(try await second.read("k") == nil)

        let created = try #require(try await first.write("1 é", for: "k", replacing: nil, lifetime: hour))
        #expect(try await second.read("k") == StoredSessionValue(value: "1 é", version: created))
        #expect(try await second.write("2", for: "k", replacing: nil, lifetime: hour) == nil)
        let replaced = try #require(try await second.write("2", for: "k", replacing: created, lifetime: hour))
        #expect(try await first.write("3", for: "k", replacing: created, lifetime: hour) == nil)
        #expect(try await first.read("k") == StoredSessionValue(value: "2", version: replaced))

        try await second.remove("k")
        try await second.remove("k")
        #expect(try await first.read("k") == nil)
        #expect(try await first.write("4", for: "k", replacing: replaced, lifetime: hour) == nil)

        _ = try #require(try await first.write("5", for: "short", replacing: nil, lifetime: .seconds(1)))
        var expired = false
        for _ in 1...120 where !expired {
            expired = try await second.read("short") == nil
            if !expired { try await Task.sleep(for: .milliseconds(500)) }
        }
        #expect(expired)
    }

    @Test("Rejects sessions below a prefix that the user's role doesn't have")
    func sessionsOfOthers() async throws {
        let others = EtcdSessions(try cluster(members: [0]), prefix: "/others/")
        var error = await #expect(throws: OAuth2Error.self) { try await others.read("k") }
        #expect(error?.code == .storeFailed)
        error = await #expect(throws: OAuth2Error.self) {
            try await others.write("1", for: "k", replacing: nil, lifetime: .seconds(60))
        }
        #expect(error?.code == .storeFailed)
    }

    @Test("Rejects a cluster whose certificates are under another root")
    func roots() async throws {
        let store = try connect(members: [0, 1, 2], roots: "INTEROP_ETCD_OTHER_ROOTS")
        let error = await #expect(throws: OAuth2Error.self) { try await store.load("k") }
        #expect(error?.code == .storeUnavailable)
    }

    /// Runs last, because it leaves two members.
    @Test("Logs in at the next member after the leader was killed, and keeps the record")
    func failover() async throws {
        let store = try connect(members: [0])
        let survivor = try connect(members: [0, 1, 2])
        let first = try #require(try await store.compareAndSwap("k", expectedVersion: nil, record: record("1")))
        #expect(kill(try #require(Int32(try Interop.required("INTEROP_ETCD_LEADER"))), SIGKILL) == 0)
        // The election takes a second or two.
        var found: VersionedTokenRecord?
        for _ in 1...20 where found == nil {
            do {
                found = try await survivor.load("k")
            } catch let error as OAuth2Error where error.code == .storeUnavailable {
                try await Task.sleep(for: .milliseconds(500))
            }
        }
        #expect(found?.version == first)
        #expect(found?.record == record("1"))
        let second = try await survivor.compareAndSwap("k", expectedVersion: first, record: record("2"))
        #expect(second != nil)
        #expect(try await survivor.compareAndSwap("k", expectedVersion: first, record: record("3")) == nil)
        let error = await #expect(throws: OAuth2Error.self) { try await store.load("k") }
        #expect(error?.code == .storeUnavailable)
    }

    private func record(_ token: String) -> TokenRecord { Interop.record(accessToken: token) }

    private func connect(
        members: [Int],
        prefix: String = "/tokens/",
        password: String = "reports-password",
        roots: String = "INTEROP_ETCD_ROOTS"
    ) throws -> EtcdTokenStore {
        let cluster = try cluster(members: members, password: password, roots: roots)
        let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")
        return EtcdTokenStore(cluster, prefix: prefix, keys: try RecordKeys(sealing: key))
    }

    private func cluster(
        members: [Int],
        password: String = "reports-password",
        roots: String = "INTEROP_ETCD_ROOTS"
    ) throws -> EtcdCluster {
        let urls = try Interop.required("INTEROP_ETCD").split(separator: ",").map(String.init)
        var configuration = CurlTransport.Configuration()
        configuration.tls = TLSConfiguration(trustRoots: try .file(Interop.required(roots)))
        return try EtcdCluster(
            endpoints: try members.map { try #require(URL(string: urls[$0])) },
            user: "reports",
            password: Secret(password),
            transport: try CurlTransport(configuration: configuration)
        )
    }
}
