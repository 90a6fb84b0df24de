public import Foundation
public import Networking
public import OAuth2
public import TokenGeneration

extension SigningKeyRing {
    /// Creates a ring in a store that hosts share, without reading it yet.
    ///
    /// The ring is one record of the store, encrypted with the store's keys. Use another prefix
    /// than for tokens, so that removing tokens doesn't remove the keys.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - name: The name of the ring, to keep several in one store. The default is `default`.
    ///   - options: The life of the keys.
    ///   - initialKey: The key that signs first, if the store has no ring yet. Pass the key that
    ///     the service has used so far: verifiers know it. Its ID, or else its thumbprint, is the
    ///     `kid`. The default is `nil`, for a new key.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the options can't work.
    public convenience init<Place>(
        _ store: SealedTokenStore<Place>,
        name: String = "default",
        options: Options = Options(),
        initialKey: SigningKey? = nil
    ) throws(OAuth2Error) {
        try self.init(
            store.storage,
            keys: store.keys,
            name: name,
            options: options,
            initialKey: initialKey,
            timeSource: store.timeSource
        )
    }

    /// Creates a ring in a file that the processes of one machine share, without reading it yet.
    ///
    /// - Parameters:
    ///   - directory: The directory of the file, on a local file system. It's created if needed,
    ///     accessible only to its owner.
    ///   - keys: The keys that encrypt the file.
    ///   - name: The name of the ring, to keep several in one directory. The default is `default`.
    ///   - options: The life of the keys.
    ///   - initialKey: The key that signs first, if there's no ring yet. The default is `nil`, for
    ///     a new key.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the options can't work, the directory
    ///   can't be created, or users other than the owner and root could replace its contents.
    public convenience init(
        directory: URL,
        keys: RecordKeys,
        name: String = "default",
        options: Options = Options(),
        initialKey: SigningKey? = nil,
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        guard directory.isFileURL, directory.path.hasPrefix("/") else {
            throw OAuth2Error(.storeFailed, "the ring's directory isn't a file URL")
        }
        try self.init(
            FileStorage(directory: directory.path),
            keys: keys,
            name: name,
            options: options,
            initialKey: initialKey,
            timeSource: timeSource
        )
    }

    /// Creates a ring in memory, for tests and for services of one process whose tokens may end
    /// with it.
    ///
    /// - Parameters:
    ///   - options: The life of the keys.
    ///   - timeSource: The source of time.
    /// - Throws: `OAuth2Error` with the code `storeFailed` if the options can't work.
    public convenience init(options: Options = Options(), timeSource: TimeSource = .system) throws(OAuth2Error) {
        let key = Data(try StoreRandom.bytes(count: 32))
        try self.init(
            MemoryStorage(),
            keys: RecordKeys(sealing: Secret(key.base64EncodedString())),
            options: options,
            timeSource: timeSource
        )
    }
}
