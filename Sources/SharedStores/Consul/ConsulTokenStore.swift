public import OAuth2

/// A token store in Consul's key-value store, which any number of hosts share.
///
/// ```swift
/// let store = try ConsulTokenStore(agent, keys: try RecordKeys(sealing: Secret(key)))
/// ```
///
/// Reads are consistent, which Consul's default isn't, and hosts that wait for a change use
/// [blocking queries](https://developer.hashicorp.com/consul/api-docs/features/blocking). Consul
/// doesn't answer the index of a write, so the store reads each record that it has written. A
/// refresh is two writes and at most three reads.
///
/// The ACL token needs a policy with `write` on the prefix. Consul limits values to 512 KB.
///
/// Consul answers that a removal succeeded if the record is already absent. If two hosts remove one
/// version at the same moment, both can be told that they removed it.
///
/// A cluster that is restored from a snapshot has old records. A process that has seen newer ones
/// rejects them with the code `storeDamaged`; remove the prefix after a restoration and sign in
/// again. The store is tested with a double that follows Consul's documentation, not with Consul.
public typealias ConsulTokenStore = SealedTokenStore<ConsulAgent>

extension SealedTokenStore where Place == ConsulAgent {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - agent: The agent.
    ///   - prefix: The prefix of the records' keys: names of ASCII letters, digits, `-`, `.`, `_`
    ///     and `~`, each followed by a slash. The default is `tokens/`.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the prefix is invalid.
    public init(_ agent: ConsulAgent, prefix: String = "tokens/", keys: RecordKeys) throws(OAuth2Error) {
        guard prefix.hasSuffix("/"), StoreService.isPlainPath(String(prefix.dropLast())) else {
            throw OAuth2Error(.storeFailed, "the prefix of a Consul store must be names that each end with a slash")
        }
        self.init(
            ConsulStorage(service: agent.service, prefix: prefix),
            keys: keys,
            timeSource: agent.service.timeSource
        )
    }
}
