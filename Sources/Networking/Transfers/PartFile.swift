import Foundation
import Glibc
import Synchronization

/// The hidden file next to the target that contains a download's bytes until it's complete, and the
/// record for resuming it.
///
/// The record is a second file with the validator of the representation. It's written after the old
/// bytes are discarded and before new ones are written, so the bytes always belong to the recorded
/// validator. It's removed before the file gets the target's name: if the process is killed in
/// between, the next download starts over and nothing is left behind.
final class PartFile: Sendable {
    struct Record: Codable, Hashable {
        /// The SHA-256 hash of the URL, because the URL itself may contain a secret.
        var resource: String
        var validator: ResumeValidator
        var total: Int
        /// The number of bytes that are certainly on the disk, even after a crash of the machine.
        var synchronized: Int
        var boot: String
        /// The digest of the whole file that the first response offered, as a field value.
        var digest: String?

        /// Only bytes that were flushed to the disk are certainly correct after a crash of the
        /// machine; without the identifier of the current boot, it isn't known whether the machine
        /// crashed.
        func usableCount(of count: Int, boot current: String) -> Int {
            boot == current && !current.isEmpty ? count : min(count, synchronized)
        }
    }

    private struct State {
        var record: Record?
        var count = 0
        var isRemoved = false
    }

    let name: String
    let path: String
    let resource: String
    private let file: OpenFile
    private let state = Mutex(State())

    private var recordPath: String { path + ".resume" }

    init(path: String, name: String, resource: String) throws(NetworkError) {
        self.path = path
        self.name = name
        self.resource = resource
        file = try OpenFile(path: path, name: name)
        let count = file.length
        guard let octets = OpenFile.privateContents(path + ".resume"),
            let record = try? JSONDecoder().decode(Record.self, from: octets), record.resource == resource, count > 0,
            record.total > 0, count <= record.total
        else { return }
        let usable = record.usableCount(of: count, boot: Self.boot)
        guard usable > 0 else { return }
        state.withLock { $0 = State(record: record, count: usable) }
    }

    /// The download was killed while its file had both names.
    static func removeLeftover(_ path: String) {
        var status = stat()
        if unsafe lstat(path, &status) == 0, status.st_nlink > 1 { _ = unsafe unlink(path) }
    }

    var count: Int { state.withLock(\.count) }
    var total: Int? { state.withLock { $0.record?.total } }
    /// `nil` unless this process or another can resume the download.
    var record: Record? { state.withLock { $0.count > 0 ? $0.record : nil } }

    /// For a complete part, the last byte is requested again, so that the server confirms that
    /// nothing has changed.
    var resumePoint: (offset: Int, validator: ResumeValidator)? {
        record.map { (min(count, $0.total - 1), $0.validator) }
    }

    /// Discards the bytes, and writes the record for the next ones, if they can be resumed.
    func begin(_ record: Record?) throws(NetworkError) {
        try truncate(to: 0)
        state.withLock { $0.record = record }
        try writeRecord()
    }

    func truncate(to count: Int) throws(NetworkError) {
        try file.truncate(to: count)
        state.withLock { $0.count = count }
    }

    func append(_ octets: Data) throws(NetworkError) {
        let position = count
        try file.write(octets, at: position)
        state.withLock { $0.count = position + octets.count }
    }

    /// Returns the digest of an incomplete range if the file shrank.
    func digest(by algorithms: [HTTPDigest.Algorithm], in range: Range<Int>) throws -> HTTPDigest {
        let hasher = try HTTPDigest.Hasher(algorithms)
        var position = range.lowerBound
        while position < range.upperBound {
            try Task.checkCancellation()
            let part = try file.read(min(range.upperBound - position, 1 << 20), at: position)
            guard !part.isEmpty else { break }
            try hasher.update(part)
            position += part.count
        }
        return try hasher.finish()
    }

    /// Removes everything if the download can't be resumed.
    func suspend() {
        guard var record else { return remove() }
        guard (try? file.synchronize()) != nil else { return }
        record.synchronized = count
        record.boot = Self.boot
        state.withLock { $0.record = record }
        try? writeRecord()
    }

