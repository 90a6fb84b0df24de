public import OAuth2

/// A token store in the secrets of a Kubernetes namespace, which any number of pods share.
///
/// ```swift
/// let store = try KubernetesTokenStore(namespace, keys: try RecordKeys(sealing: Secret(key)))
/// ```
///
/// Each record is a `Secret` of the type `Opaque`, named by a digest, which Kubernetes gets
/// encrypted. Writes and removals have the `resourceVersion` that they replace. A refresh is two
/// writes and at most one read.
///
/// **Permissions.** The service account needs a role with `get`, `create`, `update` and `delete` on
/// secrets, which applies to all secrets of the namespace. Use a namespace for the records alone.
///
/// **Limits.** A secret holds 1 MiB. The API server limits the rate of requests: the store waits
/// for the time in `Retry-After` if that's shorter than the timeout, once.
///
/// Hosts that wait for a change poll. The store doesn't watch, because that needs the right to list
/// the namespace's secrets. It replaces labels and annotations of a record, can't write to an
/// immutable secret, and can't remove one with finalizers. After a restoration of the cluster's
/// etcd, remove all records and sign in again. The store is tested with a double that follows the
/// documentation of Kubernetes, not with a cluster.
public typealias KubernetesTokenStore = SealedTokenStore<KubernetesNamespace>

extension SealedTokenStore where Place == KubernetesNamespace {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - namespace: The namespace.
    ///   - prefix: The prefix of the secrets' names: lowercase letters, digits, `-` and `.`. The
    ///     default is `token-`.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the prefix is invalid.
    public init(
        _ namespace: KubernetesNamespace,
        prefix: String = "token-",
        keys: RecordKeys
    ) throws(OAuth2Error) {
        // A digest follows, so the prefix may end with a separator.
        guard KubernetesNamespace.isName("\(prefix)0", separators: ["."]), prefix.utf8.count <= 128 else {
            throw OAuth2Error(
                .storeFailed,
                "the prefix of a Kubernetes store must be lowercase letters, digits, - and ., and start with one of "
                    + "the first two"
            )
        }
        self.init(
            KubernetesStorage(service: namespace.service, namespace: namespace.name, prefix: prefix),
            keys: keys,
            timeSource: namespace.service.timeSource
        )
    }
}
