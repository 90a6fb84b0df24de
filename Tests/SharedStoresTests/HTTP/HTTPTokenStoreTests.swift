import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing

@testable import SharedStores

@Suite("HTTPTokenStore", .limitedConcurrency)
struct HTTPTokenStoreTests {
    @Test(
        "Sends each write with its precondition, each read past caches, and no token in the clear",
        .shows("RFC 9110 §13.1.1, §13.1.2, §8.8.1")
    )
    func requests() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store(fields: ["x-ms-version": "2024-11-04"])
        let first = try #require(
            try await store.compareAndSwap("the grant of ada", expectedVersion: nil, record: .sample)
        )
        // Three requests find out that the server evaluates preconditions.
        #expect(server.requests.count == 4)
        _ = try await store.compareAndSwap("the grant of ada", expectedVersion: first, record: .sample)
        _ = try await store.load("the grant of ada")
        let second = try #require(try await store.load("the grant of ada"))
        #expect(try await store.remove("the grant of ada", ifVersion: second.version))
        let sent = server.requests.dropFirst(3)
        #expect(sent.map(\.method) == [.put, .put, .get, .get, .delete])
        #expect(sent.map { $0.headers["If-None-Match"] } == ["*", nil, nil, nil, nil])
        #expect(sent.map { $0.headers["If-Match"] } == [nil, first.description, nil, nil, second.version.description])
        for request in sent {
            #expect(request.headers["x-ms-version"] == "2024-11-04")
            #expect(request.url.path.hasPrefix("/tokens/") && !request.url.path.contains("ada"))
            #expect(!String(decoding: request.body, as: UTF8.self).contains("an access token"))
            if request.method == .get {
                #expect(request.headers["Cache-Control"] == "no-cache")
                #expect(request.headers["Accept-Encoding"] == "identity")
            }
        }
    }

    @Test(
        "Writes nothing to a server that ignores preconditions",
        .shows("L16", "RFC 9110 §13.1.1, §13.1.2, §8.8.1"),
        arguments: [true, false]
    )
    func ignoredPreconditions(ignoresMatch: Bool) async throws {
        let server = HTTPStoreDouble(.init(ignoresMatch: ignoresMatch, ignoresNoneMatch: !ignoresMatch))
        let store = try server.store()
        #expect(await store.writeCode() == .storeFailed)
        #expect(await code { _ = try await store.remove("k", ifVersion: TokenRecordVersion("\"a\"")) } == .storeFailed)
        #expect(server.requests.allSatisfy { $0.url.path.hasSuffix("/precondition-check") })
    }

    @Test("Never sends a version that isn't one strong entity tag")
    func versions() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store()
        _ = try await store.write()
        let count = server.requests.count
        let long = "\"\(String(repeating: "a", count: 2_000))\""
        for text in ["*", "", "\"\"", "\"a\", \"b\"", "W/\"v4\"", "v4", "\"a\r\nb\"", long] {
            let version = TokenRecordVersion(text)
            #expect(try await store.write(over: version) == nil)
            #expect(try await !store.remove("k", ifVersion: version))
        }
        #expect(server.requests.count == count)
    }

    @Test("Rejects answers of caches and weak entity tags, which can't name a version", .shows("L16"))
    func staleAnswers() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store()
        _ = try await store.write()
        server.change { $0.fields = ["Age": "0"] }
        #expect(try await store.load("k")?.record == .sample)
        server.change { $0.fields = ["Age": "5"] }
        #expect(await store.loadCode() == .storeFailed)
        server.change {
            $0.fields = [:]
            $0.isWeak = true
        }
        #expect(await store.loadCode() == .storeFailed)
    }

    @Test("A server that acknowledges a record without an entity tag and forgets it is an error")
    func forgotten() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store()
        _ = try await store.compareAndSwap("other", expectedVersion: nil, record: .sample)
        server.service.fail { _ in HTTPTransportResponse(status: 204) }
        #expect(await store.writeCode() == .storeFailed)
        server.service.fail { $0.method == .put ? HTTPTransportResponse(status: 204) : nil }
        let error = await #expect(throws: OAuth2Error.self) { try await store.write() }
        #expect(error?.code == .storeUnavailable)
        #expect(error?.message.hasPrefix("the store accepted a record but doesn't have it") == true)
    }
}

/// A double of an HTTP server with conditional requests, as RFC 9110 describes them.
final class HTTPStoreDouble: Sendable {
    /// The differences of a server from the usual.
    struct Habits {
        var sendsTagOfWrites = true
        var isWeak = false
        var ignoresMatch = false
        var ignoresNoneMatch = false
        /// The status for a precondition that isn't met.
        var conflict = 412
        var fields: [String: String] = [:]
    }

    private struct State {
        var habits = Habits()
        var count = 0
        var values: [String: (value: Data, tag: String)] = [:]
    }

    let service = ServiceDouble()
    private let state = Mutex(State())

    init(_ habits: Habits = Habits()) { state.withLock { $0.habits = habits } }

    var requests: [MockTransport.RecordedRequest] { service.requests }

    func change(_ change: (inout Habits) -> Void) { state.withLock { change(&$0.habits) } }

    func store(
        _ url: String = "http://127.0.0.1:1/tokens",
        fields: [String: String] = [:],
        time: TimeSource = .system
    ) throws -> HTTPTokenStore {
        let transport = service.transport(time) { [self] request in answer(request) }
        let keys = try RecordKeys(sealing: ServiceDouble.key)
        return try HTTPTokenStore(URL(string: url)!, keys: keys, fields: fields, transport: transport, timeSource: time)
    }

    private func answer(_ request: HTTPRequest) -> HTTPTransportResponse {
        let body = request.bodyData() ?? Data()
        return state.withLock { state in
            let habits = state.habits
            let path = request.url.path
            let found = state.values[path]
            if request.method == .get {
                guard let found else { return Self.response(404) }
                return Self.response(200, found.value, [habits.isWeak ? "W/\(found.tag)" : found.tag], habits)
            }
            if let tag = request.headers["If-Match"], tag != found?.tag, !habits.ignoresMatch {
                return Self.response(found == nil && habits.conflict == 409 ? 404 : habits.conflict)
            }
            if request.headers["If-None-Match"] == "*", found != nil, !habits.ignoresNoneMatch {
                return Self.response(habits.conflict)
            }
            guard request.method == .put else {
                state.values[path] = nil
                return Self.response(204)
            }
            state.count += 1
            let tag = "\"v\(state.count)\""
            state.values[path] = (body, tag)
            return Self.response(found == nil ? 201 : 204, Data(), habits.sendsTagOfWrites ? [tag] : [])
        }
    }

    private static func response(
        _ status: Int,
        _ body: Data = Data(),
        _ tags: [String] = [],
        _ habits: Habits = Habits()
    ) -> HTTPTransportResponse {
        let fields = tags.map { ("ETag", $0) } + habits.fields.map { ($0.key, $0.value) }
        return HTTPTransportResponse(
            status: status,
            headers: HTTPHeaders(fields.map { HTTPHeaders.Field(name: $0.0, value: $0.1) }),
            body: body
        )
    }
}
