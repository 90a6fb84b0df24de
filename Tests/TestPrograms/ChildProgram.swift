import CSpawn
import Foundation
import Glibc
import Synchronization

/// A program, started, and still running or ended.
///
/// Foundation's `Process` is not used. What it makes to hear of the end can be inherited by a process that another test starts in the
/// same moment, and then it does not hear of the end before that one's; and while it looks for open descriptors it reads beyond
/// the entries of a directory, which ends the test runner now and then. Here nothing is inherited but what is given.
public final class ChildProgram: Sendable {
    /// Why a program could not be started.
    public struct CannotStart: Error {
        /// The number of the system's error.
        public let number: Int32
    }

    /// What the program reads, or where it writes to.
    public enum Stream: Sendable {
        /// Nothing can be read; what is written is lost.
        case nothing
        /// The stream of the test runner.
        case inherited
        /// A file by its path; one that is written is made or emptied.
        case file(String)
        /// What ``type(_:)`` sends; for the input only.
        case typed
    }

    private let identifier: pid_t
    private let ending = Mutex<Int32?>(nil)
    private let keyboard: Mutex<Int32?>

    /// Starts a program that stands beside the test runner in the build folder.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - arguments: Its arguments.
    ///   - input: What it reads from standard input.
    ///   - output: The file that gets what it prints.
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
    ///   - path: Where it is.
    ///   - arguments: Its arguments.
    ///   - input: What it reads from standard input.
    ///   - output: Where it prints to.
    ///   - errors: Where its standard error goes to.
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
                // A pair of sockets and no pipe: nobody gets SIGPIPE of typing to what has ended.
                var ends: [Int32] = [-1, -1]
                let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
                guard unsafe socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw CannotStart(number: errno) }
                keyboard = (ends[0], ends[1])
                unsafe posix_spawn_file_actions_adddup2(&actions, ends[1], number)
            }
        }
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        // Threads of Swift's tasks block most signals, and somebody may ignore SIGPIPE: a program begins as in a shell.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigaddset(&signals, SIGPIPE)
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

    /// Where a program is, looked for as a shell does; `nil` if it is nowhere.
    public static func path(of program: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(program)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Whether it has ended.
    public var isOver: Bool { poll() != nil }

    /// Sends it a text, if its input is ``Stream/typed``; nothing if it has ended.
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

    /// Waits for its end; returns its exit code, or minus the signal that ended it.
    public func wait() async throws -> Int32 {
        while true {
            if let status = poll() { return status }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Waits for its end and lets no other task have the thread meanwhile, for programs that end soon.
    public func waitBlocking() -> Int32 {
        ending.withLock { ending in
            if let ending { return ending }
            let status = waitForEnd()
            ending = status
            return status
        }
    }

    /// Ends it at once, in the middle of whatever it does, and waits for that; nothing if it has ended.
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
