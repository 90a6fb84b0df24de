import Foundation
import MockNetworking
import Networking
import OAuth2
import Synchronization
import TestSupport
import Testing
import TokenGeneration

@testable import SharedStores

@Suite("KubernetesNamespace", .limitedConcurrency)
struct KubernetesNamespaceTests {
    /// Runs a closure with the folder of a service account.
    private static func withServiceAccount(
        _ files: [String: String],
        _ body: (_ folder: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "account-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files { try Data(text.utf8).write(to: folder.appending(path: name)) }
        try await body(folder.path)
    }

    private static func namespace(
        _ folder: String,
        _ name: String? = nil,
        host: String? = "127.0.0.1",
        port: String? = "6443"
    ) throws -> KubernetesNamespace {
        var environment: [String: String] = [:]
        environment["KUBERNETES_SERVICE_HOST"] = host
        environment["KUBERNETES_SERVICE_PORT"] = port
        return try KubernetesNamespace(
            inCluster: name,
            environment: environment,
            serviceAccount: folder,
            timeout: .seconds(60),
            timeSource: .system
        )
    }

    @Test("Reaches the API server of a pod with TLS, and reads the token anew for each request")
    func inCluster() async throws {
        let authority = try MockCertificateAuthority()
        let files = ["ca.crt": authority.certificatePEM, "token": "first.token\n", "namespace": "reports\n"]
        var configuration = LoopbackServer.Configuration()
        configuration.tls = LoopbackServer.TLS(certificate: try authority.issueServerCertificate())
        let cluster = KubernetesDouble()
        try await withLoopbackServer(configuration: configuration) { server in
            server.fallback { request in
                let response = cluster.answer(request.method, request.path, request.body)
                return LoopbackResponse(status: response.status, headers: response.headers, body: response.body)
            }
            try await Self.withServiceAccount(files) { folder in
                let namespace = try Self.namespace(folder, port: String(server.port))
                #expect(namespace.name == "reports")
                let store = try KubernetesTokenStore(namespace, keys: RecordKeys(sealing: ServiceDouble.key))
                let first = try await store.write()
                try Data("second.token".utf8).write(to: URL(filePath: "\(folder)/token"), options: .atomic)
                let second = try #require(try await store.write(over: first))
                #expect(try await store.load("k")?.record == .sample)
                #expect(try await store.remove("k", ifVersion: second))
                #expect(try await store.load("k") == nil)
            }
            #expect(server.requests.map(\.method) == [.post, .put, .get, .delete, .get])
            let tokens = server.requests.map { $0.headers["Authorization"] }
            #expect(tokens == ["Bearer first.token"] + [String](repeating: "Bearer second.token", count: 4))
        }
    }

    @Test("Sends nothing to a server whose certificate isn't the cluster's", .shows("L20"))
    func foreignServer() async throws {
        var configuration = LoopbackServer.Configuration()
        let foreign = try MockCertificateAuthority()
        configuration.tls = LoopbackServer.TLS(certificate: try foreign.issueServerCertificate())
        let files = [
            "ca.crt": try MockCertificateAuthority(name: "The cluster").certificatePEM, "token": "a.token",
            "namespace": "reports",
        ]
        try await withLoopbackServer(configuration: configuration) { server in
            try await Self.withServiceAccount(files) { folder in
                let namespace = try Self.namespace(folder, port: String(server.port))
                let store = try KubernetesTokenStore(namespace, keys: RecordKeys(sealing: ServiceDouble.key))
                #expect(await store.loadCode() == .storeUnavailable)
            }
            #expect(server.requests.isEmpty)
        }
    }

    @Test("Fails outside a pod, and with a service account that isn't complete")
    func incomplete() async throws {
        let complete = [
            "ca.crt": try MockCertificateAuthority().certificatePEM, "token": "a.token", "namespace": "reports",
        ]
        try await Self.withServiceAccount(complete) { folder in
            let other = try Self.namespace(folder, "other")
            #expect(other.name == "other")
            #expect(await code { _ = try Self.namespace(folder, host: "fd00::1") } == nil)
            #expect(await code { _ = try Self.namespace(folder, "Other") } == .storeFailed)
            // Inside a pod and outside of one.
            #expect(await code { _ = try KubernetesNamespace("Other") } == .storeFailed)
            for host in [nil, "", "u@h", "h/x?", "h#"] {
                #expect(await code { _ = try Self.namespace(folder, host: host) } == .storeFailed, "\(host ?? "")")
            }
            for port in [nil, "", "0", "65536", "x", "443/"] {
                #expect(await code { _ = try Self.namespace(folder, port: port) } == .storeFailed, "\(port ?? "")")
            }
        }
        for (name, text) in [
            ("ca.crt", nil), ("token", nil), ("namespace", nil), ("ca.crt", "no certificate"), ("token", ""),
            ("token", "two tokens"), ("namespace", ""), ("namespace", "a/b"),
            ("namespace", String(repeating: "a", count: 300)),
        ] {
            var files = complete
            files[name] = text
            try await Self.withServiceAccount(files) { folder in
                #expect(await code { _ = try Self.namespace(folder) } == .storeFailed, "\(name)")
            }
        }
    }
}

/// A double of the secrets of a Kubernetes API server, with the answers that its documentation
/// describes.
final class KubernetesDouble: Sendable {
    private struct State {
        var version = 100
        var secrets: [String: JSONObject] = [:]
    }

