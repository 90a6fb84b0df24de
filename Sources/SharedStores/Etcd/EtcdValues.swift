import Networking
import OAuth2
import TokenGeneration

/// Values in an etcd cluster that expire, each with its own lease.
package struct EtcdValues: Sendable {
    private let storage: EtcdStorage

    package init(_ cluster: EtcdCluster, prefix: String) {
        storage = EtcdStorage(cluster: cluster, prefix: prefix)
    }

    package func read(_ name: String) async throws -> (value: [UInt8], version: String)? {
        try await storage.read(name)
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
        // In whole seconds, and at most ten years.
        let (whole, part) = min(max(lifetime, .zero), .tenYears).components
        let grant = EtcdRequest.grantLease(seconds: max(Int(whole) + (part > 0 ? 1 : 0), 1))
        guard let lease = try await storage.cluster.response(to: grant).lease else {
            throw EtcdFailure.malformed.error
        }
        if let next = try await storage.write(value, to: name, over: version, lease: lease) { return next }
        // The lease has no value.
        _ = try? await storage.cluster.response(to: .revokeLease(lease))
        return nil
    }

    package func remove(_ name: String) async throws {
        _ = try await storage.cluster.response(to: .transaction(if: [], then: [.delete(storage.prefix + name)]))
    }
}
