import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

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

    @Test("Sends nothing to a server whose certificate isn't the cluster's")
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
