import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import SharedStores

@Suite("EtcdValues", .limitedConcurrency)
struct EtcdValuesTests {
    @Test("Keeps a value for its lifetime, and replaces it only over the expected version", .shows("WF14"))
    func values() async throws {
        let etcd = EtcdDouble()
        let values = EtcdValues(try etcd.cluster(), prefix: "/sessions/")
        #expect(try await values.read("a") == nil)
        let first = try #require(try await values.write([1], to: "a", over: nil, lifetime: .milliseconds(61_500)))
        #expect(etcd.leases == [1: 62])
        #expect(etcd.keys == ["/sessions/a"])
        let found = try #require(try await values.read("a"))
        #expect(found.value == [1] && found.version == first)
        // A lease without a value is given back.
        #expect(try await values.write([2], to: "a", over: nil, lifetime: .seconds(60)) == nil)
        for version in ["0", "-1", "x", "", String(try #require(Int64(first)) + 7)] {
            #expect(try await values.write([2], to: "a", over: version, lifetime: .seconds(60)) == nil)
        }
        #expect(etcd.leases == [1: 62])
        #expect(try await values.write([2], to: "a", over: first, lifetime: .seconds(1e15)) != nil)
        #expect(etcd.leases.values.max() == 86_400 * 3_650)
        #expect(try await values.write([3], to: "b", over: nil, lifetime: .zero) != nil)
        etcd.expire(after: 1)
        #expect(etcd.keys == ["/sessions/a"])
        try await values.remove("a")
        try await values.remove("a")
        #expect(try await values.read("a") == nil)
    }

    @Test("Keeps a value for at most ten years, however long its lifetime is")
    func longest() async throws {
        let etcd = EtcdDouble()
        let values = EtcdValues(try etcd.cluster(), prefix: "/sessions/")
        let lifetime = Duration.seconds(Int64.max) + .seconds(600)
        #expect(try await values.write([1], to: "a", over: nil, lifetime: lifetime) != nil)
        #expect(Array(etcd.leases.values) == [86_400 * 3_650])
    }

    @Test("An answer without a lease, a lost write and an outage are errors")
    func failures() async throws {
        let etcd = EtcdDouble()
        let values = EtcdValues(try etcd.cluster(), prefix: "/sessions/")
        func code() async -> OAuth2Error.Code? {
            do { _ = try await values.write([1], to: "a", over: nil, lifetime: .seconds(60)) } catch {
                return (error as? OAuth2Error)?.code
            }
            return nil
        }
        for answer in [#"{"header":{}}"#, #"{"header":{},"ID":"x"}"#, #"{"header":{},"ID":true}"#, "{}", ""] {
            etcd.service.fail { $0.url.path == "/v3/lease/grant" ? .json(answer) : nil }
            #expect(await code() == .storeUnavailable)
        }
        #expect(etcd.keys.isEmpty)
        etcd.service.fail(nil)
        etcd.service.lose { $0.url.path == "/v3/kv/txn" }
        #expect(await code() == .storeUnavailable)
        #expect(etcd.keys == ["/sessions/a"])
        etcd.service.lose(nil)
        etcd.service.fail { _ in throw NetworkError(.cannotConnect, "refused", isUnprocessed: true) }
        await #expect(throws: OAuth2Error(.storeUnavailable, "")) { try await values.read("a") }
        await #expect(throws: OAuth2Error(.storeUnavailable, "")) { try await values.remove("a") }
    }
}
