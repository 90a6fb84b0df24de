public import Networking
public import OAuth2
internal import OpenSSLCrypto

/// A token store that any number of hosts share, on a service that never sees tokens.
///
/// The stores are ``EtcdTokenStore`` in an etcd cluster, ``ConsulTokenStore`` in Consul's
/// key-value store, ``VaultTokenStore`` in a secrets engine of Vault or OpenBao,
/// ``KubernetesTokenStore`` in the secrets of a namespace, and ``HTTPTokenStore`` at the URL of an
/// HTTP server.
///
/// Records are encrypted before they leave the process, and their names are digests. A refresh is
/// two writes and at most one read. If the service can't be reached or accepts no writes, no
/// rotating refresh token is sent: another host may be using it. Tokens in memory remain usable
/// until they expire.
public struct SealedTokenStore<Place>: TokenStore {
    /// Hosts share the records.
    public var isSharedByHosts: Bool { true }

    let storage: any ConditionalStorage
    let keys: RecordKeys
    let timeSource: TimeSource
    private let coding: TokenRecordCoding
    private let sections: ExclusiveSections

    init(_ storage: any ConditionalStorage, keys: RecordKeys, timeSource: TimeSource) {
        self.storage = storage
        self.keys = keys
        self.timeSource = timeSource
        coding = TokenRecordCoding(cipher: keys.cipher)
        sections = ExclusiveSections(timeSource: timeSource)
    }

    /// Reads the current record, past all caches and replicas.
    ///
    /// - Throws: `OAuth2Error` with the code `storeUnavailable`, `storeFailed`, `storeDamaged` or
    ///   `storeTooNew`.
    public func load(_ key: String) async throws -> VersionedTokenRecord? {
        let name = Self.name(key)
        guard let (value, version) = try await storage.read(name) else { return nil }
        return VersionedTokenRecord(
            record: try coding.decodeRecord(value, key: name),
            version: TokenRecordVersion(version)
        )
    }

    /// Writes a record if the stored version is the expected one; a damaged record counts as none.
    ///
    /// - Throws: `OAuth2Error` with the code `storeUnavailable` if the outcome is unknown,
    ///   `storeFailed` if the service rejects the write, `storeTooNew`.
    public func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        let name = Self.name(key)
        let value = try coding.encode(record, key: name)
        guard value.count <= storage.maximumSize, (try? coding.decodeRecord(value, key: name)) != nil else {
            throw OAuth2Error(
                .storeFailed,
                "the record wasn't written because it couldn't be read back: its tokens are too large or not text"
            )
        }
        let expected = expectedVersion?.description
        if let version = try await storage.write(value, to: name, over: expected) { return TokenRecordVersion(version) }
        // A record that can't be read counts as none: only a sign-in writes without a version.
        guard expected == nil, let found = try await storage.read(name) else { return nil }
        do {
            _ = try coding.decodeRecord(found.value, key: name)
            return nil
        } catch {
            guard error.code == .storeDamaged else { throw error }
        }
        return try await storage.write(value, to: name, over: found.version).map(TokenRecordVersion.init)
    }

    /// Removes a record if the stored version is the expected one.
    ///
    /// - Throws: `OAuth2Error` with the code `storeUnavailable` or `storeFailed`.
    public func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool {
        try await storage.delete(Self.name(key), version: version.description)
    }

    /// Runs a closure while no other task of this process runs one for the same key.
    public func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        try await sections.withAccess(to: key, timeout: timeout, body)
    }

    /// Watches a record, or polls it if the service doesn't tell of changes.
    public func waitForChange(
        of key: String,
        after version: TokenRecordVersion?,
        timeout: Duration,
        timeSource: TimeSource
    ) async throws {
        let deadline = timeSource.now() + timeout
        do {
            let name = Self.name(key)
            if try await storage.waitForChange(of: name, after: version?.description, timeout: timeout) { return }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            // Polling notices the change as soon as the service can be reached again.
        }
        let left = deadline - timeSource.now()
        guard left > .zero else { return }
        try await pollForChange(of: key, after: version, timeout: left, timeSource: timeSource)
    }

    /// Says nothing about the grant, whose key may be a user's name.
    private static func name(_ key: String) -> String { Secret(key).fingerprint.hexadecimal }
}

/// The keys that encrypt records before they leave the process.
///
/// ```swift
/// let keys = try RecordKeys(sealing: Secret(newKey), alsoOpening: [Secret(oldKey)])
/// ```
///
/// To replace a key without a stop, first give all hosts the new key in `alsoOpening`, then seal
/// with it and keep the old one in `alsoOpening`, and remove that when all records have been
/// written again.
public struct RecordKeys: Sendable {
    package let cipher: RecordCipher
    /// The keys as text, the sealing one first, for modules that derive keys for other purposes.
    package let secrets: [Secret]

    /// Creates keys.
    ///
    /// - Parameters:
    ///   - sealing: The key that encrypts records with AES-256-GCM: 32 bytes as base64 or base64url
    ///     text, the same on all hosts.
    ///   - opening: Other keys that records may be encrypted with. The default is an empty list.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if a key is invalid.
    public init(sealing: Secret, alsoOpening opening: [Secret] = []) throws(OAuth2Error) {
        cipher = try RecordCipher(sealingKey: sealing, openingKeys: opening)
        secrets = [sealing] + opening
    }
}
