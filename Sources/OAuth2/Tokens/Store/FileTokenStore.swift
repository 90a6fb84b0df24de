public import Foundation
import Glibc
public import Networking
internal import OpenSSLCrypto

/// A token store in files that outlives the process and can be shared on a machine.
///
/// ```swift
/// let store = try FileTokenStore(
///     directory: URL(filePath: "/var/lib/reports/tokens"),
///     encryptionKey: Secret(key)
/// )
/// ```
///
/// Each grant has its own file, readable only by its owner. A record is on the disk when
/// ``compareAndSwap(_:expectedVersion:record:)`` returns: the store writes a new file, syncs it,
/// renames it over the old one and syncs the directory. A reader finds either the old record or the
/// new one, even after a crash.
///
/// Reading a refresh token, using it and writing its successor happen under a lock (`flock`), which
/// the system releases when the process ends. The lock files are empty and stay in the directory.
///
/// A file that can't be used (truncated, modified, encrypted with another key, or of another grant)
/// is an error with the code `storeDamaged` each time it's read. The store renames it to
/// `….damaged-…` only when a new record replaces it: after
/// ``OAuth2Authenticator/signIn(with:)-(Secret)``, or at once for a grant that needs no user. A
/// file written by a newer version of this package is an error with the code `storeTooNew` and is
/// left unchanged.
///
/// The directory must be on a local file system, because not all network file systems keep locks.
/// The directory and all its parents must belong to the process's user or root, and no other user
/// may write to them, unless they are sticky as `/tmp` is.
///
/// An encrypted record is tied to its grant and to the version in its file, so it can't be used
/// under another name. The store can't detect that a whole file was replaced by an older copy of
/// itself; the folder's permissions prevent other users from doing that.
///
/// A file is at most 1 MiB. A record that would exceed it, or that can't be read back for another
/// reason, isn't written.
public final class FileTokenStore: TokenStore {
    /// The delays between attempts to lock a file, with jitter so that processes don't collide.
    private static let pauses = Retry.Backoff.doubling(.milliseconds(1), to: .milliseconds(20), jitter: .equal)

    private let directory: String
    private let coding: TokenRecordCoding
    private let timeSource: TimeSource
    private let sections: ExclusiveSections

    /// Creates a store, and its directory if needed, accessible only to its owner.
    ///
    /// - Parameters:
    ///   - directory: The directory of the files. Don't put other files there.
    ///   - encryptionKey: The key that encrypts records with AES-256-GCM: 32 bytes as base64 or
    ///     base64url text. The default is `nil`, which writes them unencrypted and relies on the
    ///     file system's protection.
    ///   - timeSource: The source of time.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` if the directory can't be created, if
    ///   users other than the owner and root could replace its contents, or if the key is invalid.
    public init(
        directory: URL,
        encryptionKey: Secret? = nil,
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        guard directory.isFileURL, directory.path.hasPrefix("/") else {
            throw OAuth2Error(.storeFailed, "the token store's directory isn't a file URL")
        }
        self.timeSource = timeSource
        coding = TokenRecordCoding(
            cipher: try encryptionKey.map { key throws(OAuth2Error) in try RecordCipher(sealingKey: key) }
        )
        sections = ExclusiveSections(timeSource: timeSource)
        self.directory = try TokenFile.prepareDirectory(directory.path)
    }

    /// Reads a record.
    ///
    /// - Throws: ``OAuth2Error`` with the code `storeDamaged`, `storeTooNew` or `storeFailed`.
    public func load(_ key: String) async throws -> VersionedTokenRecord? {
        try await BlockingWork.value { [coding, file = file(key)] in
            try file.read().map { try coding.decode($0, key: key) }
        }
    }

    /// Writes a record to the disk if the stored version is the expected one.
    ///
    /// A damaged record counts as none, and is set aside.
    ///
    /// - Throws: ``OAuth2Error`` with the code `storeTooNew` or `storeFailed`.
    public func compareAndSwap(
        _ key: String,
        expectedVersion: TokenRecordVersion?,
        record: TokenRecord
    ) async throws -> TokenRecordVersion? {
        try await BlockingWork.value { [coding, file = file(key)] in
            let lock = try file.lockWriting()
            defer { withExtendedLifetime(lock) {} }
            let text = try file.read()
            var isDamaged = false
            var version: TokenRecordVersion?
            do { version = try text.map { try coding.decode($0, key: key).version } } catch let error as OAuth2Error {
                guard error.code == .storeDamaged else { throw error }
                isDamaged = true
            }
            guard version == expectedVersion else { return nil }
            // A random version, so that those of removed records needn't be remembered.
            let next = VersionedTokenRecord(
                record: record,
                version: TokenRecordVersion(String(Int64.random(in: 0 ... .max)))
            )
            let encoded = try coding.encode(record, version: next.version, key: key)
            guard encoded.count <= TokenFile.maximumSize, try coding.isReadable(encoded, as: next, key: key) else {
                throw OAuth2Error(
                    .storeFailed,
                    "the record wasn't written because it couldn't be read back: its tokens are too large or not text"
                )
            }
            if isDamaged { try file.setAside() }
            try file.write(encoded)
            return next.version
        }
    }

    /// Removes a record if the stored version is the expected one.
    ///
    /// - Throws: ``OAuth2Error`` with the code `storeDamaged`, `storeTooNew` or `storeFailed`.
    public func remove(_ key: String, ifVersion version: TokenRecordVersion) async throws -> Bool {
        try await BlockingWork.value { [coding, file = file(key)] in
            let lock = try file.lockWriting()
            defer { withExtendedLifetime(lock) {} }
            guard let text = try file.read(), try coding.decode(text, key: key).version == version else { return false }
            try file.remove()
            return true
        }
    }

    /// Runs a closure while holding the exclusive lock for a key, among all processes of this
    /// machine.
    ///
    /// Tasks of this process get the lock in the order of their calls. The closure must not request
    /// the lock of its own key, which would deadlock.
    ///
    /// - Throws: Any error of the closure; ``OAuth2Error`` with the code `storeBusy` if the lock
    ///   isn't available in time, `storeFailed` if it can't be taken.
    public func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        let deadline = timeSource.now() + timeout
        return try await sections.withAccess(to: key, timeout: timeout) {
            let lock = try await lock(file(key), until: deadline, timeout)
            defer { withExtendedLifetime(lock) {} }
            return try await body()
        }
    }

    private func lock(
        _ file: TokenFile,
        until deadline: ContinuousClock.Instant,
        _ timeout: Duration
    ) async throws -> FileLock {
        var attempts = 0
        while true {
            if let lock = try file.lockSection() { return lock }
            let left = deadline - timeSource.now()
            guard left > .zero else {
                throw OAuth2Error(.storeBusy, "another process held the token store's lock for \(timeout)")
            }
            attempts += 1
            try await timeSource.sleep(min(left, Self.pauses.delay(retry: attempts)))
        }
    }

    private func file(_ key: String) -> TokenFile {
        TokenFile(directory: directory, name: Secret(key).fingerprint.hexadecimal)
    }
}
