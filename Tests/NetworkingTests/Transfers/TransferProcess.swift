import Foundation
import Glibc
import Synchronization
import Testing

/// A `transfer-peer`, started and still running or ended.
///
/// Foundation's `Process` is not used: a pipe of it can be inherited by a process that another test starts in the same moment.
final class TransferProcess: Sendable {
    struct Report: Codable, Equatable {
        var octets: Int?
        var microseconds: Int?
        var peakKiB: Int?
        var code: String?
        var errno: Int?
    }

    struct CannotStart: Error { let number: Int32 }

    private let identifier: pid_t
    private let output: URL
    private let ending = Mutex<Int32?>(nil)

    /// Starts a process, whose output goes to a file.
    init(_ arguments: String...) throws {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let path = URL(filePath: runner).deletingLastPathComponent().appending(path: "transfer-peer").path
        output = FileManager.default.temporaryDirectory.appending(path: "transfer-\(UUID().uuidString).json")
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, output.path, O_WRONLY | O_CREAT, 0o600)
        let list = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        defer { unsafe list.forEach { unsafe free($0) } }
        var identifier = pid_t()
        let number = unsafe posix_spawn(&identifier, path, &actions, nil, list, environ)
        guard number == 0 else { throw CannotStart(number: number) }
        self.identifier = identifier
    }

    deinit {
        if !isOver { kill() }
        _ = unsafe unlink(output.path)
    }

    /// What it printed.
    var report: Report? {
        (try? Data(contentsOf: output)).flatMap { try? JSONDecoder().decode(Report.self, from: $0) }
    }

    /// Whether it has ended.
    var isOver: Bool { poll() != nil }

    /// Waits for its end; returns its exit code, or minus the signal that ended it.
    func wait() async throws -> Int32 {
        while true {
            if let status = poll() { return status }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Ends it at once, and waits for that.
    func kill() {
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
