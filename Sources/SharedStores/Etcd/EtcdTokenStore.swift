/// A token store in an etcd cluster, which any number of hosts share.
///
/// ```swift
/// let store = EtcdTokenStore(cluster, keys: try RecordKeys(sealing: Secret(key)))
/// ```
///
/// Reads are linearizable, and hosts that wait for a change watch the record.
///
/// A cluster that is restored from a snapshot has old records. A process that has seen newer ones
/// rejects them with the code `storeDamaged`; remove the prefix after a restoration and sign in
/// again.
public typealias EtcdTokenStore = SealedTokenStore<EtcdCluster>

extension SealedTokenStore where Place == EtcdCluster {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - cluster: The cluster.
    ///   - prefix: The prefix of the records' keys. The default is `/tokens/`.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    public init(_ cluster: EtcdCluster, prefix: String = "/tokens/", keys: RecordKeys) {
        self.init(EtcdStorage(cluster: cluster, prefix: prefix), keys: keys, timeSource: cluster.timeSource)
    }
}
