import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("EtcdReplayCache", .limitedConcurrency, .tags(.concurrency))
struct EtcdReplayCacheTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private func remember(
        _ identifier: String,
        _ cache: EtcdReplayCache,
        until expiration: Date = Self.now.addingTimeInterval(120),
        at now: Date = Self.now
    ) async throws -> Bool {
        try await cache.remember(identifier, signedBy: "key", until: expiration, at: now)
    }

    @Test(
        "Accepts an identifier once among all hosts, with one write each, without showing it to etcd",
        .shows("L17", "O28")
    )
    func once() async throws {
        let etcd = EtcdDouble()
        let (first, second) = (EtcdReplayCache(try etcd.cluster()), EtcdReplayCache(try etcd.cluster()))
        #expect(try await remember("proof 1", first))
        #expect(try await !remember("proof 1", second))
        #expect(try await !remember("proof 1", first))
        let before = etcd.requests.count
        #expect(try await remember("proof 2", second))
        #expect(etcd.requests.count == before + 1)
        #expect(etcd.keys.count == 3)
        #expect(etcd.keys.allSatisfy { $0.hasPrefix("/replay/") && !$0.contains("proof") })
    }

    @Test("Of concurrent calls with one identifier, one succeeds")
    func concurrent() async throws {
        let etcd = EtcdDouble()
        let caches = try (0..<4).map { _ in EtcdReplayCache(try etcd.cluster()) }
        let accepted = try await withThrowingTaskGroup(of: Bool.self) { group in
            for index in 0..<20 { group.addTask { try await remember("proof", caches[index % 4]) } }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(accepted == 1)
    }

    @Test("Removes expired identifiers once a minute, and never accepts one that was removed", .shows("L17"))
    func removal() async throws {
        let etcd = EtcdDouble()
        let fast = EtcdReplayCache(try etcd.cluster())
        let slow = EtcdReplayCache(try etcd.cluster())
        for number in 1...5 { #expect(try await remember("old \(number)", slow)) }
        #expect(etcd.keys.count == 6)
        let later = Self.now.addingTimeInterval(120 + 300 + 120)
        #expect(try await remember("new", fast, until: later.addingTimeInterval(120), at: later))
        // The horizon and the new identifier.
        #expect(etcd.keys.count == 2)
        // A host whose clock is behind accepts neither that identifier nor others of its minute.
        #expect(try await !remember("old 1", slow))
        #expect(try await !remember("never seen", slow))
        #expect(try await remember("valid", slow, until: later.addingTimeInterval(60)))
        let count = etcd.requests.count
        #expect(try await remember("another", fast, until: later.addingTimeInterval(120), at: later))
        #expect(etcd.requests.count == count + 1)
    }

    @Test("Rejects an expiration that isn't a time of this era", arguments: [-1e9, 0, 1e15, .infinity, -.infinity])
    func expiration(time: Double) async throws {
        let etcd = EtcdDouble()
        let cache = EtcdReplayCache(try etcd.cluster())
        #expect(try await !remember("proof", cache, until: Date(timeIntervalSince1970: time)))
        #expect(etcd.requests.isEmpty)
    }

    @Test("A write without an answer counts if etcd has it, and throws if it hasn't")
    func unknownOutcome() async throws {
        let etcd = EtcdDouble()
        let cache = EtcdReplayCache(try etcd.cluster())
        #expect(try await remember("first", cache))
        etcd.service.lose { $0.url.path == "/v3/kv/txn" }
        #expect(try await remember("applied", cache))
        etcd.service.lose { _ in false }
        #expect(try await !remember("applied", cache))
        etcd.service.fail { request in
            guard request.url.path == "/v3/kv/txn" else { return nil }
            throw NetworkError(.timedOut, "no response")
        }
        #expect(await code { _ = try await remember("not applied", cache) } == .storeUnavailable)
    }

    @Test("Without a fallback, nothing is accepted while etcd is out of reach, full or another server", .shows("L18"))
    func outage() async throws {
        let answers: [@Sendable (HTTPRequest) throws -> HTTPTransportResponse?] = [
            { _ in throw NetworkError(.cannotConnect, "refused", isUnprocessed: true) },
            { _ in .text("<html>") },
            { _ in .json(#"{"header":{},"responses":[]}"#) },
            { _ in .json(#"{"header":{},"responses":[{"response_range":{"kvs":[5]}}]}"#) },
            { _ in .json(#"{"error":"etcdserver: mvcc: database space exceeded","code":8}"#, status: 429) },
        ]
        for answer in answers {
            let etcd = EtcdDouble()
            let cache = EtcdReplayCache(try etcd.cluster())
            etcd.service.fail(answer)
            #expect(await code { _ = try await remember("proof", cache) } != nil)
        }
    }

    @Test("Accepts nothing in a cluster that doesn't keep the time up to which identifiers were removed", .shows("L18"))
    func noHorizon() async throws {
        let etcd = EtcdDouble()
        let cache = EtcdReplayCache(try etcd.cluster())
        etcd.service.fail { _ in .json(#"{"header":{"revision":"1"},"responses":[{"response_range":{}}]}"#) }
        #expect(try await !remember("proof", cache))
    }

    @Test("Throws a CancellationError in a cancelled task, also with a fallback")
    func cancelled() async throws {
        let cache = EtcdReplayCache(try EtcdDouble().cluster(), fallback: InMemoryReplayCache())
        let call = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await remember("proof", cache)
        }
        await #expect(throws: CancellationError.self) { try await call.value }
    }

    @Test("With a fallback, a process accepts each identifier once, during an outage and after it", .shows("L18"))
    func fallback() async throws {
        let etcd = EtcdDouble()
        let cache = EtcdReplayCache(try etcd.cluster(), fallback: InMemoryReplayCache(capacity: 3, quotaPerKey: 3))
        #expect(try await remember("before", cache))
        etcd.service.fail { _ in throw NetworkError(.cannotConnect, "refused", isUnprocessed: true) }
        #expect(try await remember("during", cache))
        #expect(try await !remember("before", cache))
        #expect(try await !remember("during", cache))
        etcd.service.fail { _ in nil }
        #expect(try await !remember("during", cache))
        #expect(try await remember("after", cache))
        let error = await #expect(throws: TokenError.self) { try await remember("too many", cache) }
        #expect(error?.code == .replayCacheFull)
    }
}
