import Foundation
import MockNetworking
import OAuth2
import SharedStores
import TestSupport
import Testing
import TokenGeneration

/// The tests change which node of the cluster is active.
@Suite(
    "Token stores in OpenBao",
    .enabled(if: Interop.isPrepared, Interop.hint),
    .timeLimit(.minutes(20)),
    .serialized,
    .limitedConcurrency
)
struct OpenBaoStoreTests {
    private static func record(_ name: String) -> TokenRecord {
        Interop.record(accessToken: "access-\(name)", refreshToken: "refresh-\(name)")
    }

    private static func newPath() -> String { "tokens/\(UUID().uuidString)" }

    @Test("Conforms at a single node, with the documented policy", .shows("O27"))
    func singleNode() async throws {
        let bao = try OpenBao.single
        let token = try await bao.storeToken()
        try await TokenStoreConformance {
            let path = Self.newPath()
            return (try bao.server(at: 0, token).store(path: path), try bao.server(at: 0, token).store(path: path))
        }
        .check()
    }

    /// The node of the cluster that hosts send their requests to.
    enum Host: CaseIterable {
        case atActiveNode, atStandbyForwardingReads, atStandbyReadingActiveNode
    }

    @Test("Conforms at three nodes", .shows("O27"), arguments: Host.allCases)
    func threeNodes(host: Host) async throws {
        let bao = try OpenBao.cluster
        let token = try await bao.storeToken()
        let roles = try await bao.roles()
        try await TokenStoreConformance {
            let path = Self.newPath()
            switch host {
            case .atActiveNode:
                let first = try bao.server(at: roles.active, token).store(path: path)
                return (first, try bao.server(at: roles.active, token).store(path: path))
            case .atStandbyForwardingReads:
                let first = try bao.server(at: 2, token).store(path: path)
                return (first, try bao.server(at: 2, token).store(path: path))
            case .atStandbyReadingActiveNode:
                // A process can't know what another has written.
                let server = try bao.server(at: roles.standby, token, readsActiveNode: true)
                return (try server.store(path: path), try server.store(path: path))
            }
        }
        .check()
    }

