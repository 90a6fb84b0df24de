import CSpawn
import Foundation
import Glibc
import Synchronization

/// A program that runs as a child process.
///
/// Foundation's `Process` isn't suitable. A process that another test starts at the same time can
/// inherit its descriptors and delay the notification of the end. It also reads past the end of a
/// directory listing when it looks for open descriptors, which sometimes crashes the test runner.
/// This type passes only the specified descriptors on.
public final class ChildProgram: Sendable {
    /// An error that occurs if a program can't be started.
    public struct CannotStart: Error {
        /// The system's error number.
        public let number: Int32
    }

    /// The source or destination of a standard stream.
    public enum Stream: Sendable {
        /// `/dev/null`.
        case nothing
        /// The stream of the test runner.
        case inherited
        /// A file at a path. An output file is created or truncated.
        case file(String)
        /// The text that ``type(_:)`` sends, for the input only.
        case typed
    }

    private let identifier: pid_t
    private let ending = Mutex<Int32?>(nil)
    private let keyboard: Mutex<Int32?>

    /// Starts a program in the test runner's build folder.
    ///
    /// - Parameters:
    ///   - name: The name of the program.
    ///   - arguments: The arguments of the program.
    ///   - input: The source of standard input. The default is `/dev/null`.
    ///   - output: The path of the file for standard output.
    public convenience init(
        _ name: String,
        _ arguments: [String],
        input: Stream = .nothing,
        output: String
    ) throws {
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(filePath: runner).deletingLastPathComponent().appending(path: name).path
        try self.init(path: path, arguments, input: input, output: .file(output), errors: .inherited)
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - path: The path of the program.
    ///   - arguments: The arguments of the program.
    ///   - input: The source of standard input. The default is `/dev/null`.
    ///   - output: The destination of standard output. The default is `/dev/null`.
    ///   - errors: The destination of standard error. The default is `/dev/null`.
    public init(
        path: String,
        _ arguments: [String],
        input: Stream = .nothing,
        output: Stream = .nothing,
        errors: Stream = .nothing
    ) throws {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        var keyboard: (near: Int32, far: Int32)?
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
            if let keyboard { close(keyboard.far) }
        }
        for (number, stream) in [(Int32(0), input), (1, output), (2, errors)] {
            let flags = number == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC
            switch stream {
            case .nothing: unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", flags, 0)
            case .inherited: break
            case .file(let path): unsafe posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
            case .typed:
                // Use sockets instead of a pipe, because `send` can suppress SIGPIPE if the program
                // has ended.
                var ends: [Int32] = [-1, -1]
                let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
                guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw CannotStart(number: errno) }
                keyboard = (ends[0], ends[1])
                unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], number)
            }
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        // Restore the default signal state: threads of Swift tasks block most signals, and the
        // runner can ignore some, such as SIGHUP if nohup has started it.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        let list = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe list.forEach { unsafe free($0) } }
        var identifier = pid_t()
        let number = unsafe posix_spawn(&identifier, path, &actions, &attributes, list, environ)
        guard number == 0 else {
            if let keyboard { close(keyboard.near) }
            throw CannotStart(number: number)
        }
        self.identifier = identifier
        self.keyboard = Mutex(keyboard?.near)
    }

    deinit {
        kill()
    }

    /// Returns the path of a program in `PATH`, or `nil` if there's no such program.
    public static func path(of program: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// A Boolean value that indicates whether the program has ended.
    public var isOver: Bool { poll() != nil }

    /// Sends text to the program if its input is ``Stream/typed`` and it hasn't ended.
    public func type(_ text: String) {
        keyboard.withLock { keyboard in
            guard let keyboard else { return }
            var rest = Array(text.utf8)[...]
            while !rest.isEmpty {
                let sent = unsafe rest.withUnsafeBytes {
                    unsafe send(keyboard, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 || errno == EINTR else { return }
                rest = rest.dropFirst(max(sent, 0))
            }
        }
    }

    /// Waits for the program's end and returns its exit code, or the negative number of the signal
    /// that ended it.
    public func wait() async throws -> Int32 {
        while true {
            if let status = poll() { return status }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits for the end of a short program without releasing the thread to other tasks.
    public func waitBlocking() -> Int32 {
        ending.withLock { ending in
            if let ending { return ending }
            let status = waitForEnd()
            ending = status
            return status
        }
    }

    /// Kills the program if it's still running, and waits for its end.
    public func kill() {
        ending.withLock { ending in
            if ending == nil {
                _ = Glibc.kill(identifier, SIGKILL)
                ending = waitForEnd()
            }
        }
        keyboard.withLock { keyboard in
            if let keyboard { close(keyboard) }
            keyboard = nil
        }
    }

    private func waitForEnd() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) == -1, errno == EINTR {}
        return Self.meaning(status)
    }

    private func poll() -> Int32? {
        ending.withLock { ending in
            if ending == nil {
                var status: Int32 = 0
                if unsafe waitpid(identifier, &status, WNOHANG) == identifier { ending = Self.meaning(status) }
            }
            return ending
        }
    }

    private static func meaning(_ status: Int32) -> Int32 {
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : -signal
    }
}
