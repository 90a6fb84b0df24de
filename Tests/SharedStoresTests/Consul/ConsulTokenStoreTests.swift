import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

@testable import SharedStores

@Suite("ConsulTokenStore", .limitedConcurrency, .tags(.concurrency))
struct ConsulTokenStoreTests {
    @Test("Sends each write with its index and each read consistently, and no token in the clear")
    func requests() async throws {
        let consul = ConsulDouble()
        let store = try consul.store(token: .secret(Secret("an-ACL-token")), prefix: "apps/reports/")
        let first = try #require(
            try await store.compareAndSwap("the grant of ada", expectedVersion: nil, record: .sample)
        )
        let second = try #require(
            try await store.compareAndSwap("the grant of ada", expectedVersion: first, record: .sample)
        )
        #expect(try await store.load("the grant of ada")?.version == second)
        #expect(try await store.remove("the grant of ada", ifVersion: second))
        #expect(consul.requests.map(\.method) == [.put, .get, .put, .get, .get, .get, .delete])
        #expect(
            consul.queries == [
                "cas=0", "consistent", "cas=\(first)", "consistent", "consistent", "consistent", "cas=\(second)",
            ]
        )
        let names = Set(consul.requests.map(\.url.path))
        #expect(names.count == 1 && names.first?.wholeMatch(of: /\/v1\/kv\/apps\/reports\/[0-9a-f]{32}/) != nil)
        for request in consul.requests {
            #expect(request.headers["X-Consul-Token"] == "an-ACL-token")
            let body = String(decoding: request.body, as: UTF8.self)
            for text in ["an access token", "a refresh token", "the grant of ada"] { #expect(!body.contains(text)) }
        }
    }

    @Test("Opens records of its key only, and lets a sign-in replace foreign and damaged ones", .shows("L15"))
    func foreignRecords() async throws {
        let consul = ConsulDouble()
        let store = try consul.store()
        _ = try await store.write()
        let damages: [(inout Data) -> Void] = [
            { $0[$0.count / 2] ^= 1 }, { $0 = Data() }, { $0 = Data("{}".utf8) }, { $0 = Data("key: value".utf8) },
            { $0 = $0.dropLast(5) },
        ]
        for damage in damages {
            consul.change(damage)
            #expect(await store.loadCode() == .storeDamaged)
            #expect(try await store.write() != nil)
            #expect(try await store.load("k")?.record == .sample)
            #expect(try await store.write() == nil)
        }
        consul.change { $0 = Data(#"{"format":"swift-authenticated-client/token","version":3}"#.utf8) }
        #expect(await store.loadCode() == .storeTooNew)
        #expect(await store.writeCode() == .storeTooNew)
    }

    // MARK: Changes

    @Test("Waits with a blocking query on the index of the record, and ends with its change")
    func blocking() async throws {
        let consul = ConsulDouble()
        let (store, other) = (try consul.store(), try consul.store())
        let first = try #require(try await store.write())
        let count = consul.requests.count
        async let waiting: Void = store.waitForChange(
            of: "k",
            after: first,
            timeout: .seconds(600),
            timeSource: .system
        )
        #expect(try await eventually { consul.queries.last??.contains("index=") ?? false })
        #expect(try await other.write(over: first) != nil)
        try await waiting
        let queries = consul.queries.dropFirst(count)
        #expect(queries.first == "consistent")
        // The longest query is a minute, less what Consul adds.
        #expect(queries.dropFirst().first == "consistent&index=\(first)&wait=56250ms")
    }

    @Test("Waits for the first record on the index of the answer without one")
    func absent() async throws {
        let consul = ConsulDouble()
        let (store, other) = (try consul.store(), try consul.store())
        async let waiting: Void = store.waitForChange(of: "k", after: nil, timeout: .seconds(600), timeSource: .system)
        #expect(try await eventually { consul.queries.count == 2 })
        #expect(consul.queries.last == "consistent&index=10&wait=56250ms")
        #expect(try await other.write() != nil)
        try await waiting
    }

    @Test("Notices a restored record at once, although its index is lower")
    func restored() async throws {
        let consul = ConsulDouble()
        let store = try consul.store()
        let first = try await store.write()
        consul.restore(to: 4)
        let count = consul.requests.count
        try await store.waitForChange(of: "k", after: first, timeout: .seconds(600), timeSource: .system)
        #expect(Array(consul.queries.dropFirst(count)) == ["consistent"])
    }

    @Test("Drops an index that goes backwards, and asks without one")
    func backwards() async throws {
        let consul = ConsulDouble()
        let store = try consul.store()
        consul.service.fail { [weak consul] _ in
            let count = consul?.requests.count ?? 4
            let index = [9, 8, 8, 8][min(count, 4) - 1]
            let version = count < 4 ? 4 : 5
            return .entries(#"[{"ModifyIndex":\#(version),"Value":null}]"#, index: String(index))
        }
        let version = TokenRecordVersion("4")
        try await store.waitForChange(of: "k", after: version, timeout: .seconds(600), timeSource: .system)
        #expect(
            consul.queries == [
                "consistent", "consistent&index=9&wait=56250ms", "consistent", "consistent&index=8&wait=56250ms",
            ]
        )
    }

    @Test(
        "Polls after a bounded number of queries that end early, or without a usable index",
        arguments: [("7", 9), ("0", 1), ("-1", 1), ("x", 1), (nil, 1)]
    )
    func earlyAnswers(index: String?, queries: Int) async throws {
        let consul = ConsulDouble()
        let store = try consul.store()
        consul.service.fail { _ in .entries(#"[{"ModifyIndex":4,"Value":null}]"#, index: index) }
        let time = ManualTime()
        async let waiting: Void = store.waitForChange(
            of: "k",
            after: TokenRecordVersion("4"),
            timeout: .seconds(10),
            timeSource: time.timeSource
        )
        try await time.waitForSleepers(count: 1)
        #expect(consul.requests.count == queries)
        time.advance(by: .seconds(10))
        try await waiting
    }

    @Test("Polls if a query fails")
    func failedQuery() async throws {
        let consul = ConsulDouble()
        let store = try consul.store()
        let first = try await store.write()
        _ = try await store.write(over: first)
        let count = consul.requests.count
        consul.service.fail { [weak consul] _ in
            if consul?.requests.count == count + 1 { throw NetworkError(.connectionLost, "cut") }
            return nil
        }
        try await store.waitForChange(of: "k", after: first, timeout: .seconds(60), timeSource: .system)
        #expect(consul.requests.count == count + 2)
    }

    // MARK: Faults

    @Test(
        "Takes the 404 of a cluster that has no leader for an unknown outcome, not for an absent record",
        .shows("L16")
    )
    func noLeader() async throws {
        let consul = ConsulDouble()
        consul.service.fail { _ in HTTPTransportResponse(status: 404, headers: ["X-Consul-KnownLeader": "false"]) }
        #expect(try await consul.store().loadCode() == .storeUnavailable)
    }

    @Test("A write that Consul acknowledges and forgets is an unknown outcome")
    func forgotten() async throws {
        let consul = ConsulDouble()
        let store = try consul.store()
        consul.service.fail { $0.method == .put ? .text("true") : nil }
        #expect(await store.writeCode() == .storeUnavailable)
        #expect(consul.requests.map(\.method) == [.put, .get])
    }
}

extension HTTPTransportResponse {
    fileprivate static func entries(_ text: String, index: String?) -> Self {
        Self(status: 200, headers: index.map { ["X-Consul-Index": $0] } ?? [:], body: Data(text.utf8))
    }
}

/// A double of Consul's key-value store, with the answers that its documentation describes.
final class ConsulDouble: Sendable {
    private struct State {
        var index: UInt64 = 10
        var entries: [String: (value: Data, index: UInt64)] = [:]
    }

    let service = ServiceDouble()
    private let state = Mutex(State())

    var requests: [MockTransport.RecordedRequest] { service.requests }
    /// The queries of the requests so far, in order.
    var queries: [String?] { service.requests.map(\.url.query) }

    /// Changes all values, as a foreign program would.
    func change(_ change: (inout Data) -> Void) {
        state.withLock { state in
            for key in state.entries.keys {
                state.index += 1
                var value = state.entries[key]?.value ?? Data()
                change(&value)
                state.entries[key] = (value, state.index)
            }
        }
    }

    /// Gives all entries a lower index, as a restoration does.
    func restore(to index: UInt64) {
        state.withLock { state in
            state.index = index
            for key in state.entries.keys { state.entries[key]?.index = index }
        }
    }

    func store(
        _ url: String = "http://127.0.0.1:8500",
        token: StoreCredential? = nil,
        prefix: String = "tokens/",
        time: TimeSource = .system
    ) throws -> ConsulTokenStore {
        let transport = service.transport(time) { [self] request in try await answer(request) }
        let agent = try ConsulAgent(URL(string: url)!, token: token, transport: transport, timeSource: time)
        return try ConsulTokenStore(agent, prefix: prefix, keys: RecordKeys(sealing: ServiceDouble.key))
    }

    private func answer(_ request: HTTPRequest) async throws -> HTTPTransportResponse {
        let items = URLComponents(url: request.url, resolvingAgainstBaseURL: false)?.queryItems ?? []
        let value = { (name: String) in items.first { $0.name == name }?.value }
        let path = request.url.path
        if request.method == .get {
            // A blocking query answers when the index is above the given one, or after the time.
            let wait = value("wait").flatMap { Int($0.dropLast(2)) } ?? 0
            for _ in 0..<(wait / 5) {
                guard let index = value("index").flatMap(UInt64.init), index > 0,
                    state.withLock({ Self.index($0, path) }) <= index
                else { break }
                try await Task.sleep(for: .milliseconds(5))
            }
            return state.withLock { Self.entry($0, path) }
        }
        let body = request.bodyData() ?? Data()
        guard body.count <= 512 << 10 else { return .text("Request body too large", status: 413) }
        return state.withLock { state in
            let found = state.entries[path]
            if let expected = value("cas") {
                // A removal of an absent key succeeds.
                if request.method == .delete, found == nil { return .text("true\n") }
                guard expected == String(found?.index ?? 0) else { return .text("false\n") }
            }
            state.index += 1
            state.entries[path] = request.method == .put ? (body, state.index) : nil
            return .text("true\n")
        }
    }

    private static func index(_ state: State, _ path: String) -> UInt64 { state.entries[path]?.index ?? state.index }

    private static func entry(_ state: State, _ path: String) -> HTTPTransportResponse {
        let headers: HTTPHeaders = ["X-Consul-Index": String(index(state, path)), "X-Consul-KnownLeader": "true"]
        guard let found = state.entries[path] else { return HTTPTransportResponse(status: 404, headers: headers) }
        let value = found.value.base64EncodedString()
        let key = path.dropFirst("/v1/kv/".count)
        let json =
            #"[{"LockIndex":0,"Key":"\#(key)","Flags":0,"Value":"\#(value)","#
            + #""CreateIndex":1,"ModifyIndex":\#(found.index)}]"#
        return HTTPTransportResponse(status: 200, headers: headers, body: Data(json.utf8))
    }
}