    func remove() {
        let isRemoved = state.withLock { state in
            defer { state = State(isRemoved: true) }
            return state.isRemoved
        }
        guard !isRemoved else { return }
        _ = unsafe unlink(recordPath)
        _ = unsafe unlink(path)
    }

    /// Must be the last use of the file; the last reference may live longer, because a queue that
    /// ran work on the file releases it at any time.
    func unlock() {
        file.unlock()
    }

    /// Returns the final path.
    func commit(to target: String, existing: ExistingFilePolicy, mode: mode_t) throws(NetworkError) -> String {
        let whole = state.withLock(\.record)
        try file.truncate(to: count)
        try file.setPermissions(mode)
        try file.synchronize()
        _ = unsafe unlink(recordPath)
        do throws(NetworkError) {
            let path = try existing.rename(path, to: target)
            state.withLock { $0.isRemoved = true }
            Self.synchronizeFolder(of: path)
            return path
        } catch {
            // Restores the record, so that the download can be completed without receiving
            // everything again.
            state.withLock { $0.record = whole }
            try? writeRecord()
            throw error
        }
    }

    private func writeRecord() throws(NetworkError) {
        guard let record = state.withLock(\.record) else {
            _ = unsafe unlink(recordPath)
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        guard let octets = try? encoder.encode(record) else { return }
        let file = try OpenFile(path: recordPath, name: name)
        try file.write(octets, at: 0)
        try file.truncate(to: octets.count)
    }

    /// An empty string if the identifier can't be read.
    static let boot: String = {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    }()

    /// Without this, the new name isn't on the disk.
    private static func synchronizeFolder(of path: String) {
        let folder = unsafe open((path as NSString).deletingLastPathComponent, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { return }
        fsync(folder)
        close(folder)
    }
}

/// A file that's open and exclusively locked for a transfer.
///
/// Releasing the last reference closes the file and releases the lock, as does the end of the
/// process, even if it's killed.
final class OpenFile: Sendable {
    private let name: String
    private let descriptor: Int32

    /// Creates the file with access for its owner only if it doesn't exist.
    ///
    /// Symbolic links aren't followed. A file that others could have planted or could read is
    /// removed and created again.
    ///
    /// - Throws: ``NetworkError`` with the code `transferInProgress` if another transfer uses the
    ///   file, or `cannotUseFile` if a system call fails.
    init(path: String, name: String) throws(NetworkError) {
        self.name = name
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

    func write(_ octets: Data, at position: Int) throws(NetworkError) {
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

    /// Returns fewer bytes at the end of the file.
    func read(_ count: Int, at position: Int) throws(NetworkError) -> Data {
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

    func truncate(to length: Int) throws(NetworkError) {
        guard ftruncate(descriptor, off_t(length)) == 0 else {
            throw .file(name, cannotBe: "shortened", number: errno)
        }
    }

    func synchronize() throws(NetworkError) {
        guard fsync(descriptor) == 0 else { throw .file(name, cannotBe: "written", number: errno) }
    }

    func setPermissions(_ mode: mode_t) throws(NetworkError) {
        guard fchmod(descriptor, mode) == 0 else { throw .file(name, cannotBe: "given its permissions", number: errno) }
    }

    /// Returns `nil` unless the file is small and only its owner could have written it.
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

    /// Removes a file that isn't private.
    private static func isOurs(_ descriptor: Int32, _ path: String) -> Bool {
        var (opened, named) = (stat(), stat())
        guard unsafe fstat(descriptor, &opened) == 0, unsafe lstat(path, &named) == 0,
            opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
        else { return false }
        let isPrivate = isPrivate(opened)
        if !isPrivate { _ = unsafe unlink(path) }
        return isPrivate
    }

    /// A regular file that only this user can open, without other hard links.
    private static func isPrivate(_ status: stat) -> Bool {
        status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_nlink == 1
            && status.st_mode & 0o077 == 0
    }
}

extension FileHandle {
    /// Foundation's initializers let child processes inherit the file.
    static func opened(_ path: String, _ flags: Int32) throws -> FileHandle {
        let descriptor = unsafe open(path, flags | O_CLOEXEC)
        guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}

extension NetworkError {
    /// `action` is what failed, such as `written`; `number` is the value of `errno`.
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
