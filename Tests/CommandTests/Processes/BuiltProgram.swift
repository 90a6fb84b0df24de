import CSpawn
import Foundation
import Glibc

/// The result of a process.
struct ProcessResult: Equatable {
    /// The exit code, or the negative number of the signal that ended the process.
    var status: Int32
    var output: String
    var errors: String

    /// The result of a command that has no errors.
    static func success(_ output: String = "", warnings: String = "") -> Self {
        Self(status: 0, output: output, errors: warnings)
    }

    /// The result of a command that fails without output.
    static func failure(_ status: Int32, _ errors: String) -> Self {
        Self(status: status, output: "", errors: errors)
    }

    /// Returns whether the command failed without output, with certain errors.
    func fails(
        _ status: Int32,
        _ start: String = "",
        containing text: String? = nil,
        endingWith end: String = ""
    ) -> Bool {
        self.status == status && output == "" && errors.hasPrefix(start) && errors.hasSuffix(end)
            && text.map { errors.contains($0) } != false
    }

    /// Returns whether the command failed with one line, which doesn't repeat the text `secret`.
    func failsInOneLine(_ status: Int32, _ start: String) -> Bool {
        fails(status, start) && errors.count { $0 == "\n" } == 1 && !errors.contains("secret")
    }
}

/// A program that runs as a separate process: one in the test runner's build folder, or the `jwt`
/// that the environment variable `JWT_UNDER_TEST` names.
struct BuiltProgram {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    let path: String
    private let arguments: [String]

    /// The `jwt` command.
    static let jwt = BuiltProgram(path: ProcessInfo.processInfo.environment["JWT_UNDER_TEST"] ?? folder + "/jwt")
    /// The `quickstart` command.
    static let quickstart = BuiltProgram(path: folder + "/quickstart")

    /// A shell with the built programs in its path.
    static let sh = BuiltProgram(path: "/bin/sh")

    /// Runs a shell script with the built programs in its path.
    static func shell(
        _ script: String,
        input: String = "",
        environment: [String: String] = [:],
        in folder: TemporaryFolder? = nil,
        errorsAreTerminal: Bool = false
    ) throws -> ProcessResult {
        let line = folder.map { "cd '\($0.path)' && \(script)" } ?? script
        return try BuiltProgram(path: "/bin/sh", arguments: ["-c", line])
            .run([], input: input, environment: environment, errorsAreTerminal: errorsAreTerminal)
    }

    private init(path: String, arguments: [String] = []) {
        self.path = path
        self.arguments = arguments
    }

    /// Runs the program and waits for its end.
    ///
    /// - Parameters:
    ///   - arguments: The arguments of the program.
    ///   - input: The content of standard input.
    ///   - environment: Environment variables in addition to those of the test runner.
    ///   - hasReader: A Boolean value that indicates whether the output is read. If `false`, the
    ///     pipe is closed before the process starts. The default is `true`.
    /// - Returns: The output and the exit code.
    /// - Throws: ``Failure`` if the program can't be started or doesn't end in time.
    @discardableResult
    func run(
        _ arguments: String...,
        input: String = "",
        environment: [String: String] = [:],
        hasReader: Bool = true
    ) throws -> ProcessResult {
        try run(arguments, input: input, environment: environment, hasReader: hasReader)
    }

    /// Runs the program without blocking other tests, whose servers it may call.
    func runApart(
        _ arguments: [String],
        environment: [String: String] = [:],
        errorsAreTerminal: Bool = false
    ) async throws -> ProcessResult {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try run(arguments, environment: environment, errorsAreTerminal: errorsAreTerminal)
                    }
                )
            }
        }
    }

    /// Runs the program with a list of arguments.
    @discardableResult
    func run(
        _ arguments: [String],
        input: String = "",
        environment: [String: String] = [:],
        hasReader: Bool = true,
        errorsAreTerminal: Bool = false,
        secondsToLive: Int = 600
    ) throws -> ProcessResult {
        var variables = ProcessInfo.processInfo.environment
        let folderOfJWT = URL(filePath: Self.jwt.path).deletingLastPathComponent().path(percentEncoded: false)
        variables["PATH"] = "\(folderOfJWT):\(Self.folder):\(variables["PATH"] ?? "/usr/bin:/bin")"
        // Make dates, colors and languages independent of the machine.
        variables.merge(["TZ": "UTC", "TERM": "xterm", "LC_ALL": "C"]) { $1 }
        variables["NO_COLOR"] = nil
        variables.merge(environment) { $1 }
        var child = try ChildProcess(
            path: path,
            arguments: [path] + self.arguments + arguments,
            environment: variables.map { "\($0)=\($1)" },
            hasReader: hasReader,
            errorsAreTerminal: errorsAreTerminal
        )
        return try child.finish(input: Array(input.utf8), secondsToLive: secondsToLive)
    }

    private static let folder: String = {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return URL(filePath: runner).deletingLastPathComponent().path(percentEncoded: false)
            .trimmingSuffix("/")
    }()
}

extension String {
    fileprivate func trimmingSuffix(_ suffix: String) -> String {
        hasSuffix(suffix) ? String(dropLast(suffix.count)) : self
    }
}

/// A running process with a pipe for each standard stream.
///
/// Foundation's `Process` isn't suitable: a process that another test starts at the same time can
/// inherit its pipes, which delays the end of file.
private struct ChildProcess {
    private let identifier: pid_t
    private var input: Int32
    /// The read end of standard output, or a negative number without a reader.
    private let output: Int32
    private let errors: Int32

