import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

/// Tests of numbers in stores that other programs write, and in the answers of stores.
@Suite("Hostile numbers in stores", .limitedConcurrency)
struct HostileNumberTests {
    private static let largest = "9223372036854775807"

    @Test(
        "An encrypted record with any format's number is damaged, and the next write replaces it",
        .shows("S17"),
        arguments: ["-1e99", "1e99", "0", "-1", "1.5", "9223372036854775808", "true"]
    )
    func formats(number: String) async throws {
        let etcd = EtcdDouble()
        let store = try etcd.store()
        _ = try await store.compareAndSwap("k", expectedVersion: nil, record: .sample)
        etcd.change { value in
            let text = String(decoding: value, as: UTF8.self)
            value = Array(text.replacingOccurrences(of: #""version":2"#, with: "\"version\":\(number)").utf8)
        }
        #expect(await code { _ = try await store.load("k") } == .storeDamaged)
        #expect(try await store.compareAndSwap("k", expectedVersion: nil, record: .sample) != nil)
        #expect(try await store.load("k")?.record == .sample)
    }

    @Test(
        "An answer of etcd with any revision is an error or a version",
        arguments: [
            (largest, nil), ("-1", nil), ("0", nil), ("9223372036854775808", .storeUnavailable),
            ("1e99", .storeUnavailable),
        ] as [(String, OAuth2Error.Code?)]
    )
    func revisions(number: String, expected: OAuth2Error.Code?) async throws {
        let etcd = EtcdDouble()
        let store = try etcd.store()
        _ = try await store.compareAndSwap("k", expectedVersion: nil, record: .sample)
        let found = #"{"header":{"revision":"1"},"kvs":[{"key":"aw==","mod_revision":"\#(number)","value":"e30="}]}"#
        etcd.service.fail { request in request.url.path == "/v3/kv/range" ? .json(found) : nil }
        // The value isn't a record.
        #expect(await code { _ = try await store.load("k") } == expected ?? .storeDamaged)
    }

    @Test("A watch of the largest revision doesn't overflow")
    func watch() async throws {
        let etcd = EtcdDouble()
        let store = try etcd.store()
        etcd.service.fail { request in
            request.url.path == "/v3/watch" ? .text(#"{"result":{"events":[{"kv":{}}]}}"# + "\n") : nil
        }
        try await store.waitForChange(
            of: "k",
            after: TokenRecordVersion(Self.largest),
            timeout: .seconds(30),
            timeSource: .system
        )
        let body = try #require(etcd.service.requests.last?.body)
        #expect(String(decoding: body, as: UTF8.self).contains("\"start_revision\":\"\(Self.largest)\""))
    }

    @Test("A ring of the largest generation can still change")
    func generation() async throws {
        let fixture = RingFixture()
        let coding = KeyRingCoding(cipher: try RecordKeys(sealing: RingFixture.key).cipher, name: "default")
        fixture.storage.record = try coding.encode(KeyRingSet(generation: .max, attempt: "a", keys: []))
        let ring = try fixture.ring()
        _ = try await ring.signingKey()
        let record = try #require(fixture.storage.record)
        #expect(try coding.decode(record).generation == .max)
        #expect(try coding.decode(record).keys.count == 2)
    }

    @Test("A ring's record with any format's number is an error", arguments: ["-1e99", "1e99", "0", "-1", "1.5"])
    func ringFormats(number: String) async throws {
        let fixture = RingFixture()
        let text = "{\"format\":\"\(KeyRingCoding.format)\",\"version\":\(number)}"
        fixture.storage.record = Array(text.utf8)
        #expect(await code { _ = try await fixture.ring().signingKey() } == .storeDamaged)
    }
}
