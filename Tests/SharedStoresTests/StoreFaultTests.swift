import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import SharedStores

/// A double of a store's service.
protocol StoreDouble: Sendable {
    var service: ServiceDouble { get }

    /// Creates a store at a URL, or at the usual one.
    func makeStore(at url: String?, token: StoreCredential?, time: TimeSource) throws -> any TokenStore
}

extension StoreDouble {
    func makeStore(at url: String? = nil, token: StoreCredential? = nil) throws -> any TokenStore {
        try makeStore(at: url, token: token, time: .system)
    }
}

extension ConsulDouble: StoreDouble {
    func makeStore(at url: String?, token: StoreCredential?, time: TimeSource) throws -> any TokenStore {
        try store(url ?? "http://127.0.0.1:8500", token: token, time: time)
    }
}

extension EtcdDouble: StoreDouble {
    func makeStore(at url: String?, token: StoreCredential?, time: TimeSource) throws -> any TokenStore {
        try store(time: time)
    }
}

extension HTTPStoreDouble: StoreDouble {
    func makeStore(at url: String?, token: StoreCredential?, time: TimeSource) throws -> any TokenStore {
        try store(url ?? "http://127.0.0.1:1/tokens", time: time)
    }
}

extension KubernetesDouble: StoreDouble {
    func makeStore(at url: String?, token: StoreCredential?, time: TimeSource) throws -> any TokenStore {
        try store(url ?? "https://10.0.0.1:443", token: token, time: time)
    }
}

extension VaultDouble: StoreDouble {
    func makeStore(at url: String?, token: StoreCredential?, time: TimeSource) throws -> any TokenStore {
        try store(url ?? "http://127.0.0.1:8200", token: token, time: time)
    }
}

enum StoreKind: Sendable {
    case consul, http, kubernetes, vault

    func makeDouble() -> any StoreDouble {
        switch self {
        case .consul: ConsulDouble()
        case .http: HTTPStoreDouble()
        case .kubernetes: KubernetesDouble()
        case .vault: VaultDouble()
        }
    }
}

/// The rules that the stores of all services follow.
@Suite("Stores of services", .limitedConcurrency)
struct StoreFaultTests {
    private static let doubles: [(String, @Sendable () -> any StoreDouble)] = [
        ("Consul", { ConsulDouble() }), ("etcd", { EtcdDouble() }), ("Kubernetes", { KubernetesDouble() }),
        ("HTTP", { HTTPStoreDouble() }),
        ("HTTP without entity tags of writes", { HTTPStoreDouble(.init(sendsTagOfWrites: false)) }),
        ("HTTP with 409", { HTTPStoreDouble(.init(conflict: 409)) }), ("Vault", { VaultDouble() }),
        ("Vault with 1 version", { VaultDouble(maxVersions: 1) }),
        ("Vault with 10 versions", { VaultDouble(maxVersions: 10) }),
    ]

    @Test("Conform, with doubles that follow the services' documentation", .shows("O27"), arguments: doubles)
    func conformance(_: String, makeDouble: @escaping @Sendable () -> any StoreDouble) async throws {
        try await TokenStoreConformance {
            let double = makeDouble()
            return (try double.makeStore(), try double.makeStore())
        }
        .check()
    }

    @Test(
        "Never send a version that the service can't have given, or that makes a write unconditional",
        .shows("L16"),
        arguments: [
            (StoreKind.consul, ["0", "-1", "1.0", "+1", "01", "", "99999999999999999999", "11&recurse"]),
            (.kubernetes, ["", "0", "00", "-1", "+1", "0101", "1.0", "x", "99999999999999999999"]),
            (.vault, ["0", "-1", "1.0", "+1", "01", "", "99999999999999999999"]),
        ]
    )
    func versions(kind: StoreKind, texts: [String]) async throws {
        let double = kind.makeDouble()
        let store = try double.makeStore()
        _ = try await store.write()
        let count = double.service.requests.count
        for version in texts.map({ TokenRecordVersion($0) }) {
            #expect(try await store.write(over: version) == nil, "\(version)")
            #expect(try await !store.remove("k", ifVersion: version), "\(version)")
        }
        #expect(double.service.requests.count == count)
    }

