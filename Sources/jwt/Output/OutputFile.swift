import Glibc
import Synchronization

struct OutputFile: ArgumentValue, Equatable {
    static let standardOutput = OutputFile(path: "-")

    static let valueKind = OptionDefinition.ValueKind.file
    static let placeholder = "FILE"

    static let force = Flag("force", short: "f", "Replace an existing file")

    static func option(_ summary: String = "") -> Option<OutputFile> {
        Option("out", aliases: ["output"], short: "o", summary)
    }

    let path: String

    init(argument: String) throws(ValueError) {
        guard !argument.isEmpty, !argument.hasSuffix("/") else {
            throw ValueError(message: "must name a file, or - for standard output")
        }
        path = ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].contains(argument) ? "-" : argument
    }

    private init(path: String) { self.path = path }

    var isStandardOutput: Bool { path == "-" }
}

/// A new file that appears either complete or not at all: ``commit()`` renames a temporary file.
///
/// A device, such as `/dev/null`, or a pipe of this user, such as `>(command)` of a shell, is
/// written to instead.
struct StagedFile: ~Copyable {
    let path: String
    private let file: FileDescriptor
    /// The temporary file, or `nil` for a device or a pipe.
    private let temporaryPath: String?
    private let replaces: Bool
    /// The content for a device or a pipe, which can't be taken back.
    private let held: [UInt8]

    /// Writes the initial content; only regular files are replaced, never links or folders.
    init(path: String, mode: mode_t, octets: [UInt8] = [], replaces: Bool) throws(CommandFailure) {
        if Self.isDeviceOrOwnPipe(path) {
            file = try CommandFailure.reporting(at: Self.subject(path)) { try FileDescriptor(writing: path) }
            self.path = path
            temporaryPath = nil
            self.replaces = true
            held = octets
            return
        }
        if let type = Self.type(of: path) {
            guard replaces else { throw Self.exists(path) }
            guard type == S_IFREG else {
                throw CommandFailure(.failed, "\(path): not replaced, because it isn't a regular file")
            }
        }
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        let temporaryPath = "\(folder).jwt-\(String(UInt64.random(in: 0...UInt64.max), radix: 36)).tmp"
        file = try CommandFailure.reporting(at: Self.subject(path)) {
            let file = try TemporaryFiles.create(temporaryPath, mode: mode)
            do {
                try file.writeAll(octets)
                try file.synchronize()
            } catch {
                TemporaryFiles.remove(temporaryPath)
                throw error
            }
            return file
        }
        self.path = path
        self.temporaryPath = temporaryPath
        self.replaces = replaces
        held = []
    }

    func append(_ octets: [UInt8]) throws(CommandFailure) {
        try CommandFailure.reporting(at: Self.subject(path)) { try file.writeAll(octets) }
    }

    func setMode(_ mode: mode_t) throws(CommandFailure) {
        guard temporaryPath != nil else { return }
        try CommandFailure.reporting(at: Self.subject(path)) { try file.setMode(mode) }
    }

    deinit {
        if let temporaryPath { TemporaryFiles.remove(temporaryPath) }
    }

    /// Renames the temporary file, unless another file appeared and must stay.
    func commit() throws(CommandFailure) {
        guard let temporaryPath else { return try append(held) }
        try CommandFailure.reporting(at: Self.subject(path)) { try file.synchronize() }
        let number = replaces ? TemporaryFiles.rename(temporaryPath, to: path) : create(temporaryPath)
        guard number != 0 else { return }
        if number == EEXIST { throw Self.exists(path) }
        try CommandFailure.reporting(at: Self.subject(path)) { throw FileDescriptor.Failure(number: number) }
    }

    /// Removes a committed file, unless it may have replaced another one.
    func revoke() {
        if !replaces { _ = unsafe unlink(path) }
    }

