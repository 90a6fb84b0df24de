internal import CProcess
import Glibc
import Networking

/// An open file; only this type and ``StagedFile`` pass pointers to system calls.
struct FileDescriptor: ~Copyable {
    struct Failure: DescribedError, Equatable {
        let number: Int32

        static let missing = Failure(number: ENOENT)

        static var current: Failure { Failure(number: errno) }
        var message: String { unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)" }
    }

    private let number: Int32
    private let isOwned: Bool

    /// Returns a standard stream, which stays open for the lifetime of the process.
    static func standard(_ number: Int32) -> FileDescriptor { FileDescriptor(number: number, isOwned: false) }

    init(reading path: String) throws(Failure) { try self.init(path, O_RDONLY | O_CLOEXEC, mode: 0) }

    init(creating path: String, mode: mode_t) throws(Failure) {
        try self.init(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode: mode)
    }

    /// Opens a device, a named pipe or a descriptor in `/dev` for writing.
    init(writing path: String) throws(Failure) {
        try self.init(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC, mode: 0)
    }

    /// Opens the controlling terminal, even if the standard streams are redirected.
    static func controllingTerminal() throws(Failure) -> FileDescriptor {
        try FileDescriptor("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC, mode: 0)
    }

    /// Waits for the exclusive lock (`flock`) of a file's folder, which ends with the value or the
    /// process.
    static func lockedFolder(of path: String) throws(Failure) -> FileDescriptor {
        let path = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let folder = try FileDescriptor(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, mode: 0)
        while flock(folder.number, LOCK_EX) != 0 {
            guard errno == EINTR else { throw .current }
        }
        return folder
    }

    private init(_ path: String, _ flags: Int32, mode: mode_t) throws(Failure) {
        // The user would see a different name than the system, which stops at the NUL.
        guard !path.utf8.contains(0) else { throw Failure(number: EINVAL) }
        var opened: Int32
        repeat { opened = unsafe open(path, flags, mode) } while opened < 0 && errno == EINTR
        guard opened >= 0 else { throw .current }
        self.init(number: opened, isOwned: true)
    }

    /// Opens descriptors 0, 1 and 2 for use that fails, because the next file would get the number
    /// of a closed one and receive the results.
    static func reserveStandardNumbers() {
        for (number, flags) in [(STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY)]
        where fcntl(number, F_GETFD) == -1 {
            _ = unsafe open("/dev/null", flags)
        }
    }

    private init(number: Int32, isOwned: Bool) {
        self.number = number
        self.isOwned = isOwned
    }

    deinit {
        if isOwned { _ = close(number) }
    }

    func status(path: String? = nil) -> FileStatus? {
        guard let status = systemStatus else { return nil }
        return FileStatus(mode: status.st_mode, path: path ?? name(of: status))
    }

    private var systemStatus: stat? {
        var status = stat()
        return unsafe fstat(number, &status) == 0 ? status : nil
    }

    /// Returns the path of a standard stream, if it still refers to the same file.
    private func name(of status: stat) -> String? {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe readlink("/proc/self/fd/\(number)", &buffer, buffer.count)
        let octets = buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }
        guard let path = String(validating: octets, as: UTF8.self), path.hasPrefix("/") else { return nil }
        var named = stat()
        guard unsafe stat(path, &named) == 0, named.st_dev == status.st_dev, named.st_ino == status.st_ino else {
            return nil
        }
        return path
    }

    /// A Boolean value that indicates whether this is a regular file of the current user that no
    /// other user can write to.
    var isOwn: Bool {
        guard let status = systemStatus else { return false }
        return status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_mode & 0o022 == 0
    }

    var isTerminal: Bool { isatty(number) == 1 }

    /// The number of unread bytes of a regular file, or `nil` if the size is unknown, as for a
    /// pipe.
    var remainingCount: Int? {
        guard let status = systemStatus, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let position = lseek(number, 0, SEEK_CUR)
        return position < 0 ? nil : max(0, Int(status.st_size) - Int(position))
    }

    var isReadable: Bool {
        var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }

    /// Reads at least one byte, or returns 0 at the end of the file.
    func read(into buffer: inout [UInt8]) throws(Failure) -> Int {
        while true {
            let count = unsafe Glibc.read(number, &buffer, buffer.count)
            if count >= 0 { return count }
            try wait(for: POLLIN)
        }
    }

    /// Returns `nil` if there are more bytes than the limit.
    func readAll(limit: Int) throws(Failure) -> [UInt8]? {
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = try read(into: &chunk)
            if count == 0 { return bytes }
            bytes += chunk.prefix(count)
            if bytes.count > limit { return nil }
        }
    }

    func writeAll(_ bytes: [UInt8]) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(number, $0.baseAddress, $0.count) }
            if count < 0 {
                try wait(for: POLLOUT)
            } else {
                rest = rest.dropFirst(count)
            }
        }
    }

    /// Waits after a call that was interrupted or would block, because another process can make a
    /// shared descriptor nonblocking at any time.
    private func wait(for event: Int32) throws(Failure) {
        if errno == EINTR { return }
        guard errno == EAGAIN else { throw .current }
        var entry = pollfd(fd: number, events: Int16(event), revents: 0)
        while unsafe poll(&entry, 1, -1) < 0 {
            guard errno == EINTR else { throw .current }
        }
    }

    /// Returns the next bytes of a pipe, a socket or a file, which the next read still gets.
    ///
    /// Returns no bytes at the end, and `nil` if neither bytes nor the end came in time.
    func waitingBytes(limit: Int, milliseconds: Int32) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: limit)
        let count = unsafe cprocess_peek(number, milliseconds, &bytes, limit)
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    func setMode(_ mode: mode_t) throws(Failure) {
        guard fchmod(number, mode) == 0 else { throw .current }
    }

    func terminalSettings() throws(Failure) -> termios {
        var settings = termios()
        guard unsafe tcgetattr(number, &settings) == 0 else { throw .current }
        return settings
    }

    /// Changes a terminal, which may discard what the user has already typed.
    func setTerminalSettings(_ settings: termios, discardsInput: Bool) throws(Failure) {
        var settings = settings
        guard unsafe tcsetattr(number, discardsInput ? TCSAFLUSH : TCSADRAIN, &settings) == 0 else { throw .current }
    }

    /// Waits until the content is on disk.
    func synchronize() throws(Failure) {
        guard fsync(number) == 0 else { throw .current }
    }
}

struct FileStatus: Equatable {
    let mode: mode_t
    let path: String?

    func warning(_ name: String, unwanted: mode_t, _ danger: String, remedy: String) -> String? {
        guard mode & S_IFMT == S_IFREG, mode & unwanted != 0 else { return nil }
        let permissions = String(mode & 0o777, radix: 8)
        let command = path.map { "chmod \(remedy) \(ShellWord.quoted($0))" } ?? "chmod \(remedy) the file"
        return "\(name): \(danger) (mode \(permissions)); fix: \(command)"
    }

    func secretWarning(_ name: String, _ noun: String) -> String? {
        warning(name, unwanted: 0o077, "other users can access this \(noun)", remedy: "600")
    }
}

enum ShellWord {
    /// Quotes a path for the shell, so that `chmod` doesn't take it for an option, either.
    static func quoted(_ path: String) -> String {
        (path.hasPrefix("-") ? "./" + path : path).shellQuoted
    }
}