    @Test("Reject a record above the limit before it's sent", arguments: [(StoreKind.consul, 520), (.vault, 400)])
    func sizes(kind: StoreKind, kibibytes: Int) async throws {
        let double = kind.makeDouble()
        let large = TokenRecord(accessToken: Secret(String(repeating: "a", count: kibibytes << 10)))
        #expect(try await double.makeStore().writeCode(large) == .storeFailed)
        #expect(double.service.requests.isEmpty)
    }

    // MARK: Faults

    struct Failure: CustomTestStringConvertible {
        let kind: StoreKind
        let code: OAuth2Error.Code
        let response: HTTPTransportResponse

        var testDescription: String { "\(kind) \(response.status) \(String(decoding: response.body, as: UTF8.self))" }
    }

    private static func failures(
        _ kind: StoreKind,
        _ code: OAuth2Error.Code,
        _ responses: [HTTPTransportResponse]
    ) -> [Failure] {
        responses.map { Failure(kind: kind, code: code, response: $0) }
    }

    private static func consul(_ status: Int) -> HTTPTransportResponse {
        let headers: HTTPHeaders = ["Location": "http://127.0.0.1:8500/", "Retry-After": "0"]
        return HTTPTransportResponse(status: status, headers: headers, body: Data("No cluster leader".utf8))
    }

    private static var consulFailures: [Failure] {
        failures(.consul, .storeFailed, [301, 400, 401, 403, 405, 413].map(consul))
            + failures(.consul, .storeFailed, [.text("404 page not found", status: 404)])
            + failures(.consul, .storeUnavailable, [408, 500, 502, 503, 504].map(consul))
    }

    private static var httpFailures: [Failure] {
        failures(
            .http,
            .storeFailed,
            [202, 206, 301, 400, 401, 403, 405, 413, 428].map { HTTPTransportResponse(status: $0) }
        )
            + failures(
                .http,
                .storeUnavailable,
                [408, 500, 503, 507].map { HTTPTransportResponse(status: $0) }
            )
    }

    private static var kubernetesFailures: [Failure] {
        failures(
            .kubernetes,
            .storeFailed,
            [
                .status(302, ""), .status(400, "BadRequest"), .status(401, "Unauthorized"), .status(403, "Forbidden"),
                .status(405, "MethodNotAllowed"), .status(410, "Expired"), .status(413, "RequestEntityTooLarge"),
                .status(415, "UnsupportedMediaType"), .status(422, "Invalid"),
                // An absent namespace, or a server that isn't Kubernetes.
                .status(404, "NotFound", kind: "namespaces"), .status(404, "Other"),
                .text("404 page not found", status: 404), .text("", status: 404), .json("{}", status: 404),
            ]
        )
            + failures(
                .kubernetes,
                .storeUnavailable,
                [
                    .status(408, ""), .status(500, "InternalError"), .status(502, ""),
                    .status(503, "ServiceUnavailable"), .status(504, "Timeout"),
                ]
            )
    }

    private static var vaultFailures: [Failure] {
        failures(
            .vault,
            .storeFailed,
            [
                .vault(307, [""]), .vault(400, ["missing client token"]),
                .vault(400, ["check-and-set parameter required for this call"]), .vault(401, [""]),
                .vault(403, ["permission denied"]), .vault(404, ["no handler"]), .vault(405, ["unsupported operation"]),
                .vault(413, [""]),
            ]
        )
            + failures(
                .vault,
                .storeUnavailable,
                [
                    .vault(400, ["Upgrading from non-versioned to versioned data. This backend …"]), .vault(412, [""]),
                    .vault(472, [""]), .vault(473, [""]),
                    .vault(500, ["internal error"]), .vault(500, ["cannot write to readonly storage"]),
                    .vault(500, ["no space left on device"]), .vault(502, [""]), .vault(503, ["Vault is sealed"]),
                ]
            )
    }

