import Foundation
import Glibc
import Networking

/// The files of one record: its text, and two locks that are never removed.
package struct TokenFile: Sendable {
    let directory: String
    let name: String

    package init(directory: String, name: String) {
        self.directory = directory
        self.name = name
    }

    private var path: String { "\(directory)/\(name).json" }
    /// The lock to read a record, request its successor and write that.
    private var sectionLockPath: String { "\(directory)/\(name).lock" }
    /// The lock for the duration of a write.
    private var writeLockPath: String { "\(directory)/\(name).write.lock" }
    private var temporaryPath: String { "\(directory)/\(name).tmp" }

    // MARK: Reading and writing

    /// The maximum size of a file that is read or written, in bytes.
    package static let maximumSize = 1 << 20

    /// Returns the text, or `nil` if the file doesn't exist.
    package func read() throws(OAuth2Error) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("read")
        }
        defer { close(descriptor) }
        // The store never writes a record beyond the limit. The truncated text is unusable.
        guard let text = Self.content(of: descriptor, limit: Self.maximumSize) else { throw Self.failure("read") }
        return text
    }

    /// Returns the content of a file, of which one part may be beyond the limit; `nil` and `errno`
    /// after a failure.
    package static func content(of descriptor: Int32, limit: Int) -> [UInt8]? {
        var content: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while content.count <= limit {
            let count = unsafe Glibc.read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return nil }
            guard count > 0 else { break }
            content += part.prefix(count)
        }
        return content
    }

    /// Replaces the text atomically: a reader sees the old one or the new one, even after a crash.
    package func write(_ text: [UInt8]) throws(OAuth2Error) {
        unsafe unlink(temporaryPath)
        let descriptor = unsafe open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure("written") }
        do throws(OAuth2Error) {
            defer { close(descriptor) }
            try Self.write(text, to: descriptor)
            guard fsync(descriptor) == 0 else { throw Self.failure("written") }
        } catch {
            unsafe unlink(temporaryPath)
            throw error
        }
        guard unsafe rename(temporaryPath, path) == 0 else { throw Self.failure("written") }
        try synchronizeDirectory()
    }

    package func remove() throws(OAuth2Error) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw Self.failure("removed") }
        try synchronizeDirectory()
    }

    /// Renames a file that can't be used, so that its contents aren't lost.
    func setAside() throws(OAuth2Error) {
        let number = String(UInt64.random(in: .min ... .max), radix: 16)
        guard unsafe rename(path, "\(directory)/\(name).damaged-\(number)") == 0 else {
            throw Self.failure("set aside")
        }
        try synchronizeDirectory()
    }

    private static func write(_ text: [UInt8], to descriptor: Int32) throws(OAuth2Error) {
        var written = 0
        while written < text.count {
            let rest = Array(text[written...])
            let count = unsafe Glibc.write(descriptor, rest, rest.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw failure("written") }
            written += count
        }
    }

    private func synchronizeDirectory() throws(OAuth2Error) {
        let descriptor = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw Self.failure("written") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw Self.failure("written") }
    }

    // MARK: Locks

    /// Takes the lock for exclusive access, or returns `nil` if another process holds it.
    func lockSection() throws(OAuth2Error) -> FileLock? {
        try FileLock(sectionLockPath, isPatient: false)
    }

    package func lockWriting() throws(OAuth2Error) -> FileLock {
        guard let lock = try FileLock(writeLockPath, isPatient: true) else { throw Self.failure("locked") }
        return lock
    }

    /// Creates the directory if needed, and rejects one whose files other users could replace;
    /// returns its path with symbolic links resolved, so that later changes have no effect.
    package static func prepareDirectory(_ path: String) throws(OAuth2Error) -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw OAuth2Error(.storeFailed, "the token store's directory can't be created", cause: error)
        }
        guard let resolved = unsafe realpath(path, nil) else { throw failure("used") }
        defer { unsafe free(resolved) }
        let target = unsafe String(cString: resolved)
        // The resolved path, and each link on the path to it.
        for chain in Set([path, target]) {
            let names = chain.split(separator: "/")
            for count in 0...names.count {
                let folder = "/" + names.prefix(count).joined(separator: "/")
                try checkOwner(of: folder, isStore: folder == target)
            }
        }
        return target
    }

    // Only the user and root may be able to replace a folder's contents, as OpenSSH requires for
    // keys. The folder and its parents must belong to them, and other users may write to them only
    // if they are sticky, as `/tmp` is: users can't rename or remove the files of others there.
    // That isn't enough for the store's own folder.
    private static func checkOwner(of path: String, isStore: Bool) throws(OAuth2Error) {
        var (link, folder) = (stat(), stat())
        guard unsafe lstat(path, &link) == 0, unsafe stat(path, &folder) == 0, folder.st_mode & S_IFMT == S_IFDIR else {
            throw OAuth2Error(.storeFailed, "“\(path)” in the token store's path isn't a usable folder")
        }
        let quoted = path.shellQuoted
        for owner in [link.st_uid, folder.st_uid] where owner != 0 && owner != geteuid() {
            throw OAuth2Error(
                .storeFailed,
                "“\(path)” belongs to another user (\(owner)), who could replace the token store; "
                    + "run chown \(geteuid()) \(quoted), or choose another folder"
            )
        }
        let isSticky = folder.st_mode & S_ISVTX != 0 && !isStore
        guard folder.st_mode & 0o022 == 0 || isSticky else {
            throw OAuth2Error(
                .storeFailed,
                "“\(path)” is writable by other users, who could replace the token store; run chmod go-w \(quoted)"
            )
        }
    }

    static func failure(_ verb: String) -> OAuth2Error {
        let number = errno
        let cause = POSIXErrorCode(rawValue: number).map { POSIXError($0) }
        return OAuth2Error(.storeFailed, "the token file could not be \(verb) (error \(number))", cause: cause)
    }
}

/// A file lock that ends with the value, or with the process.
///
/// A file that is replaced before it's locked wouldn't exclude other processes, so the initializer
/// compares the locked file with the one at the path.
package final class FileLock: Sendable {
    /// The maximum number of attempts to lock a file that another process keeps replacing.
    private static let attempts = 100

    private let descriptor: Int32

    // Returns `nil` if another process holds the lock and the caller isn't patient. Tests replace
    // the file in the closure `afterLocking`.
    init?(_ path: String, isPatient: Bool, afterLocking: (() -> Void)? = nil) throws(OAuth2Error) {
        for _ in 1...Self.attempts {
            guard let descriptor = try Self.locked(path, isPatient: isPatient) else { return nil }
            afterLocking?()
            if Self.isCurrent(descriptor, path) {
                self.descriptor = descriptor
                return
            }
            close(descriptor)
        }
        throw OAuth2Error(
            .storeFailed,
            "another process keeps replacing the token store's lock file; don't change the files in its folder"
        )
    }

    private static func locked(_ path: String, isPatient: Bool) throws(OAuth2Error) -> Int32? {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw TokenFile.failure("locked") }
        while flock(descriptor, LOCK_EX | (isPatient ? 0 : LOCK_NB)) != 0 {
            if errno == EINTR { continue }
            let isBusy = errno == EWOULDBLOCK
            let failure = TokenFile.failure("locked")
            close(descriptor)
            guard isBusy else { throw failure }
            return nil
        }
        return descriptor
    }

    private static func isCurrent(_ descriptor: Int32, _ path: String) -> Bool {
        var (locked, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &locked) == 0, unsafe lstat(path, &named) == 0 else { return false }
        return locked.st_dev == named.st_dev && locked.st_ino == named.st_ino
    }

    deinit { close(descriptor) }
}
