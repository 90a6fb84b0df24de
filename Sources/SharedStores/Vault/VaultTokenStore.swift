public import OAuth2

/// A token store in a KV secrets engine (version 2) of Vault or OpenBao, which any number of hosts
/// share.
///
/// ```swift
/// let store = try VaultTokenStore(server, keys: try RecordKeys(sealing: Secret(key)))
/// ```
///
/// Each record is a secret with the member `record`, which Vault gets encrypted. Writes have the
/// check-and-set option `cas`. A refresh is two writes and at most one read. Vault doesn't tell of
/// changes, so hosts that wait for one poll.
///
/// **Old versions.** The engine keeps ten versions by default, with refresh tokens that were
/// replaced. When the store creates a record, it sets `max_versions` to 1 and `cas_required` to
/// `true` in its metadata. The mount's own `max_versions` wins if it's larger: leave it unset, or
/// set it to 1. Don't set `delete_version_after`, which would remove records.
///
/// **Removals.** Vault can't remove on a condition. The store writes an empty version instead,
/// which later sign-ins replace. Don't remove records with `vault kv delete`: that leaves the
/// version, so a refresh that has begun writes over it. `vault kv metadata delete` counts versions
/// anew; use it only while no host runs.
///
/// **Permissions.** The token needs `create`, `read` and `update` on the data of the path, and
/// `create` and `update` on its metadata.
///
/// The store can't use version 1 of the engine, which has no conditions, and can't read
/// consistently from a standby node that answers reads itself. A process that gets an old record
/// from one rejects it with the code `storeDamaged`. After a restoration from a snapshot, remove
/// all records and sign in again. The store is tested with a double that follows Vault's
/// documentation, not with Vault.
public typealias VaultTokenStore = SealedTokenStore<VaultServer>

extension SealedTokenStore where Place == VaultServer {
    /// Creates a store.
    ///
    /// - Parameters:
    ///   - server: The server.
    ///   - mount: The path of the secrets engine. The default is `secret`.
    ///   - path: The path of the records in the engine. The default is `tokens`.
    ///   - keys: The keys that encrypt the records, the same on all hosts.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if a path isn't names of ASCII letters,
    ///   digits, `-`, `.`, `_` and `~` with slashes between them.
    public init(
        _ server: VaultServer,
        mount: String = "secret",
        path: String = "tokens",
        keys: RecordKeys
    ) throws(OAuth2Error) {
        guard StoreService.isPlainPath(mount), StoreService.isPlainPath(path) else {
            throw OAuth2Error(.storeFailed, "the paths of a Vault store must be names with slashes between them")
        }
        self.init(
            VaultStorage(service: server.service, mount: mount, path: path),
            keys: keys,
            timeSource: server.service.timeSource
        )
    }
}
