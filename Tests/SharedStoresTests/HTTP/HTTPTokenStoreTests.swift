import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import SharedStores

@Suite("HTTPTokenStore", .limitedConcurrency)
struct HTTPTokenStoreTests {
    private static let record = TokenRecord(accessToken: Secret("an access token"))

    @Test(
        "Conforms, with a double of a server, also one that sends no entity tags of writes or answers 409",
        arguments: [(true, 412), (false, 412), (true, 409)]
    )
    func conformance(sendsTagOfWrites: Bool, conflict: Int) async throws {
        try await TokenStoreConformance {
            let server = HTTPStoreDouble(.init(sendsTagOfWrites: sendsTagOfWrites, conflict: conflict))
            return (try server.store(), try server.store())
        }
        .check()
    }

    @Test("Sends each write with its precondition, each read past caches, and no token in the clear")
    func requests() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store(fields: ["x-ms-version": "2024-11-04"])
        let first = try #require(
            try await store.compareAndSwap("the grant of ada", expectedVersion: nil, record: Self.record)
        )
        // Three requests find out that the server evaluates preconditions.
        #expect(server.requests.count == 4)
        _ = try await store.compareAndSwap("the grant of ada", expectedVersion: first, record: Self.record)
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

    @Test("Writes nothing to a server that ignores preconditions", arguments: [true, false])
    func ignoredPreconditions(ignoresMatch: Bool) async throws {
        let server = HTTPStoreDouble(.init(ignoresMatch: ignoresMatch, ignoresNoneMatch: !ignoresMatch))
        let store = try server.store()
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record) }
                == .storeFailed
        )
        #expect(
            await code { _ = try await store.remove("k", ifVersion: TokenRecordVersion("\"a\"")) } == .storeFailed
        )
        #expect(server.requests.allSatisfy { $0.url.path.hasSuffix("/precondition-check") })
    }

    @Test("Never sends a version that isn't one strong entity tag")
    func versions() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store()
        _ = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record)
        let count = server.requests.count
        let long = "\"\(String(repeating: "a", count: 2_000))\""
        for text in ["*", "", "\"\"", "\"a\", \"b\"", "W/\"v4\"", "v4", "\"a\r\nb\"", long] {
            let version = TokenRecordVersion(text)
            #expect(try await store.compareAndSwap("k", expectedVersion: version, record: Self.record) == nil)
            #expect(try await !store.remove("k", ifVersion: version))
        }
        #expect(server.requests.count == count)
    }

    @Test("Rejects answers of caches and weak entity tags, which can't name a version")
    func staleAnswers() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store()
        _ = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record)
        server.change { $0.fields = ["Age": "0"] }
        #expect(try await store.load("k")?.record == Self.record)
        server.change { $0.fields = ["Age": "5"] }
        #expect(await code { _ = try await store.load("k") } == .storeFailed)
        server.change {
            $0.fields = [:]
            $0.isWeak = true
        }
        #expect(await code { _ = try await store.load("k") } == .storeFailed)
    }

    @Test(
        "Names the cause of each error, and doesn't repeat a write",
        arguments: [
            (301, OAuth2Error.Code.storeFailed), (400, .storeFailed), (401, .storeFailed), (403, .storeFailed),
            (405, .storeFailed), (408, .storeUnavailable), (413, .storeFailed), (428, .storeFailed),
            (429, .storeUnavailable), (500, .storeUnavailable), (503, .storeUnavailable), (507, .storeUnavailable),
            (202, .storeFailed), (206, .storeFailed),
        ]
    )
    func errors(status: Int, expected: OAuth2Error.Code) async throws {
        let server = HTTPStoreDouble()
        let store = try server.store()
        let version = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record)
        server.change { $0.status = status }
        #expect(await code { _ = try await store.load("k") } == expected)
        let count = server.requests.count
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: version, record: Self.record) }
                == expected
        )
        #expect(server.requests.count == count + 1)
    }

    @Test("A write without an answer is an unknown outcome, and isn't repeated")
    func unknownOutcome() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store()
        let version = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record)
        server.fail(NetworkError(.timedOut, "no response"))
        let count = server.requests.count
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: version, record: Self.record) }
                == .storeUnavailable
        )
        #expect(server.requests.count == count + 1)
    }

    @Test("A server that acknowledges a record without an entity tag and forgets it is an error")
    func forgotten() async throws {
        let server = HTTPStoreDouble()
        let store = try server.store()
        _ = try await store.compareAndSwap("other", expectedVersion: nil, record: Self.record)
        server.change { $0.status = 204 }
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: nil, record: Self.record) }
                == .storeFailed
        )
    }

    @Test("Rejects URLs that aren't confidential, or have a user, query or fragment")
    func urls() async {
        #expect(await code { _ = try HTTPStoreDouble().store("http://storage.example/") } == .insecureTransport)
        for url in ["file:///tmp", "https://a.example/?sig=1", "https://u@a.example/", "https://a.example/#x"] {
            #expect(await code { _ = try HTTPStoreDouble().store(url) } == .storeFailed)
        }
    }
}
