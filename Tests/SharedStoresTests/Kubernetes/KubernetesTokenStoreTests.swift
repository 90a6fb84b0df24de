import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("KubernetesTokenStore", .limitedConcurrency, .tags(.concurrency))
struct KubernetesTokenStoreTests {
    @Test("Sends each write and removal with its resource version, and no token in the clear", .shows("Y4"))
    func requests() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store(token: .secret(Secret("a.service.account")), prefix: "oauth.token-")
        let first = try #require(
            try await store.compareAndSwap("the grant of ada", expectedVersion: nil, record: .sample)
        )
        let second = try #require(
            try await store.compareAndSwap("the grant of ada", expectedVersion: first, record: .sample)
        )
        #expect(try await store.load("the grant of ada")?.version == second)
        #expect(try await store.remove("the grant of ada", ifVersion: second))
        let path = "/api/v1/namespaces/reports/secrets"
        #expect(
            cluster.calls == [
                "POST \(path)", "PUT \(path)/oauth.token-…", "GET \(path)/oauth.token-…",
                "DELETE \(path)/oauth.token-…",
            ]
        )
        let bodies = try cluster.requests.filter { $0.method != .get }.map { try JSONObject(parsing: $0.body) }
        let name = try #require(bodies.first?["metadata"]?.object?["name"]?.string)
        #expect(name.wholeMatch(of: /oauth\.token-[0-9a-f]{32}/) != nil)
        let versions = bodies.dropLast().map { $0["metadata"]?.object?["resourceVersion"]?.string }
        #expect(versions == [nil, first.description])
        for body in bodies.dropLast() {
            #expect(Set(body.map(\.name)) == ["apiVersion", "data", "kind", "metadata", "type"])
            #expect(body["metadata"]?.object?["name"]?.string == name)
            #expect(body["metadata"]?.object?["namespace"] == "reports")
            #expect(body["kind"] == "Secret" && body["apiVersion"] == "v1" && body["type"] == "Opaque")
            let value = try #require(body["data"]?.object?["record"]?.string.flatMap { Data(base64Encoded: $0) })
            let text = String(decoding: value, as: UTF8.self)
            #expect(text.contains("swift-authenticated-client/token"))
            for secret in ["an access token", "a refresh token", "the grant of ada"] { #expect(!text.contains(secret)) }
        }
        #expect(
            bodies.last?.serialized()
                == #"{"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"resourceVersion":"\#(second)"}}"#
        )
        for request in cluster.requests {
            #expect(request.headers["Authorization"] == "Bearer a.service.account")
            #expect(request.headers["Accept"] == "application/json")
            #expect(request.headers["Content-Type"] == (request.method == .get ? nil : "application/json"))
            #expect(request.url.query == nil)
        }
    }

    @Test("Opens records of its key only, and lets a sign-in replace foreign and damaged ones", .shows("L15"))
    func foreignRecords() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        _ = try await store.write()
        let foreign: [JSONValue?] = [
            nil, .null, .object(["password": "eA=="]), .object(["record": 5]), .object(["record": "*"]),
            .object(["record": ""]), .object(["record": "e30="]),
        ]
        for data in foreign {
            cluster.change { $0["data"] = data }
            #expect(await store.loadCode() == .storeDamaged)
            #expect(try await store.write() != nil)
            #expect(try await store.load("k")?.record == .sample)
            #expect(try await store.write() == nil)
        }
    }

    @Test("Reports a secret that can't be written or removed")
    func protectedSecrets() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        _ = try await store.write()
        cluster.change { $0["immutable"] = true }
        var version = try #require(try await store.load("k")?.version)
        #expect(await store.writeCode(over: version) == .storeFailed)
        cluster.change { secret in
            var metadata = secret["metadata"]?.object ?? [:]
            metadata["finalizers"] = ["example.com/keep"]
            secret["metadata"] = .object(metadata)
        }
        version = try #require(try await store.load("k")?.version)
        #expect(await store.removalCode(version) == .storeUnavailable)
        #expect(try await store.load("k")?.record == .sample)
    }

    @Test("Keeps a large record, and rejects one above the limit before it's sent")
    func sizes() async throws {
        let cluster = KubernetesDouble()
        // No deadline passes while records are encoded, which is slow without optimization.
        let store = try cluster.store(time: ManualTime().timeSource)
        let large = TokenRecord(accessToken: Secret(String(repeating: "a", count: 500 << 10)))
        #expect(try await store.write(large) != nil)
        #expect(try await store.load("k")?.record == large)
        let count = cluster.requests.count
        let larger = TokenRecord(accessToken: Secret(String(repeating: "a", count: 1 << 20)))
        #expect(
            await code { _ = try await store.compareAndSwap("k2", expectedVersion: nil, record: larger) }
                == .storeFailed
        )
        #expect(cluster.requests.count == count)
    }

    // MARK: Faults

    @Test("An update that doesn't change the version is an unknown outcome")
    func unchangedVersion() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        let version = try #require(try await store.write())
        _ = try await store.load("k")
        let name = try #require(cluster.requests.last?.url.lastPathComponent)
        cluster.service.fail { _ in
            .json(#"{"kind":"Secret","metadata":{"name":"\#(name)","resourceVersion":"\#(version)"}}"#)
        }
        #expect(await store.writeCode(over: version) == .storeUnavailable)
    }

    @Test("Takes the conflict of a quota, or of a server that isn't Kubernetes, for an unknown outcome")
    func otherConflicts() async throws {
        let responses: [HTTPTransportResponse] = [
            .status(409, "Conflict", kind: "resourcequotas"), .status(409, "Conflict"), .text("", status: 409),
        ]
        for response in responses {
            let cluster = KubernetesDouble()
            cluster.service.fail { _ in response }
            // A creation isn't in conflict with a version.
            #expect(try await cluster.store().writeCode() == .storeUnavailable)
        }
    }

    @Test("Sends a request again that the server was too busy for, after the time that it asks for")
    func rateLimit() async throws {
        let cluster = KubernetesDouble()
        let time = ManualTime()
        let store = try cluster.store(time: time.timeSource)
        cluster.service.fail { [state = cluster] _ in
            state.requests.count.isMultiple(of: 2)
                ? nil : .status(429, "TooManyRequests", headers: ["Retry-After": "1"])
        }
        async let written = store.write()
        try await time.waitForSleepers(count: 1)
        time.advance(by: .seconds(1))
        #expect(try await written != nil)
        #expect(cluster.requests.map(\.method) == [.post, .post])
        cluster.service.fail { _ in .status(429, "TooManyRequests", headers: ["Retry-After": "30"]) }
        #expect(await store.loadCode() == .storeUnavailable)
        #expect(cluster.requests.count == 3)
    }

    @Test("Reports an absent namespace at the first write")
    func absentNamespace() async throws {
        #expect(try await KubernetesDouble().store(namespace: "other").writeCode() == .storeFailed)
    }
}
