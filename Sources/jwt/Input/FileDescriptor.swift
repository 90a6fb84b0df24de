import Glibc

/// An open file, closed with its owner.
///
/// Only this type and ``StagedFile`` call the system with pointers.
struct FileDescriptor: ~Copyable {
    /// Why a call of the system failed.
    struct Failure: Error, Equatable {
        let number: Int32

        /// There is no such file.
        static let missing = Failure(number: ENOENT)

        static var current: Failure { Failure(number: errno) }

        /// The system's words: "No such file or directory".
        var reason: String {
            unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
        }
    }

    private let number: Int32
    private let isOwned: Bool

    /// Standard input, output and errors: open for the life of the process.
    static func standard(_ number: Int32) -> FileDescriptor {
        FileDescriptor(number: number, isOwned: false)
    }

    /// Opens a file to read.
    init(reading path: String) throws(Failure) {
        try self.init(path, O_RDONLY | O_CLOEXEC, mode: 0)
    }

    /// Creates a file that must not exist yet.
    init(creating path: String, mode: mode_t) throws(Failure) {
        try self.init(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode: mode)
    }

    /// Opens the folder of a file, and waits until nobody else has it locked.
    ///
    /// The lock is the system's (`flock`): it goes with the value, or with the process, and leaves no file behind.
    static func lockedFolder(of path: String) throws(Failure) -> FileDescriptor {
        let path = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let folder = try FileDescriptor(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, mode: 0)
        while flock(folder.number, LOCK_EX) != 0 {
            guard errno == EINTR else { throw .current }
        }
        return folder
    }

    private init(_ path: String, _ flags: Int32, mode: mode_t) throws(Failure) {
        // A path with a NUL would name another file than the one the user sees.
        guard !path.utf8.contains(0) else { throw Failure(number: EINVAL) }
        var opened: Int32
        repeat { opened = unsafe open(path, flags, mode) } while opened < 0 && errno == EINTR
        guard opened >= 0 else { throw .current }
        self.init(number: opened, isOwned: true)
    }

    /// Makes sure that 0, 1 and 2 are taken.
    ///
    /// A file opened while standard output is closed would get its number, and results would be written into it. What
    /// is opened here instead fails when it is used, as a closed one does.
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

    /// The permissions of the file, and its name.
    ///
    /// - Parameter path: The name by which it was opened; `nil` for a standard stream, whose name the system knows.
    /// - Returns: `nil` if it is closed.
    func status(path: String? = nil) -> FileStatus? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { return nil }
        return FileStatus(mode: status.st_mode, path: path ?? name(of: status))
    }

    /// The name by which a standard stream was opened, if that is still its name.
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

    /// Whether it is a file of this user's that nobody else can write to.
    var isOwn: Bool {
        var status = stat()
        guard unsafe fstat(number, &status) == 0 else { return false }
        return status.st_mode & S_IFMT == S_IFREG && status.st_uid == geteuid() && status.st_mode & 0o022 == 0
    }

    var isTerminal: Bool { isatty(number) == 1 }

    /// How many octets of a regular file are still to be read; `nil` of what has no end that is known, such as a pipe.
    var remainingCount: Int? {
        var status = stat()
        guard unsafe fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        let position = lseek(number, 0, SEEK_CUR)
        return position < 0 ? nil : max(0, Int(status.st_size) - Int(position))
    }

    /// Whether reading will not have to wait.
    var isReadable: Bool {
        var entry = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, 0) > 0
    }

    /// Reads what is there, and waits only if there is nothing yet.
    ///
    /// - Parameter buffer: What is overwritten from its beginning.
    /// - Returns: How many octets were read; 0 at the end of the file.
    /// - Throws: ``Failure``.
    func read(into buffer: inout [UInt8]) throws(Failure) -> Int {
        while true {
            let count = unsafe Glibc.read(number, &buffer, buffer.count)
            if count >= 0 { return count }
            if errno != EINTR { throw .current }
        }
    }

    /// Reads to the end of the file.
    ///
    /// - Returns: The octets, or `nil` if there are more than the limit.
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

    /// Writes everything.
    func writeAll(_ bytes: [UInt8]) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(number, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                throw .current
            }
            rest = rest.dropFirst(count)
        }
    }

    /// Does something while the file is open for sure, such as one that is locked.
    func whileOpen<Result>(_ body: () throws -> Result) rethrows -> Result {
        try body()
    }

    /// Sets the permission bits, whatever the process's umask would take from those of a new file.
    func setMode(_ mode: mode_t) throws(Failure) {
        guard fchmod(number, mode) == 0 else { throw .current }
    }

    /// Waits until the content is on the disk.
    func synchronize() throws(Failure) {
        guard fsync(number) == 0 else { throw .current }
    }
}
