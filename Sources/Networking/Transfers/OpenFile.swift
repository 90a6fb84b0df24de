import Foundation
import Glibc

/// A file that is open for a transfer, and locked against every other.
///
/// It is closed with its last reference, which also gives up the lock; so does the end of the process, however it ends.
final class OpenFile: Sendable {
    let path: String
    private let descriptor: Int32

    /// Opens a file for reading and writing, or makes it with access for its owner only.
    ///
    /// A link is not followed, and a file that others could have planted or could read is not used: it is removed, and another takes
    /// its place.
    ///
    /// - Throws: ``NetworkError`` with the code `transferInProgress` if another transfer has it, `cannotUseFile` if the system refuses.
    init(path: String, name: String) throws(NetworkError) {
        self.path = path
        descriptor = try Self.open(path, name: name)
    }

    deinit {
        close(descriptor)
    }

    /// Gives up the lock before the last reference goes.
    func unlock() {
        flock(descriptor, LOCK_UN)
    }

    /// How many octets it has.
    var length: Int {
        var status = stat()
        return unsafe fstat(descriptor, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Writes octets at a position.
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

    /// Reads octets from a position; fewer at the end of the file.
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

    /// Leaves so many octets.
    func truncate(to length: Int, name: String) throws(NetworkError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else {
            throw .file(name, cannotBe: "shortened", number: errno)
        }
    }

    /// Brings everything to the disk.
    func synchronize(name: String) throws(NetworkError) {
        guard fsync(descriptor) == 0 else { throw .file(name, cannotBe: "written", number: errno) }
    }

    /// Sets who may read and write it.
    func setPermissions(_ mode: mode_t, name: String) throws(NetworkError) {
        guard fchmod(descriptor, mode) == 0 else { throw .file(name, cannotBe: "given its permissions", number: errno) }
    }

    /// The octets of a small file that nobody else could have written; `nil` if there is none.
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
        // Whoever had the file may remove it between the opening and the locking; then there is a new one to open.
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
                    "another transfer is writing “\(name)”; wait for its end, or choose another target"
                )
            }
            if isOurs(descriptor, path) { return descriptor }
            close(descriptor)
        }
        throw .file(name, cannotBe: "made", number: EAGAIN)
    }

    /// Whether the open file is the one of that name, and nobody else's; what is somebody else's is removed.
    private static func isOurs(_ descriptor: Int32, _ path: String) -> Bool {
        var (opened, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &opened) == 0, unsafe lstat(path, &named) == 0,
            opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
        else { return false }
        let isPrivate = isPrivate(opened)
        if !isPrivate { _ = unsafe unlink(path) }
        return isPrivate
    }

    /// Whether it is an ordinary file of ours that nobody else can open, under this name or another.
    private static func isPrivate(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
            && status.st_mode & 0o077 == 0
    }
}