    @Test("Reads its own writes at a standby with readsActiveNode, and old records without")
    func readsAtStandby() async throws {
        let bao = try OpenBao.cluster
        let token = try await bao.storeToken()
        let standby = try await bao.roles().standby
        /// Writes and reads until a read doesn't return what was written.
        func oldReads(readsActiveNode: Bool) async throws -> Int? {
            let store = try bao.server(at: standby, token, readsActiveNode: readsActiveNode).store(path: Self.newPath())
            var version: TokenRecordVersion?
            for number in 1...30 {
                let record = Self.record("\(number)")
                let written = try #require(
                    try await store.compareAndSwap("k", expectedVersion: version, record: record)
                )
                version = written
                do {
                    guard try await store.load("k")?.record == record else { return number }
                } catch let error as OAuth2Error where error.code == .storeDamaged {
                    return number
                }
            }
            return nil
        }
        #expect(try await oldReads(readsActiveNode: true) == nil)
        #expect(try await oldReads(readsActiveNode: false) != nil)
    }

    @Test("A host that lost to another one's write at a standby reads that write")
    func lostWrites() async throws {
        let bao = try OpenBao.cluster
        let token = try await bao.storeToken()
        let standby = try await bao.roles().standby
        let path = Self.newPath()
        let hosts = try (1...2).map { _ in
            try bao.server(at: standby, token, readsActiveNode: true).store(path: path)
        }
        for number in 1...20 {
            let (store, record) = (hosts[number % 2], Self.record("\(number)"))
            var found = try await store.load("k")
            if try await store.compareAndSwap("k", expectedVersion: found?.version, record: record) == nil {
                found = try await store.load("k")
                #expect(found?.record == Self.record("\(number - 1)"))
                let written = try await store.compareAndSwap("k", expectedVersion: found?.version, record: record)
                #expect(written != nil)
            }
        }
    }

    @Test("Survives the end of the active node, and names sealed nodes and a missing leader")
    func sealing() async throws {
        let bao = try OpenBao.cluster
        let token = try await bao.storeToken()
        let (first, _) = try await bao.roles()
        let path = Self.newPath()
        func store(at node: Int) throws -> VaultTokenStore { try bao.server(at: node, token).store(path: path) }
        func message(at node: Int) async throws -> String? {
            do {
                _ = try await store(at: node).load("k")
                return nil
            } catch let error as OAuth2Error where error.code == .storeUnavailable {
                return error.message
            }
        }
        let version = try #require(
            try await store(at: first).compareAndSwap("k", expectedVersion: nil, record: Self.record("1"))
        )

        try await bao.call("PUT", "sys/seal", at: first)
        #expect(try await message(at: first)?.contains("(status 503: sealed)") == true)
        let others = bao.urls.indices.filter { $0 != first }
        let second = try await OpenBao.wait("an election") {
            for node in others where try await bao.call("GET", "sys/leader", at: node)["is_self"] == true {
                return node
            }
            return nil
        }
        let found = try await OpenBao.wait("the start of the active node") { try await store(at: second).load("k") }
        #expect(found.version == version && found.record == Self.record("1"))

        try await bao.call("PUT", "sys/seal", at: second)
        let third = try #require(others.first { $0 != second })
        let text = try await OpenBao.wait("the loss of the leader") {
            // Until the active node steps down, the third one answers, or fails to reach it.
            let text = try await message(at: third)
            return text?.contains("no leader") == true ? text : nil
        }
        #expect(text.contains("(status 500: no leader)"))

        for node in [first, second] { try await bao.call("PUT", "sys/unseal", ["key": .string(bao.key)], at: node) }
        let last = try await store(at: bao.active())
        let again = try await OpenBao.wait("the start of the active node") {
            // A write without an answer may have an effect.
            if let found = try await last.load("k"), found.version != version { return found.version }
            return try await last.compareAndSwap("k", expectedVersion: version, record: Self.record("2"))
        }
        #expect(again != version)
        #expect(try await last.load("k")?.record == Self.record("2"))
    }

    @Test("Keeps one version of each record, and requires a version for each write")
    func oldVersions() async throws {
        let bao = try OpenBao.single
        let path = Self.newPath()
        let store = try bao.server(at: 0, await bao.storeToken()).store(path: path)
        var version: TokenRecordVersion?
        for name in ["1", "2", "3"] {
            version = try await store.compareAndSwap("k", expectedVersion: version, record: Self.record(name))
        }
        let names = try await bao.call("LIST", "secret/metadata/\(path)")["data"]?.object?["keys"]?.array
        let name = try #require(names?.first?.string)
        let metadata = try #require(try await bao.call("GET", "secret/metadata/\(path)/\(name)")["data"]?.object)
        #expect(metadata["versions"]?.object?.count == 1)
        #expect(metadata["cas_required"] == true)
        #expect(try await store.remove("k", ifVersion: #require(version)))
        let removed = try await bao.call("GET", "secret/data/\(path)/\(name)")["data"]?.object
        #expect(removed?["data"] == .object([:]))
    }

    @Test("Names the cause if the token, the mount or the engine's version is wrong", .shows("L20"))
    func mistakes() async throws {
        let bao = try OpenBao.single
        let root = StoreCredential.secret(Secret(bao.token))
        func error(_ token: StoreCredential, mount: String) async -> OAuth2Error? {
            await #expect(throws: OAuth2Error.self) {
                try await bao.server(at: 0, token).store(mount: mount, path: Self.newPath())
                    .compareAndSwap("k", expectedVersion: nil, record: Self.record("1"))
            }
        }
        let wrong = await error(.secret(Secret("s.wrong")), mount: "secret")
        #expect(wrong?.code == .storeFailed && wrong?.message.contains("(status 403: permission denied)") == true)
        let absent = await error(root, mount: "absent")
        #expect(absent?.code == .storeFailed && absent?.message.contains("no secrets engine at the mount") == true)
        try await bao.call("POST", "sys/mounts/old", ["type": "kv", "options": ["version": "1"]])
        let old = await error(root, mount: "old")
        #expect(old?.code == .storeFailed && old?.message.contains("isn't KV version 2") == true)
    }
}
