public import Foundation
public import Networking
internal import OpenSSLCrypto

/// A store in files, which outlives the process and which several processes of a machine share.
///
/// ```swift
/// let store = try FileTokenStore(directory: URL(filePath: "/var/lib/reports/tokens"), encryptionKey: Secret(key))
/// ```
///
/// Each grant has a file of its own, which nobody but the file's owner can read. A record is on the disk when
/// ``compareAndSwap(_:expectedVersion:record:)`` returns: the new text is written beside the old one, brought to the disk, given the old
/// one's name, and so is the directory. Whoever reads it, after a crash as well, finds the old one or the new one.
///
/// Reading a refresh token, using it and writing its successor happens under a lock (`flock`), which the system takes back from a process
/// that ends. The files of locks stay where they are; they are empty, and not what is locked.
///
/// A file that can't be used (cut short, changed, encrypted with another key, somebody else's) is an error with the code `storeDamaged`,
/// as often as it is read. It is set aside under the name `….damaged-…` only when a new record takes its place: after
/// ``OAuth2Authenticator/signIn(with:)-(Secret)``, or at once for a grant that needs nobody. One of a newer version of this package is an error
/// with the code `storeTooNew`, and left as it is.
///
/// The directory must be on a file system of the machine itself: network file systems do not all keep locks. It and all folders above it
/// must belong to the process's user or root, and no other user may write to them, unless they are sticky as `/tmp` is.
///
/// A sealed record is tied to its grant and to the version in its file: it is of no use under another name. A whole file that is
/// replaced by an older copy of itself is not noticed; the folder's permissions keep others from doing that.
///
/// A file has at most 1 MiB. A record that would make a larger one, or that can't be read back for another reason, isn't written.
public final class FileTokenStore: TokenStore {
    /// The pauses between attempts to lock a file, by chance, so that two that wait for the same lock don't come at the same
    /// moments for ever.
    private static let pauses = Retry.Backoff.doubling(.milliseconds(1), to: .milliseconds(20), jitter: .equal)

    private let directory: String
    private let coding: TokenRecordCoding
    private let timeSource: TimeSource
    private let sections: ExclusiveSections

    /// Makes a store, and its directory if it is not there, for its owner alone.
    ///
    /// - Parameters:
    ///   - directory: Where the files are; nothing else should be there.
    ///   - encryptionKey: What records are encrypted with (AES-256-GCM): 32 octets as base64 or base64url text. `nil` to write them in the
    ///     clear, for the file system to protect.
    ///   - timeSource: Where time comes from.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed` if the directory can't be made, if others than the user and root could
    ///   replace its contents, or if the key is invalid.
    public init(
        directory: URL,
        encryptionKey: Secret? = nil,
        timeSource: TimeSource = .system
    ) throws(OAuth2Error) {
        guard directory.isFileURL, directory.path.hasPrefix("/") else {
            throw OAuth2Error(.storeFailed, "the directory of the token store is not a file URL")
        }
        self.timeSource = timeSource
        coding = TokenRecordCoding(cipher: try encryptionKey.map(Self.cipher))
        sections = ExclusiveSections(timeSource: timeSource)
        self.directory = try TokenFile.prepareDirectory(directory.path)
    }

    private static func cipher(_ key: Secret) throws(OAuth2Error) -> AESGCM {
        let octets = key.expose { text in
            let base64 = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
                .trimmingCharacters(in: CharacterSet(charactersIn: "= \n"))
            return Data(base64Encoded: base64 + String(repeating: "=", count: (4 - base64.utf8.count % 4) % 4))
        }
        do { return try AESGCM(key: Array(octets ?? Data()).withBytes { SecretBytes(copying: $0) }) } catch {
            throw OAuth2Error(
                .storeFailed,
                "the encryption key is not 32 octets in base64; make one with `openssl rand -base64 32`",
                cause: error
            )
        }
    }

