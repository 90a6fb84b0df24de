import Networking
import OAuth2
import TokenGeneration

/// Values in an etcd cluster that expire, each with its own lease.
package struct EtcdValues: Sendable {
    private let cluster: EtcdCluster
    private let prefix: String

    package init(_ cluster: EtcdCluster, prefix: String) {
        self.cluster = cluster
        self.prefix = prefix
    }

    package func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        try await EtcdStorage(cluster: cluster, prefix: prefix).read(name)
    }

    /// A version of `nil` creates the value; the result is `nil` if the stored version is another.
    ///
    /// The cluster may keep a value for some seconds more.
    package func write(
        _ value: [UInt8],
        to name: String,
        over version: String?,
        lifetime: Duration
    ) async throws -> String? {
        let key = prefix + name
        var condition = EtcdRequest.Compare.absent(key)
        if let version {
            guard let revision = Int64.version(version) else { return nil }
            condition = .revision(key, revision)
        }
        // In whole seconds, and at most ten years.
        let (whole, part) = lifetime.components
        let seconds = min(max(Int(clamping: whole), 0), 86_400 * 3_650 - 1) + (part > 0 ? 1 : 0)
        guard let lease = try await cluster.response(to: .grantLease(max(seconds, 1))).lease else {
            throw EtcdFailure.malformed.error
        }
        let response = try await cluster.response(
            to: .transaction(if: [condition], then: [.put(key, value, lease: lease)], otherwise: [])
        )
        guard response.succeeded else {
            // The lease has no value.
            _ = try? await cluster.response(to: .revokeLease(lease))
            return nil
        }
        guard let revision = response.revision else { throw EtcdFailure.malformed.error }
        return String(revision)
    }

    package func remove(_ name: String) async throws {
        _ = try await cluster.response(to: .transaction(if: [], then: [.delete(prefix + name)], otherwise: []))
    }
}
