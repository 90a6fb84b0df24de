import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("KubernetesTokenStore", .limitedConcurrency)
struct KubernetesTokenStoreTests {
    @Test("Conforms, with a double that follows the documentation of Kubernetes")
    func conformance() async throws {
        try await TokenStoreConformance {
            let cluster = KubernetesDouble()
            return (try cluster.store(), try cluster.store())
        }
        .check()
    }

    @Test("Sends each write and removal with its resource version, and no token in the clear")
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

    @Test("Never sends a version that makes an update unconditional, or that Kubernetes can't have given")
    func versions() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        _ = try await store.compareAndSwap("k", expectedVersion: nil, record: .sample)
        let count = cluster.requests.count
        for text in ["", "0", "00", "-1", "+1", "0101", "1.0", "x", "99999999999999999999"] {
            let version = TokenRecordVersion(text)
            #expect(try await store.compareAndSwap("k", expectedVersion: version, record: .sample) == nil)
            #expect(try await !store.remove("k", ifVersion: version))
        }
        #expect(cluster.requests.count == count)
    }

    @Test("Opens records of its key only, and lets a sign-in replace foreign and damaged ones")
    func foreignRecords() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        _ = try await store.compareAndSwap("k", expectedVersion: nil, record: .sample)
        let foreign: [JSONValue?] = [
            nil, .null, .object(["password": "eA=="]), .object(["record": 5]), .object(["record": "*"]),
            .object(["record": ""]), .object(["record": "e30="]),
        ]
        for data in foreign {
            cluster.change { $0["data"] = data }
            #expect(await code { _ = try await store.load("k") } == .storeDamaged)
            #expect(try await store.compareAndSwap("k", expectedVersion: nil, record: .sample) != nil)
            #expect(try await store.load("k")?.record == .sample)
            #expect(try await store.compareAndSwap("k", expectedVersion: nil, record: .sample) == nil)
        }
    }

    @Test("Reports a secret that can't be written or removed")
    func protectedSecrets() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        _ = try await store.compareAndSwap("k", expectedVersion: nil, record: .sample)
        cluster.change { $0["immutable"] = true }
        var version = try #require(try await store.load("k")?.version)
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: version, record: .sample) }
                == .storeFailed
        )
        cluster.change { secret in
            var metadata = secret["metadata"]?.object ?? [:]
            metadata["finalizers"] = ["example.com/keep"]
            secret["metadata"] = .object(metadata)
        }
        version = try #require(try await store.load("k")?.version)
        #expect(await code { _ = try await store.remove("k", ifVersion: version) } == .storeUnavailable)
        #expect(try await store.load("k")?.record == .sample)
    }

    @Test("Keeps a large record, and rejects one above the limit before it's sent")
    func sizes() async throws {
        let cluster = KubernetesDouble()
        // No deadline passes while records are encoded, which is slow without optimization.
        let store = try cluster.store(time: ManualTime().timeSource)
        let large = TokenRecord(accessToken: Secret(String(repeating: "a", count: 500 << 10)))
        #expect(try await store.compareAndSwap("k", expectedVersion: nil, record: large) != nil)
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

    @Test(
        "Takes an answer that isn't Kubernetes' for an unknown outcome, not for an absent record",
        arguments: [
            "", "<html>", "{}", "[]", "null", #"{"kind":"Secret"}"#, #"{"kind":"Secret","metadata":{}}"#,
            #"{"kind":"Secret","metadata":{"name":"other","resourceVersion":"5"}}"#,
            #"{"kind":"Secret","metadata":{"name":"NAME","resourceVersion":""}}"#,
            #"{"kind":"Secret","metadata":{"name":"NAME","resourceVersion":"0"}}"#,
            #"{"kind":"Secret","metadata":{"name":"NAME","resourceVersion":5}}"#,
            #"{"kind":"Pod","metadata":{"name":"NAME","resourceVersion":"5"}}"#,
            #"{"kind":"Secret","metadata":{"name":"NAME","resourceVersion":"5"}"#,
            #"{"kind":"Status","status":"Failure"}"#,
        ]
    )
    func foreignAnswers(text: String) async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        let version = try #require(try await store.compareAndSwap("k", expectedVersion: nil, record: .sample))
        _ = try await store.load("k")
        let name = try #require(cluster.requests.last?.url.lastPathComponent)
        cluster.service.fail { _ in .text(text.replacing("NAME", with: name)) }
        #expect(await code { _ = try await store.load("k") } == .storeUnavailable)
        let count = cluster.requests.count
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: version, record: .sample) }
                == .storeUnavailable
        )
        #expect(await code { _ = try await store.remove("k", ifVersion: version) } == .storeUnavailable)
        #expect(cluster.requests.count == count + 2)
    }

    @Test("An update that doesn't change the version is an unknown outcome")
    func unchangedVersion() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        let version = try #require(try await store.compareAndSwap("k", expectedVersion: nil, record: .sample))
        _ = try await store.load("k")
        let name = try #require(cluster.requests.last?.url.lastPathComponent)
        cluster.service.fail { _ in
            .json(#"{"kind":"Secret","metadata":{"name":"\#(name)","resourceVersion":"\#(version)"}}"#)
        }
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: version, record: .sample) }
                == .storeUnavailable
        )
    }

    @Test(
        "Tells an absent secret from an absent namespace and from a server that isn't Kubernetes",
        arguments: [
            HTTPTransportResponse.status(404, "NotFound", kind: "namespaces"), .status(404, "Other"),
            .text("404 page not found", status: 404), .text("", status: 404), .json("{}", status: 404),
        ]
    )
    func notFound(response: HTTPTransportResponse) async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        let version = try #require(try await store.compareAndSwap("k", expectedVersion: nil, record: .sample))
        cluster.service.fail { _ in response }
        #expect(await code { _ = try await store.load("k") } == .storeFailed)
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: version, record: .sample) }
                == .storeFailed
        )
        #expect(await code { _ = try await store.remove("k", ifVersion: version) } == .storeFailed)
    }

    @Test("Reports an absent namespace at the first write")
    func absentNamespace() async throws {
        let store = try KubernetesDouble().store(namespace: "other")
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: nil, record: .sample) }
                == .storeFailed
        )
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
            #expect(
                await code {
                    _ = try await cluster.store().compareAndSwap("k", expectedVersion: nil, record: .sample)
                } == .storeUnavailable
            )
        }
    }

    @Test("A write without an answer is an unknown outcome: it isn't repeated, and a read finds it")
    func lostAnswer() async throws {
        let cluster = KubernetesDouble()
        let store = try cluster.store()
        cluster.service.lose { $0.method != .get }
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: nil, record: .sample) }
                == .storeUnavailable
        )
        #expect(cluster.requests.map(\.method) == [.post])
        let found = try #require(try await store.load("k"))
        #expect(found.record == .sample)
        #expect(await code { _ = try await store.remove("k", ifVersion: found.version) } == .storeUnavailable)
        #expect(try await store.load("k") == nil)
        #expect(cluster.requests.count == 4)
    }

    @Test(
        "Names the cause of each error, and sends each request once",
        arguments: [
            (302, "", OAuth2Error.Code.storeFailed), (400, "BadRequest", .storeFailed),
            (401, "Unauthorized", .storeFailed), (403, "Forbidden", .storeFailed),
            (405, "MethodNotAllowed", .storeFailed), (408, "", .storeUnavailable), (410, "Expired", .storeFailed),
            (413, "RequestEntityTooLarge", .storeFailed), (415, "UnsupportedMediaType", .storeFailed),
            (422, "Invalid", .storeFailed), (429, "TooManyRequests", .storeUnavailable),
            (500, "InternalError", .storeUnavailable), (502, "", .storeUnavailable),
            (503, "ServiceUnavailable", .storeUnavailable), (504, "Timeout", .storeUnavailable),
        ]
    )
    func errors(status: Int, reason: String, expected: OAuth2Error.Code) async throws {
        let cluster = KubernetesDouble()
        cluster.service.fail { _ in .status(status, reason) }
        let store = try cluster.store(token: .secret(Secret("a.service.account")))
        let version = TokenRecordVersion("1")
        let error = await #expect(throws: OAuth2Error.self) { try await store.load("k") }
        #expect(error?.code == expected)
        #expect(!"\(String(describing: error))".contains("a.service.account"))
        #expect(
            await code { _ = try await store.compareAndSwap("k", expectedVersion: version, record: .sample) }
                == expected
        )
        #expect(await code { _ = try await store.remove("k", ifVersion: version) } == expected)
        #expect(cluster.requests.count == 3)
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
        async let written = store.compareAndSwap("k", expectedVersion: nil, record: .sample)
        try await time.waitForSleepers(count: 1)
        time.advance(by: .seconds(1))
        #expect(try await written != nil)
        #expect(cluster.requests.map(\.method) == [.post, .post])
        for delay in ["30", "x"] {
            let count = cluster.requests.count
            cluster.service.fail { _ in .status(429, "TooManyRequests", headers: ["Retry-After": delay]) }
            #expect(await code { _ = try await store.load("k") } == .storeUnavailable)
            #expect(cluster.requests.count == count + 1)
        }
    }

    @Test("Rejects URLs, namespaces and prefixes that aren't suitable")
    func addresses() async {
        #expect(await code { _ = try KubernetesDouble().store("http://10.0.0.1:6443") } == .insecureTransport)
        for url in ["file:///tmp", "https://a.example/?x", "https://u@a.example/", "https://a.example/#x"] {
            #expect(await code { _ = try KubernetesDouble().store(url) } == .storeFailed)
        }
        for name in ["", "A", "a/b", "a.b", "-a", "a-", "ä", "a b", "..", String(repeating: "a", count: 64)] {
            #expect(await code { _ = try KubernetesDouble().store(namespace: name) } == .storeFailed, "\(name)")
        }
        for prefix in ["A", "a/", "-a", ".a", "a..", "a-.", "a_", "ä", " ", String(repeating: "a", count: 129)] {
            #expect(await code { _ = try KubernetesDouble().store(prefix: prefix) } == .storeFailed, "\(prefix)")
        }
        #expect(await code { _ = try KubernetesDouble().store(prefix: "") } == nil)
    }
}
