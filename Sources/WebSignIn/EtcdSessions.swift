import Networking
import OAuth2
public import SharedStores

/// A ``SessionStore`` in an etcd cluster, which any number of hosts share.
///
/// ```swift
/// let sessions = EtcdSessions(cluster)
/// ```
///
/// Reads are linearizable, so a sign-out counts on all hosts at once. Each value has a lease, with
/// which it expires. A request of a user costs two or three reads, and once in a tenth of the idle
/// lifetime two writes.
public struct EtcdSessions: SessionStore {
    private let values: EtcdValues

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - cluster: The cluster. Its user needs a role with `readwrite` on the prefix.
    ///   - prefix: The prefix of the keys. The default is `/sessions/`.
    public init(_ cluster: EtcdCluster, prefix: String = "/sessions/") {
        values = EtcdValues(cluster, prefix: prefix)
    }

    /// Reads a value.
    ///
    /// - Throws: `OAuth2Error` with the code `storeUnavailable` or `storeFailed`.
    public func read(_ key: String) async throws -> StoredSessionValue? {
        try await values.read(key).map { value, version in
            StoredSessionValue(value: String(decoding: value, as: UTF8.self), version: version)
        }
    }

    /// Writes a value if the stored version is the expected one.
    ///
    /// - Throws: `OAuth2Error` with the code `storeUnavailable` if the outcome is unknown, or
    ///   `storeFailed`.
    public func write(
        _ value: String,
        for key: String,
        replacing version: String?,
        lifetime: Duration
    ) async throws -> String? {
        try await values.write(Array(value.utf8), to: key, over: version, lifetime: lifetime)
    }

    /// Removes a value.
    ///
    /// - Throws: `OAuth2Error` with the code `storeUnavailable` or `storeFailed`.
    public func remove(_ key: String) async throws { try await values.remove(key) }
}
