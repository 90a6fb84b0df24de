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
            // No record of ours is as large as that.
            guard text.count <= 1 << 20 else { return text }
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

    /// Makes the directory if it is not there, and refuses one that others can write to.
    static func prepareDirectory(_ path: String) throws(OAuth2Error) {
        do {
            try FileManager.default.createDirectory(
                atPath: path,
                withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700]
            )
        } catch {
            throw OAuth2Error(.storeFailed, "the directory of the token store can't be made", cause: error)
        }
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { throw failure("used") }
        guard status.st_mode & 0o022 == 0 else {
            throw OAuth2Error(
                .storeFailed,
                "the directory of the token store can be written to by others; take that right away (chmod 700)"
            )
        }
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
final class FileLock: Sendable {
    private let descriptor: Int32

    /// Takes a lock; `nil` if another has it.
    ///
    /// - Parameters:
    ///   - path: Its file, which is made if it is not there.
    ///   - isPatient: Whether to wait for whoever has it.
    /// - Throws: ``OAuth2Error`` with the code `storeFailed`.
    init?(_ path: String, isPatient: Bool) throws(OAuth2Error) {
        descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw TokenFile.failure("locked") }
        while flock(descriptor, LOCK_EX | (isPatient ? 0 : LOCK_NB)) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw TokenFile.failure("locked") }
            return nil
        }
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }
}
