import Foundation
import MockNetworking
import Networking
import OAuth2
import TestSupport
import Testing

@testable import SharedStores

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

    @Test("Appears in no description or dump, nor do those of the services show it")
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
