import CSpawn
import Foundation
import Glibc
import Synchronization

/// A program that stands beside the test runner in the build folder, started, and still running or ended.
///
/// Foundation's `Process` is not used: what it makes to hear of the end can be inherited by a process that another test starts in the
/// same moment, and then it does not hear of the end before that one's. Here nothing is inherited but what is given.
public final class ChildProgram: Sendable {
    /// Why a program could not be started.
    public struct CannotStart: Error {
        /// The number of the system's error.
        public let number: Int32
    }

    private let identifier: pid_t
    private let ending = Mutex<Int32?>(nil)

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - arguments: Its arguments.
    ///   - input: The file it reads from standard input, by default nothing.
    ///   - output: The file that gets what it prints.
    public init(_ name: String, _ arguments: [String], input: String = "/dev/null", output: String) throws {
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let path = URL(filePath: runner).deletingLastPathComponent().appending(path: name).path
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, input, O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, 3)
        let list = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe list.forEach { unsafe free($0) } }
        var identifier = pid_t()
        let number = unsafe posix_spawn(&identifier, path, &actions, nil, list, environ)
        guard number == 0 else { throw CannotStart(number: number) }
        self.identifier = identifier
    }

    deinit {
        kill()
    }

    /// Whether it has ended.
    public var isOver: Bool { poll() != nil }

    /// Waits for its end; returns its exit code, or minus the signal that ended it.
    public func wait() async throws -> Int32 {
        while true {
            if let status = poll() { return status }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Ends it at once, in the middle of whatever it does, and waits for that; nothing if it has ended.
    public func kill() {
        ending.withLock { ending in
            guard ending == nil else { return }
            _ = Glibc.kill(identifier, SIGKILL)
            var status: Int32 = 0
            while unsafe waitpid(identifier, &status, 0) == -1, errno == EINTR {}
            ending = Self.meaning(status)
        }
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
