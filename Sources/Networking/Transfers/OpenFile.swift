import Foundation
import Glibc

/// A file that's open and exclusively locked for a transfer.
///
/// Releasing the last reference closes the file and releases the lock, as does the end of the
/// process, even if it's killed.
final class OpenFile: Sendable {
    let path: String
    private let descriptor: Int32

    /// Opens a file for reading and writing, or creates it with access for its owner only.
    ///
    /// Symbolic links aren't followed. A file that others could have planted or could read is
    /// removed and created again.
    ///
    /// - Throws: ``NetworkError`` with the code `transferInProgress` if another transfer uses the
    ///   file, or `cannotUseFile` if a system call fails.
    init(path: String, name: String) throws(NetworkError) {
        self.path = path
        descriptor = try Self.open(path, name: name)
    }

    deinit {
        close(descriptor)
    }

    /// Releases the lock while references remain.
    func unlock() {
        flock(descriptor, LOCK_UN)
    }

    var length: Int {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    func write(_ octets: Data, at position: Int, name: String) throws(NetworkError) {
        var (written, number) = (0, Int32(0))
        unsafe octets.withUnsafeBytes { octets in
            while written < octets.count, number == 0 {
                let rest = unsafe UnsafeRawBufferPointer(rebasing: octets[written...])
                let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(position + written))
                if count > 0 {
                    written += count
                } else if count == 0 || errno != EINTR {
                    number = count == 0 ? ENOSPC : errno
                }
            }
        }
        guard number == 0 else { throw .file(name, cannotBe: "written", number: number) }
    }

    /// Reads bytes from a position, or fewer at the end of the file.
    func read(_ count: Int, at position: Int, name: String) throws(NetworkError) -> Data {
        var part = Data(count: count)
        let result = unsafe part.withUnsafeMutableBytes { buffer in
            while true {
                let result = unsafe pread(descriptor, buffer.baseAddress, count, off_t(position))
                if result >= 0 || errno != EINTR { return result }
            }
        }
        guard result >= 0 else { throw .file(name, cannotBe: "read", number: errno) }
        return part.prefix(result)
    }

    func truncate(to length: Int, name: String) throws(NetworkError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else {
            throw .file(name, cannotBe: "shortened", number: errno)
        }
    }

    /// Flushes the file to the disk.
    func synchronize(name: String) throws(NetworkError) {
        guard fsync(descriptor) == 0 else { throw .file(name, cannotBe: "written", number: errno) }
    }

    func setPermissions(_ mode: mode_t, name: String) throws(NetworkError) {
        guard fchmod(descriptor, mode) == 0 else { throw .file(name, cannotBe: "given its permissions", number: errno) }
    }

    /// Returns the contents of a small file that only its owner could have written, or `nil` if it
    /// doesn't exist.
    static func privateContents(_ path: String) -> Data? {
        let limit = 64 << 10
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0, isPrivate(status), status.st_size <= limit else { return nil }
        var octets = Data(count: limit)
        let count = unsafe octets.withUnsafeMutableBytes { unsafe pread(descriptor, $0.baseAddress, limit, 0) }
        return count > 0 ? octets.prefix(count) : nil
    }

    private static func open(_ path: String, name: String) throws(NetworkError) -> Int32 {
        // The previous owner may remove the file between opening and locking. Then a new one must
        // be opened.
        for _ in 0..<100 {
            let descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
            guard descriptor >= 0 else {
                guard errno == ELOOP, unsafe unlink(path) == 0 else {
                    throw .file(name, cannotBe: "made", number: errno)
                }
                continue
            }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                let number = errno
                close(descriptor)
                guard number == EWOULDBLOCK else { throw .file(name, cannotBe: "locked", number: number) }
                throw NetworkError(
                    .transferInProgress,
                    "another transfer is writing “\(name)”; wait until it ends, or choose another target"
                )
            }
            if isOurs(descriptor, path) { return descriptor }
            close(descriptor)
        }
        throw .file(name, cannotBe: "made", number: EAGAIN)
    }

    /// Returns whether the open file is private and still has this name; removes a file that isn't
    /// private.
    private static func isOurs(_ descriptor: Int32, _ path: String) -> Bool {
        var (opened, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &opened) == 0, unsafe lstat(path, &named) == 0,
            opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
        else { return false }
        let isPrivate = isPrivate(opened)
        if !isPrivate { _ = unsafe unlink(path) }
        return isPrivate
    }

    /// Returns whether the file is a regular file that only this user can open, without other hard
    /// links.
    private static func isPrivate(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
            && status.st_mode & 0o077 == 0
    }
}

extension FileHandle {
    /// Opens a file with close-on-exec; Foundation's initializers let child processes inherit the
    /// file.
    static func opened(_ path: String, _ flags: Int32) throws -> FileHandle {
        let descriptor = unsafe open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

extension NetworkError {
    /// Returns the error for a failed system call on a transfer's file, with the file's name
    /// without its folder, the action that failed, such as `written`, and the value of `errno`.
    static func file(_ name: String, cannotBe action: String, number: Int32) -> NetworkError {
        let code = POSIXErrorCode(rawValue: number)
        let words = unsafe String(cString: strerror(number))
        let advice =
            switch number {
            case ENOSPC, EDQUOT: "; free up disk space and start the transfer again"
            case EFBIG: "; the file exceeds the size limit of the process or the file system"
            case EACCES, EPERM, EROFS: "; choose a writable folder"
            case ENOENT, ENOTDIR: "; create the folder first"
            default: ""
            }
        return NetworkError(
            .cannotUseFile,
            "“\(name)” can't be \(action): \(words)\(advice)",
            cause: code.map { POSIXError($0) }
        )
    }
}
