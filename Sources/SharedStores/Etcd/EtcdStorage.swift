import OAuth2

/// Values in an etcd cluster, below a prefix.
struct EtcdStorage: ConditionalStorage {
    let cluster: EtcdCluster
    let prefix: String

    var maximumSize: Int { EtcdCluster.maximumValueSize }

    func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        try await cluster.response(to: .range(prefix + name)).entry().map { ($0.value, String($0.revision)) }
    }

    func write(_ value: [UInt8], to name: String, over version: String?) async throws -> String? {
        let key = prefix + name
        var condition = EtcdRequest.Compare.absent(key)
        if let version {
            guard let revision = Int64.version(version) else { return nil }
            condition = .revision(key, revision)
        }
        let response = try await cluster.response(
            to: .transaction(if: [condition], then: [.put(key, value)], otherwise: [])
        )
        guard response.succeeded else { return nil }
        guard let revision = response.revision else { throw EtcdFailure.malformed.error }
        return String(revision)
    }

    func delete(_ name: String, version: String) async throws -> Bool {
        guard let revision = Int64.version(version) else { return false }
        let key = prefix + name
        return try await cluster.response(
            to: .transaction(if: [.revision(key, revision)], then: [.delete(key)], otherwise: [])
        )
        .succeeded
    }

    func waitForChange(of name: String, after version: String?, timeout: Duration) async throws -> Bool {
        guard let revision = version.flatMap(Int64.version) else { return false }
        return try await cluster.waitForChange(of: prefix + name, after: revision, timeout: timeout)
    }
}
