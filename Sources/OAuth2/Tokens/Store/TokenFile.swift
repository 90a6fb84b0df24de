import Dispatch
import Foundation
import Glibc
import Synchronization

/// The files of one record: its text, and two locks that are never removed.
///
/// A lock belongs to an open file and goes with the process that holds it, however that ends.
struct TokenFile: Sendable {
    /// The directory, which nobody else may look into.
    let directory: String
    /// The file's name without an extension.
    let name: String

    private var path: String { "\(directory)/\(name).json" }
    /// What everybody holds who reads a record, asks for its successor and writes that.
    private var sectionLockPath: String { "\(directory)/\(name).lock" }
    /// What everybody holds who writes, for as long as that takes.
    private var writeLockPath: String { "\(directory)/\(name).write.lock" }
    private var temporaryPath: String { "\(directory)/\(name).tmp" }

    // MARK: Reading and writing

    /// The largest file that is read, and so the largest that is written, in bytes.
    static let maximumSize = 1 << 20

    /// The text; `nil` if there is no file.
    func read() throws(OAuth2Error) -> [UInt8]? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw Self.failure("read")
        }
        defer { close(descriptor) }
        var text: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = unsafe Glibc.read(descriptor, &part, part.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Self.failure("read") }
            guard count > 0 else { return text }
            text += part.prefix(count)
            // The store writes no record as large as that. Being cut off makes the text unusable.
            guard text.count <= Self.maximumSize else { return text }
        }
    }

    /// Replaces the text, so that a reader, and whoever comes after a crash, sees the old one or the new one.
    func write(_ text: [UInt8]) throws(OAuth2Error) {
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

    func remove() throws(OAuth2Error) {
        guard unsafe unlink(path) == 0 || errno == ENOENT else { throw Self.failure("removed") }
        try synchronizeDirectory()
    }

    /// Gives a text that can't be used another name, so that it is not lost.
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

    /// Takes the lock of the section, if nobody has it.
    func lockSection() throws(OAuth2Error) -> FileLock? {
        try FileLock(sectionLockPath, isPatient: false)
    }

    /// Waits for the lock of writing, which everybody holds for a moment only.
    func lockWriting() throws(OAuth2Error) -> FileLock {
        guard let lock = try FileLock(writeLockPath, isPatient: true) else { throw Self.failure("locked") }
        return lock
    }

    /// Makes the directory if it is not there, and refuses one whose files others could replace.
    ///
    /// - Parameter path: The directory.
    /// - Returns: The directory's path without symbolic links, for all that follows: a link that is changed later changes nothing.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed`.
    static func prepareDirectory(_ path: String) throws(OAuth2Error) -> String {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw OAuth2Error(.storeFailed, "the directory of the token store can't be made", cause: error)
        }
        guard let resolved = unsafe realpath(path, nil) else { throw failure("used") }
        defer { unsafe free(resolved) }
        let target = unsafe String(cString: resolved)
        // Where the path leads, and each link on the way.
        for chain in Set([path, target]) {
            for folder in DirectoryCheck.chain(of: chain) {
                try DirectoryCheck(folder, isStore: folder == target).check()
            }
        }
        return target
    }

    static func failure(_ verb: String) -> OAuth2Error {
        let number = errno
        let cause = POSIXErrorCode(rawValue: number).map { POSIXError($0) }
        return OAuth2Error(.storeFailed, "the token file could not be \(verb) (error \(number))", cause: cause)
    }

    /// A disk may keep a thread waiting; those of Swift's tasks are too few for that.
    static func offLoading<Value: Sendable>(
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        // The result goes through a lock: a continuation that is resumed before anybody awaits it orders nothing that
        // ThreadSanitizer sees.
        let outcome = Outcome<Value>()
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                let result = Result { try work() }
                outcome.result.withLock { $0 = result }
                continuation.resume()
            }
        }
        return try outcome.result.withLock { $0 }.get()
    }

    private final class Outcome<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, any Error>>(.failure(CancellationError()))
    }
}

/// A lock that this process holds until the value goes.
///
/// The file may have been removed, and another made under its name, before the lock was taken; then the lock would exclude no other
/// process. So the descriptor's file is compared with the path's, and the lock is taken anew until they are the same.
final class FileLock: Sendable {
    /// The number of attempts to lock a file that another process keeps replacing.
    private static let attempts = 100

    private let descriptor: Int32

    /// Takes a lock; `nil` if another has it.
    ///
    /// - Parameters:
    ///   - path: Its file, which is made if it is not there.
    ///   - isPatient: Whether to wait for whoever has it.
    ///   - afterLocking: Called each time that a file has been locked, for tests that replace it.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed`.
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
            "the lock file of the token store is replaced all the time; leave the files in its folder alone"
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

    /// Returns whether the path still leads to the file that is locked.
    private static func isCurrent(_ descriptor: Int32, _ path: String) -> Bool {
        var (locked, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &locked) == 0, unsafe lstat(path, &named) == 0 else { return false }
        return locked.st_dev == named.st_dev && locked.st_ino == named.st_ino
    }

    deinit { close(descriptor) }
}