    /// Gives the file its final name, unless another file has it.
    ///
    /// A hard link never replaces a file, and the temporary name is removed later. If the file
    /// system doesn't support links, an empty file reserves the name, and only this process may
    /// replace it.
    private func create(_ temporaryPath: String) -> Int32 {
        if unsafe link(temporaryPath, path) == 0 { return 0 }
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(errno) else { return errno }
        do throws(FileDescriptor.Failure) {
            _ = try TemporaryFiles.create(path, mode: 0o600)
        } catch {
            return error.number
        }
        let number = TemporaryFiles.rename(temporaryPath, to: path)
        if number != 0 { TemporaryFiles.remove(path) }
        return number
    }

    /// Returns whether the path is that of a device, or of a named pipe of this user: another
    /// user's pipe could wait for the key at the path of a new file.
    private static func isDeviceOrOwnPipe(_ path: String) -> Bool {
        if path == "/dev/stderr" || path.hasPrefix("/dev/fd/") { return true }
        var status = stat()
        guard unsafe stat(path, &status) == 0 else { return false }
        let type = status.st_mode & S_IFMT
        return type == S_IFCHR || type == S_IFIFO && status.st_uid == geteuid()
    }

    private static func subject(_ path: String) -> String { "\(path): can't be written" }

    private static func exists(_ path: String) -> CommandFailure {
        CommandFailure(.failed, "\(path): already exists; use --force to replace it")
    }

    private static func type(of path: String) -> mode_t? {
        var status = stat()
        return unsafe lstat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}

/// The temporary files of the process, which are removed if a catchable signal ends it.
///
/// A thread waits for the signals. Because it isn't a signal handler, it can use a lock: each file
/// either is registered and removed, or has its final name.
enum TemporaryFiles {
    private static let paths = Mutex<Set<String>>([])

    /// The signals that end the process, without those that it inherits as ignored, for example
    /// from `nohup`.
    private static let signals: sigset_t = {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        for number in [
            SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGALRM, SIGUSR1, SIGUSR2, SIGVTALRM, SIGPROF, SIGPOLL, SIGPWR,
        ]
        where !ProcessProtection.isIgnored(number) {
            unsafe sigaddset(&signals, number)
        }
        return signals
    }()

    /// Starts the thread that handles the signals.
    ///
    /// Call this method before creating other threads, because threads inherit the set of blocked
    /// signals.
    static func removeOnSignals() {
        var signals = signals
        guard unsafe pthread_sigmask(SIG_BLOCK, &signals, nil) == 0 else { return }
        var thread = pthread_t()
        let wait: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { _ in
            TemporaryFiles.waitForSignal()
            return nil
        }
        if unsafe pthread_create(&thread, nil, wait, nil) != 0 {
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        }
    }

    private static func waitForSignal() {
        var signals = signals
        var number: Int32 = 0
        while unsafe sigwait(&signals, &number) != 0 {}
        PasswordPrompt.restoreTerminal()
        // Hold the lock until the process ends, so that no new file can be created.
        paths.withLock { paths in
            for path in paths { _ = unsafe unlink(path) }
            unsafe pthread_sigmask(SIG_UNBLOCK, &signals, nil)
            raise(number)
            _exit(128 + number)
        }
    }

    static func create(_ path: String, mode: mode_t) throws(FileDescriptor.Failure) -> FileDescriptor {
        try paths.withLock { paths throws(FileDescriptor.Failure) in
            let file = try FileDescriptor(creating: path, mode: mode)
            paths.insert(path)
            return file
        }
    }

    static func remove(_ path: String) {
        paths.withLock { paths in
            if paths.remove(path) != nil { _ = unsafe unlink(path) }
        }
    }

    /// Renames a file to its final path, and returns 0 or the system's error number.
    static func rename(_ path: String, to finalPath: String) -> Int32 {
        paths.withLock { paths in
            guard unsafe Glibc.rename(path, finalPath) == 0 else { return errno }
            paths.subtract([path, finalPath])
            return 0
        }
    }
}
