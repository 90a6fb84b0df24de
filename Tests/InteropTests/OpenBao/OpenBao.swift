import Foundation
import FoundationNetworking
import Networking
import OAuth2
import SharedStores
import Testing
import TokenGeneration

/// OpenBao, a fork of Vault, started by `Tests/Interop/openbao_server.py`.
struct OpenBao: Sendable {
    /// The root token.
    let token: String
    /// The key that unseals a node.
    let key: String
    let urls: [URL]

    private let client = NetworkClient(options: .init(timeout: .seconds(60)))

    /// One node, which keeps its data in memory.
    static var single: OpenBao { get throws { try OpenBao("single") } }
    /// Three nodes with Raft. Only the third has `disable_standby_reads`.
    static var cluster: OpenBao { get throws { try OpenBao("cluster") } }

    private init(_ name: String) throws {
        let file = try Data(contentsOf: URL(filePath: Interop.required("INTEROP_OPENBAO")))
        let found = try #require(JSONObject(parsing: file)[name]?.object)
        token = try #require(found["token"]?.string)
        key = try #require(found["key"]?.string)
        urls = try #require(found["urls"]?.array).compactMap { $0.string.flatMap(URL.init) }
    }

    /// Calls the API of a node without the library's stores and token sources.
    @discardableResult
    func call(
        _ method: String,
        _ path: String,
        _ body: JSONObject? = nil,
        at node: Int = 0,
        token: String? = nil
    ) async throws -> JSONObject {
        var request = URLRequest(url: try #require(URL(string: "\(urls[node])/v1/\(path)")))
        request.httpMethod = method
        request.setValue(token ?? self.token, forHTTPHeaderField: "X-Vault-Token")
        request.httpBody = body?.serializedData()
        let answer = try await client.makeRequest(request)
        return answer.isEmpty ? [:] : try JSONObject(parsing: answer)
    }

    /// Waits for a condition that a cluster meets after an election or when its nodes catch up.
    static func wait<Value>(_ what: String, for value: () async throws -> Value?) async throws -> Value {
        for _ in 1...600 {
            if let found = try? await value() { return found }
            try await Task.sleep(for: .milliseconds(50))
        }
        return try #require(nil as Value?, "\(what) didn't happen within 30 s")
    }

    // MARK: Roles

    private func isActive(_ node: Int) async throws -> Bool {
        try await call("GET", "sys/leader", at: node)["is_self"] == true
    }

    /// Returns the active node once all nodes know it.
    func active() async throws -> Int {
        try await Self.wait("an election") {
            var leaders: Set<String?> = []
            for node in urls.indices {
                leaders.insert(try await call("GET", "sys/leader", at: node)["leader_address"]?.string)
            }
            guard leaders.count == 1, let leader = leaders.first else { return nil }
            return urls.firstIndex { $0.absoluteString == leader }
        }
    }

    /// Returns the active node and the standby that answers reads. The third node is the other one.
    func roles() async throws -> (active: Int, standby: Int) {
        while try await active() == 2 {
            try await call("PUT", "sys/step-down", at: 2)
            _ = try await Self.wait("a step down") { try await isActive(2) ? nil : true }
        }
        let active = try await active()
        return (active, 1 - active)
    }

    // MARK: Stores

    /// Returns a token with the policy that the documentation has for a store's records.
    func storeToken() async throws -> StoreCredential {
        let policy = """
            path "secret/data/tokens/*" { capabilities = ["create", "read", "update"] }
            path "secret/metadata/tokens/*" { capabilities = ["create", "update"] }
            """
        let active = urls.count == 1 ? 0 : try await active()
        try await call("PUT", "sys/policies/acl/tokens", ["policy": .string(policy)], at: active)
        let answer = try await call("POST", "auth/token/create", ["policies": ["tokens"]], at: active)
        let token = try #require(answer["auth"]?.object?["client_token"]?.string)
        for node in urls.indices {
            _ = try await Self.wait("the replication of a token") {
                try await call("GET", "auth/token/lookup-self", at: node, token: token)
            }
        }
        return .secret(Secret(token))
    }

    /// Enables a secrets engine at the path of its name, unless it's there.
    func enable(_ engine: String) async throws {
        let found = try await call("GET", "sys/mounts")["data"]?.object
        guard found?["\(engine)/"] == nil else { return }
        // Another test may do the same now.
        _ = try? await call("POST", "sys/mounts/\(engine)", ["type": .string(engine)])
    }

    func server(at node: Int, _ token: StoreCredential, readsActiveNode: Bool = false) throws -> VaultServer {
        try VaultServer(urls[node], token: token, readsActiveNode: readsActiveNode, timeout: .seconds(60))
    }
}

extension VaultServer {
    /// Returns a store of the server, with the same key each time.
    func store(mount: String = "secret", path: String) throws -> VaultTokenStore {
        let key = Secret(Data(repeating: 7, count: 32).base64EncodedString())
        return try VaultTokenStore(self, mount: mount, path: path, keys: RecordKeys(sealing: key))
    }
}