    static let namespace = "reports"

    let service = ServiceDouble()
    private let state = Mutex(State())

    var requests: [MockTransport.RecordedRequest] { service.requests }
    /// The methods and paths of the requests, without the digests.
    var calls: [String] {
        requests.map { "\($0.method.rawValue) \($0.url.path.replacing(/[0-9a-f]{32}/, with: "…"))" }
    }

    /// Changes the members of all secrets, as another program would.
    func change(_ change: (inout JSONObject) -> Void) {
        state.withLock { state in
            for name in state.secrets.keys {
                var secret = state.secrets[name] ?? [:]
                change(&secret)
                state.version += 1
                state.secrets[name] = Self.versioned(secret, state.version)
            }
        }
    }

    func store(
        _ url: String = "https://10.0.0.1:443",
        namespace: String = KubernetesDouble.namespace,
        token: StoreCredential? = nil,
        prefix: String = "token-",
        time: TimeSource = .system
    ) throws -> KubernetesTokenStore {
        let transport = service.transport(time) { [self] request in
            answer(request.method, request.url.path, request.bodyData() ?? Data())
        }
        let namespace = try KubernetesNamespace(
            namespace,
            server: URL(string: url)!,
            token: token,
            transport: transport,
            timeSource: time
        )
        return try KubernetesTokenStore(namespace, prefix: prefix, keys: RecordKeys(sealing: ServiceDouble.key))
    }

    func answer(_ method: HTTPMethod, _ path: String, _ body: Data) -> HTTPTransportResponse {
        guard let match = path.wholeMatch(of: /\/api\/v1\/namespaces\/([^\/]+)\/secrets(?:\/([^\/]+))?/) else {
            return .text("404 page not found", status: 404)
        }
        var limits = JSONLimits.document
        limits.size = 3 << 20
        let json = (try? JSONObject(parsing: Array(body), limits: limits)) ?? [:]
        let metadata = json["metadata"]?.object
        guard let name = match.2.map(String.init) ?? metadata?["name"]?.string else { return .status(422, "Invalid") }
        return state.withLock { state in
            let found = state.secrets[name]
            let current = found?["metadata"]?.object?["resourceVersion"]?.string
            switch method {
            case .get:
                return found.map { .json($0.serialized()) } ?? .status(404, "NotFound")
            case .post:
                guard match.1 == Self.namespace else { return .status(404, "NotFound", kind: "namespaces") }
                guard found == nil else { return .status(409, "AlreadyExists") }
            case .put:
                guard found != nil else { return .status(404, "NotFound") }
                // An update without a version, or with 0, is unconditional.
                let version = metadata?["resourceVersion"]?.string ?? ""
                guard ["", "0", current].contains(version) else { return .status(409, "Conflict") }
                guard found?["immutable"]?.bool != true else { return .status(422, "Invalid") }
            case .delete:
                guard let found else { return .status(404, "NotFound") }
                let version = json["preconditions"]?.object?["resourceVersion"]?.string
                guard version == nil || version == current else { return .status(409, "Conflict") }
                guard found["metadata"]?.object?["finalizers"] == nil else { return .json(found.serialized()) }
                state.secrets[name] = nil
                return .json(#"{"kind":"Status","apiVersion":"v1","status":"Success","details":{"kind":"secrets"}}"#)
            default:
                return .status(405, "MethodNotAllowed")
            }
            guard (json["data"]?.object?["record"]?.string?.utf8.count ?? 0) <= (1 << 20) * 4 / 3 + 4 else {
                return .status(422, "Invalid")
            }
            state.version += 1
            let stored = Self.versioned(json, state.version)
            state.secrets[name] = stored
            return .json(stored.serialized(), status: method == .post ? 201 : 200)
        }
    }

    private static func versioned(_ secret: JSONObject, _ version: Int) -> JSONObject {
        var (secret, metadata) = (secret, secret["metadata"]?.object ?? [:])
        metadata["resourceVersion"] = .string(String(version))
        secret["metadata"] = .object(metadata)
        return secret
    }
}

extension HTTPTransportResponse {
    /// Returns a failure as Kubernetes reports it.
    static func status(
        _ status: Int,
        _ reason: String,
        kind: String = "secrets",
        headers: HTTPHeaders = [:]
    ) -> Self {
        let text =
            #"{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"…","#
            + #""reason":"\#(reason)","details":{"name":"x","kind":"\#(kind)"},"code":\#(status)}"#
        return Self(status: status, headers: headers, body: Data(text.utf8))
    }
}
