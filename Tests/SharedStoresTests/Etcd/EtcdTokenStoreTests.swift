import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("EtcdTokenStore", .limitedConcurrency, .tags(.concurrency))
struct EtcdTokenStoreTests {
    private static let key = Secret("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=")

    @Test("Hosts share the store, whose keys have 256 bits")
    func sharing() throws {
        #expect(try EtcdDouble().store().isSharedByHosts)
        for text in ["", "short"] {
            #expect(throws: OAuth2Error(.storeFailed, "")) { try RecordKeys(sealing: Secret(text)) }
        }
    }

    @Test("Sends conditions in full, because the gateway ignores what it doesn't know")
    func requests() {
        let absent = EtcdRequest.transaction(if: [.absent("k")], then: [.put("k", [1])], otherwise: [.get("k")])
        #expect(
            absent.json.serialized()
                == #"{"compare":[{"create_revision":"0","key":"aw==","result":"EQUAL","target":"CREATE"}],"#
                + #""failure":[{"request_range":{"key":"aw=="}}],"#
                + #""success":[{"request_put":{"key":"aw==","value":"AQ=="}}]}"#
        )
        let swap = EtcdRequest.transaction(if: [.revision("k", 7)], then: [.delete("k")], otherwise: [])
        #expect(
            swap.json.serialized()
                == #"{"compare":[{"key":"aw==","mod_revision":"7","result":"EQUAL","target":"MOD"}],"#
                + #""failure":[],"success":[{"request_delete_range":{"key":"aw=="}}]}"#
        )
        let less = EtcdRequest.transaction(if: [.less("k", than: [1])], then: [.deleteRange("a", "b")], otherwise: [])
        #expect(
            less.json.serialized()
                == #"{"compare":[{"key":"aw==","result":"LESS","target":"VALUE","value":"AQ=="}],"failure":[],"#
                + #""success":[{"request_delete_range":{"key":"YQ==","range_end":"Yg=="}}]}"#
        )
        #expect(
            EtcdRequest.watch("k", from: 8).json.serialized()
                == #"{"create_request":{"key":"aw==","start_revision":"8"}}"#
        )
        #expect(EtcdRequest.range("k").json.serialized() == #"{"key":"aw=="}"#)
    }

    @Test("Keeps tokens and the names of grants from etcd", .shows("L15", "Y4"))
    func sealed() async throws {
        let etcd = EtcdDouble()
        _ = try await etcd.store().compareAndSwap("the grant of ada", expectedVersion: nil, record: .sample)
        var sent = etcd.requests.map { String(decoding: $0.body, as: UTF8.self) }.joined()
        // Keys and values are base64.
        for match in sent.matches(of: /"(?:key|value)":"([A-Za-z0-9+\/]+=*)"/) {
            sent += String(decoding: try #require(Data(base64Encoded: String(match.1))), as: UTF8.self)
        }
        #expect(sent.contains("swift-authenticated-client/token"))
        for text in ["an access token", "a refresh token", "the grant of ada"] {
            #expect(!sent.contains(text) && !sent.contains(Data(text.utf8).base64EncodedString()))
        }
    }

    @Test("Opens records with old keys, seals with the new one, and rejects foreign ones", .shows("L15"))
    func keyRotation() async throws {
        let etcd = EtcdDouble()
        let new = Secret("ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=")
        let first = try await etcd.store().write()
        let rotating = try etcd.store(RecordKeys(sealing: new, alsoOpening: [Self.key]))
        #expect(try await rotating.load("k")?.record == .sample)
        #expect(await code { _ = try await etcd.store(RecordKeys(sealing: new)).load("k") } == .storeDamaged)
        #expect(try await rotating.write(over: first) != nil)
        #expect(try await etcd.store(RecordKeys(sealing: new)).load("k")?.record == .sample)
        #expect(try await etcd.store().loadCode() == .storeDamaged)
        // Only a sign-in, which writes without a version, replaces a record that can't be read.
        #expect(try await etcd.store().write() != nil)
        #expect(try await etcd.store().load("k")?.record == .sample)
    }

    @Test(
        "Names the cause of each error, and doesn't repeat a write whose outcome is unknown",
        arguments: [
            (400, 3, "duplicate key given in txn request", OAuth2Error.Code.storeFailed, 1),
            (400, 3, "user name is empty", .storeFailed, 1),
            (400, 3, "authentication failed, invalid user ID or password", .storeFailed, 1),
            (400, 11, "required revision has been compacted", .storeFailed, 1),
            (401, 16, "invalid auth token", .storeFailed, 1), (403, 7, "permission denied", .storeFailed, 1),
            (404, 5, "requested lease not found", .storeFailed, 1), (412, 9, "lease already exists", .storeFailed, 1),
            (429, 8, "grpc: received message larger than max", .storeFailed, 1),
            (429, 8, "etcdserver: mvcc: database space exceeded", .storeFailed, 1),
            (503, 14, "etcdserver: request timed out", .storeUnavailable, 1),
            (503, 14, "etcdserver: leader changed", .storeUnavailable, 1),
            (503, 14, "etcdserver: no leader", .storeUnavailable, 3),
            (500, 2, "context deadline exceeded", .storeUnavailable, 1),
            // Of a proxy, which has no gRPC code.
            (502, 0, "Bad Gateway", .storeUnavailable, 1), (520, 0, "", .storeUnavailable, 1),
            (408, 0, "", .storeUnavailable, 1), (413, 0, "", .storeFailed, 1), (302, 0, "", .storeFailed, 1),
        ]
    )
    func errors(status: Int, grpc: Int, text: String, expected: OAuth2Error.Code, writes: Int) async throws {
        let etcd = EtcdDouble()
        etcd.service.fail { _ in
            .json(#"{"error":"\#(text)","message":"\#(text)","code":\#(grpc)}"#, status: status)
        }
        let store = try etcd.store()
        let error = await #expect(throws: OAuth2Error.self) { try await store.load("k") }
        #expect(error?.code == expected)
        #expect(error?.message.contains("(status \(status)") == true)
        let reads = etcd.requests.count
        #expect(await store.writeCode() == expected)
        #expect(etcd.requests.count - reads == writes)
    }

    @Test(
        "Takes an answer that isn't etcd's for an unknown outcome",
        arguments: ["", "<html>", "{}", "[]", #"{"header":5}"#, #"{"header":{},"succeeded":true}"#]
    )
    func foreignAnswers(text: String) async throws {
        let etcd = EtcdDouble()
        etcd.service.fail { _ in .text(text) }
        let store = try etcd.store()
        #expect(await store.writeCode() == .storeUnavailable)
        #expect(etcd.requests.count == 1)
    }

    @Test(
        "An entry that can't be read is an error, not an absent record",
        arguments: [
            #"{"header":{"revision":"5"},"kvs":[]}"#, #"{"header":{"revision":"5"},"kvs":[{}]}"#,
            #"{"header":{"revision":"5"},"kvs":[{"mod_revision":"x"}]}"#,
            #"{"header":{"revision":"5"},"kvs":[{"mod_revision":"5","value":"*"}]}"#,
            #"{"header":{"revision":"5"},"kvs":[{"mod_revision":"5"}]}"#,
        ]
    )
    func damagedEntries(text: String) async throws {
        let etcd = EtcdDouble()
        etcd.service.fail { _ in .text(text) }
        let store = try etcd.store()
        let found = await store.loadCode()
        #expect(found == .storeUnavailable || found == .storeDamaged)
    }

    @Test("Goes to another member if one can't be reached, but doesn't repeat a write that was sent")
    func members() async throws {
        let etcd = EtcdDouble()
        let store = try etcd.store(endpoints: ["http://127.0.0.1:1", "http://127.0.0.1:2"])
        etcd.service.fail { request in
            guard request.url.port == 1 else { return nil }
            throw NetworkError(.cannotConnect, "refused", isUnprocessed: true)
        }
        #expect(try await store.write() != nil)
        #expect(try await store.load("k")?.record == .sample)
        etcd.service.fail { request in
            guard request.url.port == 2 else { return nil }
            throw NetworkError(.timedOut, "no response")
        }
        // The first write fails, and the next request goes to the other member.
        let second = try #require(try await store.load("k")).version
        etcd.service.fail { _ in throw NetworkError(.connectionLost, "cut") }
        let count = etcd.requests.count
        #expect(await store.writeCode(over: second) == .storeUnavailable)
        #expect(etcd.requests.count == count + 1)
    }

    @Test("Logs in once per member, and again when a token has expired")
    func login() async throws {
        let etcd = EtcdDouble(password: "s3cret")
        let store = try etcd.store(user: "svc", password: Secret("s3cret"))
        for _ in 1...3 { #expect(try await store.load("k") == nil) }
        #expect(etcd.requests.count { $0.url.path == "/v3/auth/authenticate" } == 1)
        etcd.expireTokens()
        #expect(try await store.load("k") == nil)
        #expect(etcd.requests.count { $0.url.path == "/v3/auth/authenticate" } == 2)
        let wrong = try etcd.store(user: "svc", password: Secret("other"))
        let error = await #expect(throws: OAuth2Error.self) { try await wrong.load("k") }
        #expect(error?.code == .storeFailed)
        #expect("\(String(describing: error))".contains("other") == false)
        #expect(try await etcd.store().loadCode() == .storeFailed)
    }

    @Test("Writes at another member if the login at one has no answer, since the write wasn't sent")
    func silentLogin() async throws {
        let etcd = EtcdDouble(password: "s3cret")
        let store = try etcd.store(
            endpoints: ["http://127.0.0.1:1", "http://127.0.0.1:2"],
            user: "svc",
            password: Secret("s3cret")
        )
        let silent = Mutex<Int?>(nil)
        etcd.service.fail { request in
            // The member that's asked first, which is chosen at random.
            let port = request.url.port
            guard
                silent.withLock({ first in
                    if first == nil { first = port }
                    return first == port
                })
            else { return nil }
            throw NetworkError(.timedOut, "no response")
        }
        #expect(try await store.write() != nil)
        #expect(etcd.requests.map(\.url.path) == ["/v3/auth/authenticate", "/v3/auth/authenticate", "/v3/kv/txn"])
    }

    @Test("Rejects endpoints that aren't confidential or aren't URLs of servers, and half of a login")
    func endpoints() async {
        #expect(
            await code { _ = try EtcdDouble().store(endpoints: ["http://etcd.example:2379"]) } == .insecureTransport
        )
        for endpoint in ["file:///tmp", "http://127.0.0.1?x", "http://u@127.0.0.1"] {
            #expect(await code { _ = try EtcdDouble().store(endpoints: [endpoint]) } == .storeFailed)
        }
        #expect(await code { _ = try EtcdDouble().store(endpoints: []) } == .storeFailed)
        #expect(await code { _ = try RecordKeys(sealing: Secret("short")) } == .storeFailed)
        for (user, password) in [("svc", nil), (nil, Secret("s3cret"))] as [(String?, Secret?)] {
            let error = #expect(throws: OAuth2Error.self) {
                try EtcdDouble().store(user: user, password: password)
            }
            #expect(error?.code == .storeFailed)
            #expect(error?.message == "an etcd login needs both a user and a password")
        }
    }

    @Test("A record of a newer format is left alone, even by a sign-in")
    func newerFormat() async throws {
        let etcd = EtcdDouble()
        let store = try etcd.store()
        _ = try await store.write()
        etcd.change { $0 = Array(#"{"format":"swift-authenticated-client/token","version":3}"#.utf8) }
        #expect(await store.loadCode() == .storeTooNew)
        #expect(await store.writeCode() == .storeTooNew)
    }

    @Test("A watch that ends with its timeout doesn't poll, and one in a cancelled task throws")
    func endedWatch() async throws {
        let etcd = EtcdDouble()
        let store = try etcd.store()
        let version = try await store.write()
        etcd.service.fail { request in
            guard request.url.path == "/v3/watch" else { return nil }
            throw NetworkError(.timedOut, "no change")
        }
        let before = etcd.requests.count
        try await store.waitForChange(of: "k", after: version, timeout: .seconds(30), timeSource: .system)
        #expect(etcd.requests.dropFirst(before).map(\.url.path) == ["/v3/watch"])
        let cancelled = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            try await store.waitForChange(of: "k", after: version, timeout: .seconds(30), timeSource: .system)
        }
        await #expect(throws: CancellationError.self) { try await cancelled.value }
    }

    @Test("A watch ends with a change, and polls if etcd cancels it or the stream ends")
    func watch() async throws {
        let events = #"{"result":{"created":true}}"# + "\n" + #"{"result":{"events":[{"kv":{}}]}}"# + "\n"
        let cancelled = #"{"result":{"created":true,"canceled":true,"cancel_reason":"PermissionDenied"}}"# + "\n"
        let created = #"{"result":{"created":true}}"# + "\n"
        for (text, reads) in [(events, 0), (cancelled, 1), (created, 1), ("", 1), ("<html>", 1), ("{}\n", 1)] {
            let etcd = EtcdDouble()
            let store = try etcd.store()
            let version = try await store.write()
            etcd.service.fail { request in request.url.path == "/v3/watch" ? .text(text) : nil }
            etcd.change { $0 += [0x20] }
            let before = etcd.requests.count
            try await store.waitForChange(of: "k", after: version, timeout: .seconds(30), timeSource: .system)
            #expect(etcd.requests.count - before == 1 + reads, "\(text)")
            let watch = try #require(etcd.requests.dropFirst(before).first)
            #expect(watch.headers["Grpc-Metadata-Hasleader"] == "true")
        }
    }
}

/// A double of etcd's JSON gateway, with the answers that etcd 3.4 gives. It has no watches.
final class EtcdDouble: Sendable {
    private struct State {
        var revision: Int64 = 1
        var entries: [String: (value: [UInt8], revision: Int64)] = [:]
        var tokens: Set<String> = []
        /// The lifetimes of leases in seconds, and the leases of keys.
        var leases: [Int: Int] = [:]
        var leasesOfKeys: [String: Int] = [:]
        var leaseCount = 0
    }

    let service = ServiceDouble()
    private let state = Mutex(State())
    private let password: String?

    init(password: String? = nil) { self.password = password }

    var requests: [MockTransport.RecordedRequest] { service.requests }

    func expireTokens() { state.withLock { $0.tokens = [] } }

    /// Changes all values, as a foreign program would.
    func change(_ change: (inout [UInt8]) -> Void) {
        state.withLock { state in
            for key in state.entries.keys {
                state.revision += 1
                state.entries[key]?.revision = state.revision
                var value = state.entries[key]?.value ?? []
                change(&value)
                state.entries[key]?.value = value
            }
        }
    }

    /// The names of all keys.
    var keys: [String] {
        state.withLock { $0.entries.keys.map { String(decoding: Data(base64Encoded: $0) ?? Data(), as: UTF8.self) } }
            .sorted()
    }

    /// The lifetimes of leases in seconds.
    var leases: [Int: Int] { state.withLock { $0.leases } }

    /// Removes the leases of at most this lifetime, and their keys.
    func expire(after seconds: Int) {
        state.withLock { state in
            for (lease, lifetime) in state.leases where lifetime <= seconds {
                state.leases[lease] = nil
                for (key, own) in state.leasesOfKeys where own == lease { state.entries[key] = nil }
            }
        }
    }

    func store(
        _ keys: RecordKeys? = nil,
        endpoints: [String] = ["http://127.0.0.1:1"],
        user: String? = nil,
        password: Secret? = nil,
        time: TimeSource = .system
    ) throws -> EtcdTokenStore {
        let own = try RecordKeys(sealing: ServiceDouble.key)
        let cluster = try cluster(endpoints: endpoints, user: user, password: password, time: time)
        return EtcdTokenStore(cluster, keys: keys ?? own)
    }

    func cluster(
        endpoints: [String] = ["http://127.0.0.1:1"],
        user: String? = nil,
        password: Secret? = nil,
        time: TimeSource = .system
    ) throws -> EtcdCluster {
        let transport = service.transport(time) { [self] request in try answer(request) }
        return try EtcdCluster(
            endpoints: endpoints.map { URL(string: $0)! },
            user: user,
            password: password,
            transport: transport,
            timeSource: time
        )
    }

    private func answer(_ request: HTTPRequest) throws -> HTTPTransportResponse {
        let body = try JSONObject(parsing: request.bodyData() ?? Data())
        let path = request.url.path
        return state.withLock { state in
            if path == "/v3/auth/authenticate" {
                guard body["password"]?.string == password else {
                    return .gRPC(400, 3, "authentication failed, invalid user ID or password")
                }
                let token = "token.\(state.tokens.count)\(state.revision)"
                state.tokens.insert(token)
                return .json(#"{"header":{},"token":"\#(token)"}"#)
            }
            if password != nil {
                guard let token = request.headers["Authorization"] else { return .gRPC(400, 3, "user name is empty") }
                guard state.tokens.contains(token) else { return .gRPC(401, 16, "invalid auth token") }
            }
            switch path {
            case "/v3/kv/range":
                return .json(#"{"header":{"revision":"\#(state.revision)"}\#(Self.range(body, state))}"#)
            case "/v3/kv/txn":
                return Self.transaction(body, &state)
            case "/v3/lease/grant":
                state.leaseCount += 1
                state.leases[state.leaseCount] = body["TTL"]?.string.flatMap { Int($0) }
                return .json(#"{"header":{},"ID":"\#(state.leaseCount)","TTL":"1"}"#)
            case "/v3/lease/revoke":
                state.leases[body["ID"]?.string.flatMap { Int($0) } ?? 0] = nil
                return .json(#"{"header":{}}"#)
            default:
                return .gRPC(404, 12, "Not Found")
            }
        }
    }

    private static func range(_ body: JSONObject, _ state: State) -> String {
        guard let key = body["key"]?.string, let entry = state.entries[key] else { return "" }
        let value = Data(entry.value).base64EncodedString()
        return #","kvs":[{"key":"\#(key)","mod_revision":"\#(entry.revision)","value":"\#(value)"}],"count":"1""#
    }

    private static func transaction(_ body: JSONObject, _ state: inout State) -> HTTPTransportResponse {
        let holds = (body["compare"]?.array ?? []).allSatisfy { compare in
            guard let compare = compare.object, let key = compare["key"]?.string else { return true }
            let entry = state.entries[key]
            // As in etcd, what is missing compares with zero, and an absent key has no value.
            switch compare["target"]?.string {
            case "MOD": return String(entry?.revision ?? 0) == compare["mod_revision"]?.string ?? "0"
            case "VALUE":
                let value = compare["value"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data()
                return entry.map { $0.value.lexicographicallyPrecedes(value) } ?? false
            default: return (entry == nil) == (compare["create_revision"]?.string ?? "0" == "0")
            }
        }
        guard holds else {
            let ranges = (body["failure"]?.array ?? []).compactMap { $0.object?["request_range"]?.object }
                .map { #"{"response_range":{"header":{}\#(range($0, state))}}"# }
            let responses = ranges.isEmpty ? "" : #","responses":[\#(ranges.joined(separator: ","))]"#
            return .json(#"{"header":{"revision":"\#(state.revision)"}\#(responses)}"#)
        }
        state.revision += 1
        for operation in body["success"]?.array ?? [] {
            if let put = operation.object?["request_put"]?.object, let key = put["key"]?.string {
                let value = put["value"]?.string.flatMap { Data(base64Encoded: $0) } ?? Data()
                state.entries[key] = (Array(value), state.revision)
                state.leasesOfKeys[key] = put["lease"]?.string.flatMap { Int($0) }
            }
            guard let range = operation.object?["request_delete_range"]?.object, let key = range["key"]?.string else {
                continue
            }
            guard let end = range["range_end"]?.string else {
                state.entries[key] = nil
                continue
            }
            let (first, last) = (Data(base64Encoded: key) ?? Data(), Data(base64Encoded: end) ?? Data())
            for name in state.entries.keys {
                let bytes = Data(base64Encoded: name) ?? Data()
                if !bytes.lexicographicallyPrecedes(first), bytes.lexicographicallyPrecedes(last) {
                    state.entries[name] = nil
                }
            }
        }
        return .json(#"{"header":{"revision":"\#(state.revision)"},"succeeded":true}"#)
    }
}

extension HTTPTransportResponse {
    fileprivate static func gRPC(_ status: Int, _ code: Int, _ text: String) -> Self {
        .json(#"{"error":"\#(text)","message":"\#(text)","code":\#(code)}"#, status: status)
    }

    static func text(_ text: String, status: Int = 200) -> Self { Self(status: status, body: Data(text.utf8)) }

    static func json(_ text: String, status: Int = 200) -> Self {
        Self(status: status, headers: ["Content-Type": "application/json"], body: Data(text.utf8))
    }
}