    /// Reads a record.
    ///
    /// - Parameter key: What the record is kept under.
    /// - Returns: The record and its version, or `nil` if there is none.
    /// - Throws: ``OAuth2Error`` with the code `storeDamaged`, `storeTooNew` or `storeFailed`.
    public func load(_ key: String) async throws -> VersionedTokenRecord? {
        try await TokenFile.offLoading { [coding, file = file(key)] in
            try file.read().map { try coding.decode($0, key: key) }
        }
    }

    /// Writes a record if nobody has written one since it was read.
    ///
    /// - Parameters:
    ///   - key: What the record is kept under.
    ///   - expectedVersion: The version to replace; `nil` if there must not be a record. One that can't be used counts as none, and is
    ///     set aside.
    ///   - record: The new record.
    /// - Returns: Whether the record was written; it is on the disk then.
    /// - Throws: ``OAuth2Error`` with the code `storeTooNew` or `storeFailed`.
    public func compareAndSwap(_ key: String, expectedVersion: Int?, record: TokenRecord) async throws -> Bool {
        try await TokenFile.offLoading { [coding, file = file(key)] in
            let lock = try file.lockWriting()
            defer { withExtendedLifetime(lock) {} }
            let text = try file.read()
            var isDamaged = false
            var version: Int?
            do { version = try text.map { try coding.decode($0, key: key).version } } catch let error as OAuth2Error {
                guard error.code == .storeDamaged else { throw error }
                isDamaged = true
            }
            guard version == expectedVersion else { return false }
            let next = VersionedTokenRecord(record: record, version: try Self.newVersion())
            let encoded = try coding.encode(next, key: key)
            guard encoded.count <= TokenFile.maximumSize, try coding.isReadable(encoded, as: next, key: key) else {
                throw OAuth2Error(
                    .storeFailed,
                    "the record could not be read back, and isn't written: its tokens are too large, or not text"
                )
            }
            if isDamaged { try file.setAside() }
            try file.write(encoded)
            return true
        }
    }

    /// Removes a record if nobody has written one since it was read.
    ///
    /// - Parameters:
    ///   - key: What the record is kept under.
    ///   - version: The version to remove.
    /// - Returns: Whether there was such a record.
    /// - Throws: ``OAuth2Error`` with the code `storeDamaged`, `storeTooNew` or `storeFailed`.
    public func remove(_ key: String, ifVersion version: Int) async throws -> Bool {
        try await TokenFile.offLoading { [coding, file = file(key)] in
            let lock = try file.lockWriting()
            defer { withExtendedLifetime(lock) {} }
            guard let text = try file.read(), try coding.decode(text, key: key).version == version else { return false }
            try file.remove()
            return true
        }
    }

    /// Runs a body while nobody else is in a body for the same key, in any process of this machine.
    ///
    /// Those of this process get in in the order in which they came. A body must not ask for access to its own key: it would wait for
    /// itself.
    ///
    /// - Parameters:
    ///   - key: What the section is about.
    ///   - timeout: How long to wait for others to leave it.
    ///   - body: What is done in the section.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws; ``OAuth2Error`` with the code `storeBusy` if the section is not free in time, `storeFailed` if it
    ///   can't be locked; `CancellationError` if the task is cancelled while it waits.
    public func withExclusiveAccess<Result: Sendable>(
        to key: String,
        timeout: Duration,
        _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        let deadline = timeSource.now() + timeout
        try await sections.enter(key, timeout: timeout)
        defer { sections.leave(key) }
        let lock = try await lock(file(key), until: deadline, timeout)
        defer { withExtendedLifetime(lock) {} }
        return try await body()
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
                throw OAuth2Error(.storeBusy, "another process had the token store to itself for \(timeout)")
            }
            attempts += 1
            try await timeSource.sleep(min(left, Self.pauses.delay(retry: attempts)))
        }
    }

    private func file(_ key: String) -> TokenFile {
        TokenFile(directory: directory, name: Secret(key).fingerprint.hexadecimal)
    }

    /// A number that no record has had: by chance, so that it needs no memory of those that were removed.
    private static func newVersion() throws -> Int {
        let octets = try SecureRandom.bytes(count: 8)
        return Int(octets.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 1)
    }
}