    init(
        path: String,
        arguments: [String],
        environment: [String],
        hasReader: Bool,
        errorsAreTerminal: Bool
    ) throws {
        // Writing to a process that has ended must not terminate the runner.
        signal(SIGPIPE, SIG_IGN)
        let (input, output) = (try Self.pipe(), try Self.pipe())
        let errors = errorsAreTerminal ? try Self.terminal() : try Self.pipe()
        defer { for end in [input.read, output.write, errors.write] { close(end) } }

        if !hasReader { close(output.read) }

        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        for (end, number) in [(input.read, Int32(0)), (output.write, 1), (errors.write, 2)] {
            unsafe posix_spawn_file_actions_adddup2(&actions, end, number)
        }
        // Don't pass on descriptors of other tests, some of which wait for them to be closed.
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        // Restore the default signal state: threads of Swift tasks block most signals, and the
        // runner can ignore some, such as SIGHUP if nohup has started it.
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

        var identifier = pid_t()
        let argumentList = unsafe arguments.map { unsafe strdup($0) } + [nil]
        let environmentList = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (argumentList + environmentList).forEach { unsafe free($0) } }
        let number = unsafe posix_spawn(&identifier, path, &actions, &attributes, argumentList, environmentList)
        guard number == 0 else {
            for end in [input.write, errors.read] + (hasReader ? [output.read] : []) { close(end) }
            throw BuiltProgram.Failure(description: "\(path) can't be started: error \(number)")
        }
        self.identifier = identifier
        self.input = input.write
        self.output = hasReader ? output.read : -1
        self.errors = errors.read
        _ = fcntl(input.write, F_SETFL, O_NONBLOCK)
    }

    /// Writes the input and reads both outputs concurrently, so that a full pipe can't cause a
    /// deadlock.
    mutating func finish(input bytes: [UInt8], secondsToLive: Int) throws -> ProcessResult {
        var rest = bytes[...]
        var collected: [Int32: [UInt8]] = [output: [], errors: []]
        var open = Set([output, errors].filter { $0 >= 0 })
        let deadline = ContinuousClock.now + .seconds(secondsToLive)
        if rest.isEmpty { closeInput() }
        while !open.isEmpty {
            guard ContinuousClock.now < deadline else {
                kill(identifier, SIGKILL)
                _ = wait()
                throw BuiltProgram.Failure(description: "the process didn't end within \(secondsToLive) s")
            }
            var polled = open.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            if input >= 0 { polled.append(pollfd(fd: input, events: Int16(POLLOUT), revents: 0)) }
            guard unsafe poll(&polled, nfds_t(polled.count), 1_000) > 0 else { continue }
            for entry in polled where entry.revents != 0 {
                if entry.fd == input {
                    writeInput(&rest)
                } else if let chunk = Self.readChunk(entry.fd) {
                    collected[entry.fd, default: []] += chunk
                } else {
                    open.remove(entry.fd)
                }
            }
        }
        closeInput()
        let result = ProcessResult(
            status: wait(),
            output: String(decoding: collected[output] ?? [], as: UTF8.self),
            errors: String(decoding: collected[errors] ?? [], as: UTF8.self)
        )
        for end in [output, errors] where end >= 0 { close(end) }
        return result
    }

    private mutating func writeInput(_ rest: inout ArraySlice<UInt8>) {
        let count = unsafe rest.withUnsafeBytes { unsafe write(input, $0.baseAddress, $0.count) }
        if count > 0 { rest = rest.dropFirst(count) }
        if rest.isEmpty || (count < 0 && errno != EAGAIN && errno != EINTR) { closeInput() }
    }

    private mutating func closeInput() {
        if input >= 0 { close(input) }
        input = -1
    }

    private func wait() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(identifier, &status, 0) == -1, errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : -signal
    }

    private static func readChunk(_ number: Int32) -> [UInt8]? {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe read(number, &chunk, chunk.count)
        if count < 0, errno == EINTR { return [] }
        return count > 0 ? Array(chunk.prefix(count)) : nil
    }

    /// Creates a pseudoterminal with 80 columns.
    private static func terminal() throws -> (read: Int32, write: Int32) {
        var (readEnd, writeEnd) = (Int32(-1), Int32(-1))
        var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        guard unsafe openpty(&readEnd, &writeEnd, nil, nil, &size) == 0 else {
            throw BuiltProgram.Failure(description: "can't create a terminal: error \(errno)")
        }
        // Prevent processes of other tests from inheriting the descriptors.
        for end in [readEnd, writeEnd] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (readEnd, writeEnd)
    }

    /// Creates a pipe with close-on-exec set atomically, which `pipe(2)` can't do.
    private static func pipe() throws -> (read: Int32, write: Int32) {
        let path = NSTemporaryDirectory() + "/jwt-tests-\(UUID().uuidString).fifo"
        guard unsafe mkfifo(path, 0o600) == 0 else {
            throw BuiltProgram.Failure(description: "no pipe at \(path): error \(errno)")
        }
        defer { unsafe unlink(path) }
        // Without O_NONBLOCK, opening one end blocks until the other is opened.
        let readEnd = unsafe Glibc.open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        let writeEnd = unsafe Glibc.open(path, O_WRONLY | O_CLOEXEC)
        guard readEnd >= 0, writeEnd >= 0 else {
            throw BuiltProgram.Failure(description: "no pipe at \(path): error \(errno)")
        }
        _ = fcntl(readEnd, F_SETFL, 0)
        return (readEnd, writeEnd)
    }
}