    @Test(
        "Name the cause of each error without the credential, and send each request once",
        .shows("L20", "L21"),
        arguments: consulFailures + httpFailures + kubernetesFailures + vaultFailures
    )
    func errors(failure: Failure) async throws {
        let double = failure.kind.makeDouble()
        let store = try double.makeStore(at: nil, token: .secret(Secret("an-ACL-token")))
        let version = try #require(try await store.write())
        double.service.fail { _ in failure.response }
        let count = double.service.requests.count
        let error = await #expect(throws: OAuth2Error.self) { try await store.load("k") }
        #expect(!"\(String(describing: error))".contains("an-ACL-token"))
        let codes = [error?.code, await store.writeCode(over: version), await store.removalCode(version)]
        #expect(codes == [failure.code, failure.code, failure.code])
        #expect(double.service.requests.count == count + 3)
    }

    // Computed, because leak detection doesn't see the storage of `Data` that a global array holds.
    private static var conditions: [(StoreKind, HTTPTransportResponse, String)] {
        [
            (.consul, .text("No cluster leader", status: 500), "status 500: no leader"),
            (.consul, .text("ACL not found", status: 403), "status 403: unknown ACL token"),
            (.http, .text("Insufficient Storage", status: 507), "status 507"),
            (.http, .text("", status: 405), "status 405"),
            (.kubernetes, .text(#"{"message":"etcdserver: leader changed"}"#, status: 500), "500: the leader changed"),
            (.vault, .vault(503, ["Vault is sealed"]), "status 503: sealed"),
            (.vault, .vault(500, ["local node not active but active cluster node not found"]), "status 500: no leader"),
            (.vault, .vault(400, ["node is in standby, token an-ACL-token"]), "status 400: standby"),
        ]
    }

    @Test("Name the status and the condition of the service, in words of their own", arguments: conditions)
    func condition(kind: StoreKind, response: HTTPTransportResponse, expected: String) async throws {
        let double = kind.makeDouble()
        double.service.fail { _ in response }
        let store = try double.makeStore(token: .secret(Secret("an-ACL-token")))
        let error = await #expect(throws: OAuth2Error.self) { try await store.load("k") }
        #expect(error?.message.contains(expected) == true)
        #expect(error?.message.contains("an-ACL-token") == false)
        #expect(error?.status == response.status)
    }

    @Test("Repeat a request that was rejected with 429 after a pause, if the service names none", arguments: doubles)
    func limited(name: String, makeDouble: @escaping @Sendable () -> any StoreDouble) async throws {
        let double = makeDouble()
        let time = ManualTime()
        let store = try double.makeStore(at: nil, token: nil, time: time.timeSource)
        let response = HTTPTransportResponse.json(#"{"message":"too many requests","code":8}"#, status: 429)
        double.service.fail { [service = double.service] _ in service.requests.count > 1 ? nil : response }
        async let loaded = store.load("k")
        try await time.waitForSleepers(count: 1)
        time.advance(by: .seconds(1))
        #expect(try await loaded == nil)
        #expect(double.service.requests.count == 2)

        double.service.fail { _ in response }
        async let code = store.loadCode()
        // A request to etcd goes to other members, too, even if there's only one.
        let pauses = name == "etcd" ? 2 : 1
        for _ in 1...pauses {
            try await time.waitForSleepers(count: 1)
            time.advance(by: .seconds(1))
        }
        #expect(await code == .storeUnavailable)
        #expect(double.service.requests.count == 3 + pauses)
    }

    private static let foreignTexts: [StoreKind: [String]] = [
        .consul: [
            "maybe", "TRUE", "[{}]", #"[{"ModifyIndex":0}]"#, #"[{"ModifyIndex":"5"}]"#, #"[{"ModifyIndex":5.5}]"#,
            #"[{"ModifyIndex":5,"Value":"*"}]"#, #"[{"ModifyIndex":5,"Value":5}]"#,
            #"[{"ModifyIndex":5},{"ModifyIndex":6}]"#, #"[{"ModifyIndex":5}"#, #"[{"ModifyIndex":5}],"x":[]"#,
            #"[{"ModifyIndex":99999999999999999999}]"#,
        ],
        .kubernetes: [
            #"{"kind":"Secret"}"#, #"{"kind":"Secret","metadata":{}}"#,
            #"{"kind":"Secret","metadata":{"name":"other","resourceVersion":"5"}}"#,
            #"{"kind":"Secret","metadata":{"name":"NAME","resourceVersion":""}}"#,
            #"{"kind":"Secret","metadata":{"name":"NAME","resourceVersion":"0"}}"#,
            #"{"kind":"Secret","metadata":{"name":"NAME","resourceVersion":5}}"#,
            #"{"kind":"Pod","metadata":{"name":"NAME","resourceVersion":"5"}}"#,
            #"{"kind":"Secret","metadata":{"name":"NAME","resourceVersion":"5"}"#,
            #"{"kind":"Status","status":"Failure"}"#,
        ],
        .vault: [
            #"{"data":null}"#, #"{"data":5}"#, #"{"data":{}}"#, #"{"errors":[]}"#,
            #"{"data":{"data":{},"metadata":{}}}"#, #"{"data":{"data":{},"metadata":{"version":0}}}"#,
            #"{"data":{"data":{},"metadata":{"version":"1"}}}"#, #"{"data":{"data":null,"metadata":{"version":1}}}"#,
            #"{"data":{"data":[],"metadata":{"version":1}}}"#, #"{"data":{"version":0}}"#, #"{"data":{"version":-1}}"#,
            #"{"data":{"version":1.5}}"#, #"{"data":{"version":1}"#, #"{"data":{"version":1}}"#,
        ],
    ]

    @Test(
        "Take an answer that isn't the service's for an unknown outcome, not for an absent record",
        arguments: foreignTexts.flatMap { kind, texts in
            (["", "<html>", "[]", "{}", "null"] + texts).map { (kind, $0) }
        }
    )
    func foreignAnswers(kind: StoreKind, text: String) async throws {
        let double = kind.makeDouble()
        let store = try double.makeStore()
        let version = try #require(try await store.write())
        _ = try await store.load("k")
        let name = try #require(double.service.requests.last?.url.lastPathComponent)
        let response = HTTPTransportResponse.text(text.replacing("NAME", with: name))
        double.service.fail { _ in response }
        #expect(await store.loadCode() == .storeUnavailable)
        let count = double.service.requests.count
        #expect(await store.writeCode(over: version) == .storeUnavailable)
        #expect(double.service.requests.count == count + 1)
        // The removal from Consul gets past its read.
        double.service.fail { kind == .consul && $0.method == .get ? nil : response }
        #expect(await store.removalCode(version) == .storeUnavailable)
        #expect(double.service.requests.count == count + (kind == .consul ? 3 : 2))
    }

    @Test(
        "A write without an answer is an unknown outcome: it isn't repeated, and a read finds it",
        arguments: [StoreKind.consul, .http, .kubernetes, .vault]
    )
    func lostAnswer(kind: StoreKind) async throws {
        let double = kind.makeDouble()
        let store = try double.makeStore()
        // The first write may check or configure the service.
        _ = try await store.compareAndSwap("other", expectedVersion: nil, record: .sample)
        func writes() -> Int {
            double.service.requests.count { $0.method != .get && !$0.url.path.contains("/metadata/") }
        }
        let count = writes()
        double.service.lose { $0.method != .get && !$0.url.path.contains("/metadata/") }
        #expect(await store.writeCode() == .storeUnavailable)
        #expect(writes() == count + 1)
        let found = try #require(try await store.load("k"))
        #expect(found.record == .sample)
        #expect(await store.removalCode(found.version) == .storeUnavailable)
        #expect(try await store.load("k") == nil)
        #expect(writes() == count + 2)
    }

    // MARK: Addresses

    @Test(
        "Reject URLs that aren't confidential, or have a user, query or fragment",
        .shows("Y4"),
        arguments: [StoreKind.consul, .http, .kubernetes, .vault]
    )
    func urls(kind: StoreKind) async {
        func code(_ url: String) async -> OAuth2Error.Code? {
            await SharedStoresTests.code { _ = try kind.makeDouble().makeStore(at: url, token: nil) }
        }
        #expect(await code("http://store.example:8500") == .insecureTransport)
        for url in ["file:///tmp", "https://a.example/?x", "https://u@a.example/", "https://a.example/#x"] {
            #expect(await code(url) == .storeFailed, "\(url)")
        }
    }

    private static let paths = ["", "/", "/a", "a/", "a//b", "..", "a/../b", "a?b", "a%2Fb", "ä", "a b"]

    private static let unsuitableNames: [(String, [String], @Sendable (String) throws -> Void)] = [
        (
            "prefix of Consul",
            ["", "/", "tokens", "/tokens/", "a//b/", "../", "a/./", "a?b/", "a%2F/", "ä/", "a b/"],
            { _ = try ConsulDouble().store(prefix: $0) }
        ),
        (
            "namespace of Kubernetes",
            ["", "A", "a/b", "a.b", "-a", "a-", "ä", "a b", "..", String(repeating: "a", count: 64)],
            { _ = try KubernetesDouble().store(namespace: $0) }
        ),
        (
            "prefix of Kubernetes",
            ["A", "a/", "-a", ".a", "a..", "a-.", "a_", "ä", " ", String(repeating: "a", count: 129)],
            { _ = try KubernetesDouble().store(prefix: $0) }
        ),
        ("namespace of Vault", paths, { _ = try VaultDouble().store(namespace: $0) }),
        ("mount of Vault", paths, { _ = try VaultDouble().store(mount: $0) }),
        ("path of Vault", paths, { _ = try VaultDouble().store(path: $0) }),
    ]

    @Test("Reject unsuitable namespaces, prefixes and paths", arguments: unsuitableNames)
    func names(_: String, texts: [String], makeStore: @escaping @Sendable (String) throws -> Void) async {
        for text in texts { #expect(await code { try makeStore(text) } == .storeFailed, "\(text)") }
        #expect(await code { _ = try KubernetesDouble().store(prefix: "") } == nil)
    }
}

@Suite("StoreCredential", .limitedConcurrency)
struct StoreCredentialTests {
    @Test("Reads a file anew for each request, without whitespace at its ends")
    func file() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "credential-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let consul = ConsulDouble()
        let store = try consul.store(token: .file(path))
        #expect(await store.loadCode() == .storeFailed)
        #expect(consul.requests.isEmpty)
        for token in ["first-token", "second-token"] {
            try Data("\n\(token) \n".utf8).write(to: URL(filePath: path), options: .atomic)
            #expect(try await store.load("k") == nil)
            #expect(consul.requests.last?.headers["X-Consul-Token"] == token)
        }
    }

    @Test("Appears in no description or dump, nor do those of the services show it", .shows("Y4"))
    func secrecy() throws {
        let credential = StoreCredential.secret(Secret("a-secret-token"))
        let url = try #require(URL(string: "https://store.example"))
        let values: [Any] = [
            credential, try ConsulAgent(url, token: credential), try VaultServer(url, token: credential),
            try KubernetesNamespace("reports", server: url, token: credential),
            try ConsulDouble().store(token: credential), try VaultDouble().store(token: credential),
            try KubernetesDouble().store(token: credential),
        ]
        for value in values {
            var text = "\(value) \(String(reflecting: value))"
            dump(value, to: &text)
            #expect(!text.contains("a-secret-token"))
        }
    }

    @Test(
        "Rejects a file that can't be a header field, before anything is sent",
        .shows("L21"),
        arguments: [
            "", "  \n", "two tokens", "a\nb", "a\r\nX-Other: b", "tökén", String(repeating: "a", count: 70_000),
        ]
    )
    func unusable(text: String) async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "credential-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(filePath: path))
        let consul = ConsulDouble()
        for credential in [StoreCredential.file(path), .secret(Secret(text.count < 100 ? text : ""))] {
            let error = await #expect(throws: OAuth2Error.self) {
                try await consul.store(token: credential).load("k")
            }
            #expect(error?.code == .storeFailed)
        }
        #expect(await code { _ = try await consul.store(token: .file("/tmp")).load("k") } == .storeFailed)
        #expect(consul.requests.isEmpty)
    }
}
