import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("VaultTokenStore", .limitedConcurrency, .tags(.concurrency))
struct VaultTokenStoreTests {
    @Test("Sends each write with its version, and no token in the clear", .shows("Y4"))
    func requests() async throws {
        let vault = VaultDouble()
        let store = try vault.store(
            token: .secret(Secret("hvs.a-token")),
            namespace: "teams/reports",
            mount: "kv/apps",
            path: "reports/tokens"
        )
        let first = try #require(
            try await store.compareAndSwap("the grant of ada", expectedVersion: nil, record: .sample)
        )
        let second = try #require(
            try await store.compareAndSwap("the grant of ada", expectedVersion: first, record: .sample)
        )
        #expect(try await store.load("the grant of ada")?.version == second)
        #expect(try await store.remove("the grant of ada", ifVersion: second))
        #expect(
            vault.calls == [
                "POST /v1/kv/apps/metadata/reports/tokens", "POST /v1/kv/apps/data/reports/tokens",
                "POST /v1/kv/apps/data/reports/tokens", "GET /v1/kv/apps/data/reports/tokens",
                "POST /v1/kv/apps/data/reports/tokens",
            ]
        )
        let bodies = try vault.requests.filter { $0.method == .post }.map { try JSONObject(parsing: $0.body) }
        #expect(bodies.first?.serialized() == #"{"cas_required":true,"max_versions":1}"#)
        #expect(bodies.dropFirst().map { $0["options"]?.object?.serialized() } == (0...2).map { #"{"cas":\#($0)}"# })
        #expect(bodies.last?["data"]?.object?.isEmpty == true)
        for request in vault.requests {
            #expect(request.headers["X-Vault-Token"] == "hvs.a-token")
            #expect(request.headers["X-Vault-Namespace"] == "teams/reports")
            #expect(request.headers["X-Vault-Request"] == "true")
            #expect(request.headers["X-Vault-Forward"] == nil)
            #expect(request.url.query == nil)
        }
        for body in bodies.dropFirst().dropLast() {
            let value = try #require(body["data"]?.object?["record"]?.string.flatMap { Data(base64Encoded: $0) })
            let text = String(decoding: value, as: UTF8.self)
            #expect(text.contains("swift-authenticated-client/token"))
            for secret in ["an access token", "a refresh token", "the grant of ada"] { #expect(!text.contains(secret)) }
        }
    }

    @Test("Asks standby nodes to forward requests if it's told to")
    func forwarding() async throws {
        let vault = VaultDouble()
        #expect(try await vault.store(readsActiveNode: true).load("k") == nil)
        #expect(vault.requests.map { $0.headers["X-Vault-Forward"] } == ["active-node"])
        #expect(vault.requests.map { $0.headers["X-Vault-Inconsistent"] } == ["forward-active-node"])
    }

    @Test("Reads what it has written, although a standby node of OpenBao is behind")
    func behind() async throws {
        let vault = VaultDouble(isBehind: true)
        let store = try vault.store(readsActiveNode: true)
        var version = try #require(try await store.write())
        #expect(try await store.load("k")?.version == version)
        for _ in 1...3 {
            version = try #require(try await store.write(over: version))
            #expect(try await store.load("k")?.version == version)
        }
        #expect(try await store.remove("k", ifVersion: version))
        #expect(try await store.load("k") == nil)
    }

    @Test("Reads what another host has written once it has lost to it, although a standby node is behind")
    func behindAnotherHost() async throws {
        let vault = VaultDouble(isBehind: true)
        let (store, other) = (try vault.store(readsActiveNode: true), try vault.store(readsActiveNode: true))
        let first = try #require(try await store.write())
        let second = try #require(try await other.write(over: first))
        #expect(try await store.load("k")?.version == first)
        #expect(try await store.write(over: first) == nil)
        #expect(try await store.load("k")?.version == second)
        let third = try #require(try await other.write(over: second))
        #expect(try await !store.remove("k", ifVersion: second))
        #expect(try await store.load("k")?.version == third)
    }

    @Test("Repeats an index only if it fits into a header field, and none without being told to")
    func index() async throws {
        let vault = VaultDouble()
        let store = try vault.store(readsActiveNode: true)
        for index in ["first", String(repeating: "a", count: 2_000), "a b", "", "sécond", "second"] {
            vault.service.fail { _ in
                HTTPTransportResponse(
                    status: 404,
                    headers: HTTPHeaders([HTTPHeaders.Field(name: "X-Vault-Index", value: index)]),
                    body: Data(#"{"errors":[]}"#.utf8)
                )
            }
            #expect(try await store.load("k") == nil)
        }
        _ = try await store.load("k")
        #expect(
            vault.requests.map { $0.headers["X-Vault-Index"] }
                == [nil, "first", "first", "first", "first", "first", "second"]
        )
        let plain = try vault.store()
        for _ in 1...2 { _ = try await plain.load("k") }
        #expect(vault.requests.suffix(2).allSatisfy { $0.headers["X-Vault-Index"] == nil })
    }

    @Test("Doesn't take the answer to a read for newer than that to a write since")
    func lateRead() {
        let index = SeenIndex()
        index.note("1", ofWrite: false, since: 0)
        let (_, sent) = index.current
        index.note("3", ofWrite: true, since: sent)
        index.note("2", ofWrite: false, since: sent)
        #expect(index.current.text == "3")
        index.note("4", ofWrite: false, since: index.current.count)
        #expect(index.current.text == "4")
    }

    // MARK: Versions

    @Test(
        "Keeps no version but the current one, unless the mount keeps more",
        .shows("L19"),
        arguments: [(0, 1), (1, 1), (3, 3)]
    )
    func oldVersions(maxVersions: Int, kept: Int) async throws {
        let vault = VaultDouble(maxVersions: maxVersions)
        let store = try vault.store()
        var version = try await store.write()
        for _ in 1...5 { version = try await store.write(over: version) }
        #expect(vault.entries.map(\.versions.count) == [kept])
        #expect(vault.entries.allSatisfy { $0.isCASRequired })
        #expect(try await store.remove("k", ifVersion: #require(version)))
        // The empty version pushes the last token out.
        #expect(vault.entries.first?.versions[7]?.data?.isEmpty == true)
        #expect(vault.entries.map(\.versions.count) == [kept])
    }

    @Test("Signs in over a version that was removed, deleted or destroyed, whose number goes on")
    func removed() async throws {
        let removals: [(inout VaultDouble.Entry) -> Void] = [
            { $0.versions[$0.current]?.isDeleted = true }, { $0.versions[$0.current]?.data = nil },
            {
                $0.current += 1
                $0.versions[$0.current] = VaultDouble.Version(data: [:])
            },
        ]
        for removal in removals {
            let vault = VaultDouble()
            let store = try vault.store()
            let first = try #require(try await store.write())
            vault.change(removal)
            #expect(try await store.load("k") == nil)
            let count = vault.requests.count
            let second = try #require(try await store.write())
            #expect(second != first)
            #expect(
                vault.calls.dropFirst(count) == [
                    "POST /v1/secret/metadata/tokens", "POST /v1/secret/data/tokens", "GET /v1/secret/data/tokens",
                    "POST /v1/secret/data/tokens",
                ]
            )
            #expect(try await store.load("k")?.record == .sample)
        }
    }

    @Test("Lets one of two sign-ins over a removed version win")
    func removedRace() async throws {
        let vault = VaultDouble()
        let store = try vault.store()
        let first = try #require(try await store.write())
        let record = vault.entries.first?.versions[1]
        #expect(try await store.remove("k", ifVersion: first))
        // Between the read and the second write, another host writes.
        vault.service.lose { [state = vault] request in
            guard request.method == .get else { return false }
            state.change {
                $0.current += 1
                $0.versions[$0.current] = record
            }
            state.service.lose(nil)
            return false
        }
        #expect(try await store.write() == nil)
    }

    @Test("Reports a standby node that is behind, instead of writing and reading in turns")
    func staleRead() async throws {
        let vault = VaultDouble()
        let store = try vault.store()
        _ = try await store.write()
        let count = vault.requests.count
        vault.service.fail { $0.method == .get ? .vault(404, []) : nil }
        #expect(await store.writeCode() == .storeUnavailable)
        #expect(vault.requests.count == count + 3)
    }

    @Test("Opens records of its key only, and lets a sign-in replace foreign and damaged ones", .shows("L15"))
    func foreignRecords() async throws {
        let vault = VaultDouble()
        let store = try vault.store()
        _ = try await store.write()
        let foreign: [JSONObject] = [
            ["password": "x"], ["record": 5], ["record": "*"], ["record": ""], ["record": "e30="], ["record": .null],
        ]
        for data in foreign {
            vault.change {
                $0.current += 1
                $0.versions[$0.current] = VaultDouble.Version(data: data)
            }
            #expect(await store.loadCode() == .storeDamaged)
            #expect(try await store.write() != nil)
            #expect(try await store.load("k")?.record == .sample)
            #expect(try await store.write() == nil)
        }
    }

    // MARK: Faults

    @Test(
        "Tells an absent secret from an absent mount and from a text that isn't Vault's",
        .shows("L20"),
        arguments: [
            (#"{"errors":[]}"#, nil), (#"{"data":{"data":null,"metadata":{"version":4,"destroyed":true}}}"#, nil),
            (#"{"errors":["no handler for route"]}"#, OAuth2Error.Code.storeFailed),
            ("404 page not found", .storeUnavailable), (#"{"data":null}"#, .storeUnavailable),
        ]
    )
    func notFound(text: String, expected: OAuth2Error.Code?) async throws {
        let vault = VaultDouble()
        vault.service.fail { _ in .json(text, status: 404) }
        let found = await code {
            let record = try await vault.store().load("k")
            #expect(record == nil)
        }
        #expect(found == expected)
    }

    @Test("Writes nothing more to an engine of version 1, which has no conditions", .shows("L16"))
    func firstVersion() async throws {
        let vault = VaultDouble()
        vault.service.fail { $0.method == .get ? .vault(404, []) : HTTPTransportResponse(status: 204) }
        let store = try vault.store()
        #expect(await store.writeCode() == .storeFailed)
        #expect(await code { _ = try await store.remove("k", ifVersion: TokenRecordVersion("1")) } == .storeFailed)
    }

    @Test("Creates no record if its versions can't be limited", .shows("L19"))
    func configuration() async throws {
        let vault = VaultDouble()
        vault.service.fail { $0.url.path.contains("/metadata/") ? .vault(403, ["permission denied"]) : nil }
        #expect(try await vault.store().writeCode() == .storeFailed)
        #expect(vault.entries.isEmpty)
    }

    @Test("Sends a request again that exceeded a quota, after the time that Vault asks for")
    func quota() async throws {
        let vault = VaultDouble()
        let time = ManualTime()
        let store = try vault.store(time: time.timeSource)
        vault.service.fail { [state = vault] _ in
            state.requests.count.isMultiple(of: 2)
                ? nil : HTTPTransportResponse(status: 429, headers: ["Retry-After": "2"])
        }
        async let loaded = store.load("k")
        try await time.waitForSleepers(count: 1)
        time.advance(by: .seconds(2))
        #expect(try await loaded == nil)
        #expect(vault.requests.count == 2)
        // A longer time than that of a request isn't waited for.
        vault.service.fail { _ in HTTPTransportResponse(status: 429, headers: ["Retry-After": "4"]) }
        #expect(await store.loadCode() == .storeUnavailable)
        #expect(vault.requests.count == 3)
    }
}

/// A double of Vault's KV secrets engine of version 2, with the answers that its documentation
/// describes, or of a standby node of OpenBao that hasn't read the last write.
final class VaultDouble: Sendable {
    /// A version that was destroyed has no data.
    struct Version {
        var data: JSONObject?
        var isDeleted = false
    }

    struct Entry {
        var current = 0
        var maxVersions = 0
        var isCASRequired = false
        var versions: [Int: Version] = [:]
    }

    let service = ServiceDouble()
    private let state = Mutex<[String: Entry]>([:])
    /// The number of writes, and what a standby node has read of them.
    private let standby = Mutex<(count: Int, secrets: [String: Entry])>((0, [:]))
    /// The `max_versions` of the mount.
    private let maxVersions: Int
    private let isBehind: Bool

    init(maxVersions: Int = 0, isBehind: Bool = false) {
        self.maxVersions = maxVersions
        self.isBehind = isBehind
    }

    var requests: [MockTransport.RecordedRequest] { service.requests }
    /// The methods and paths of the requests, without the digests.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.url.path.replacing(/\/[0-9a-f]{32}/, with: ""))" }
    }
    /// The secrets, in no order.
    var entries: [Entry] { state.withLock { Array($0.values) } }

    /// Changes all secrets, as another program would.
    func change(_ change: (inout Entry) -> Void) {
        state.withLock { state in
            for path in state.keys {
                var entry = state[path] ?? Entry()
                change(&entry)
                state[path] = entry
            }
        }
    }

    func store(
        _ url: String = "http://127.0.0.1:8200",
        token: StoreCredential? = nil,
        namespace: String? = nil,
        readsActiveNode: Bool = false,
        mount: String = "secret",
        path: String = "tokens",
        time: TimeSource = .system
    ) throws -> VaultTokenStore {
        let transport = service.transport(time) { [self] request in
            isBehind ? answerBehind(request) : answer(request)
        }
        let server = try VaultServer(
            URL(string: url)!,
            token: token,
            namespace: namespace,
            readsActiveNode: readsActiveNode,
            transport: transport,
            timeSource: time
        )
        return try VaultTokenStore(server, mount: mount, path: path, keys: RecordKeys(sealing: ServiceDouble.key))
    }

    /// A write, and a read with the index of the last write, are forwarded to the active node.
    private func answerBehind(_ request: HTTPRequest) -> HTTPTransportResponse {
        let before = state.withLock { $0 }
        var (count, secrets) = standby.withLock { $0 }
        var response = answer(request)
        if request.method == .get {
            let isForwarded =
                request.headers["X-Vault-Inconsistent"] == "forward-active-node"
                && request.headers["X-Vault-Index"] == "index-\(count)"
            if !isForwarded {
                count -= 1
                response = Self.read(secrets[String(request.url.path.dropFirst("/v1/secret/data/".count))])
            }
        } else if response.status < 300 {
            count += 1
            secrets = before
            standby.withLock { $0 = (count, secrets) }
        }
        if response.status < 300 { response.headers["X-Vault-Index"] = "index-\(count)" }
        return response
    }

    private func answer(_ request: HTTPRequest) -> HTTPTransportResponse {
        let path = request.url.path
        guard let match = path.wholeMatch(of: /\/v1\/[a-z\/]*?(data|metadata)\/(.+)/) else {
            return .vault(404, ["no handler for route"])
        }
        let body = (try? JSONObject(parsing: request.bodyData() ?? Data())) ?? [:]
        return state.withLock { state in
            var entry = state[String(match.2)]
            switch (request.method, match.1) {
            case (.get, "data"):
                return Self.read(entry)
            case (.post, "data"):
                var written = entry ?? Entry()
                let response = write(body, &written)
                if response.status == 200 { state[String(match.2)] = written }
                return response
            case (.post, "metadata"):
                entry = entry ?? Entry()
                entry?.maxVersions = body["max_versions"]?.number?.integer ?? 0
                entry?.isCASRequired = body["cas_required"]?.bool ?? false
                state[String(match.2)] = entry
                return HTTPTransportResponse(status: 204)
            default:
                return .vault(405, ["unsupported operation"])
            }
        }
    }

    private static func read(_ entry: Entry?) -> HTTPTransportResponse {
        guard let entry, let version = entry.versions[entry.current] else { return .vault(404, []) }
        let isGone = version.isDeleted || version.data == nil
        let data = isGone ? "null" : version.data?.serialized() ?? ""
        let metadata =
            #"{"version":\#(entry.current),"deletion_time":"\#(version.isDeleted ? "2026-01-01T00:00:00Z" : "")","#
            + #""destroyed":\#(version.data == nil)}"#
        return .json(#"{"data":{"data":\#(data),"metadata":\#(metadata)}}"#, status: isGone ? 404 : 200)
    }

    private func write(_ body: JSONObject, _ entry: inout Entry) -> HTTPTransportResponse {
        guard let data = body["data"]?.object else { return .vault(400, ["no data provided"]) }
        if let cas = body["options"]?.object?["cas"]?.number?.integer {
            guard cas == entry.current else {
                return .vault(400, ["check-and-set parameter did not match the current version"])
            }
        } else if entry.isCASRequired {
            return .vault(400, ["check-and-set parameter required for this call"])
        }
        entry.current += 1
        entry.versions[entry.current] = Version(data: data)
        // The larger limit wins.
        let limit = max(entry.maxVersions, maxVersions)
        let oldest = entry.current - (limit == 0 ? 10 : limit)
        entry.versions = entry.versions.filter { $0.key > oldest }
        return .json(#"{"data":{"version":\#(entry.current),"deletion_time":"","destroyed":false}}"#)
    }
}

extension HTTPTransportResponse {
    static func vault(_ status: Int, _ errors: [String]) -> Self {
        let body: JSONObject = ["errors": .array(errors.map { .string($0) })]
        return .json(body.serialized(), status: status)
    }
}
