import Foundation
import Glibc
import TestPrograms

/// A `transfer-peer` process.
final class TransferProcess: Sendable {
    struct Report: Codable, Equatable {
        var octets: Int?
        var microseconds: Int?
        var peakKiB: Int?
        var code: String?
        var errno: Int?
    }

    private let program: ChildProgram
    private let output: URL

    /// Starts a process that writes its output to a file.
    init(_ arguments: String...) throws {
        output = FileManager.default.temporaryDirectory.appending(path: "transfer-\(UUID().uuidString).json")
        program = try ChildProgram("transfer-peer", arguments, output: output.path)
    }

    deinit {
        _ = unsafe unlink(output.path)
    }

    /// The process's output.
    var report: Report? {
        (try? Data(contentsOf: output)).flatMap { try? JSONDecoder().decode(Report.self, from: $0) }
    }

    /// A Boolean value that indicates whether the process has ended.
    var isOver: Bool { program.isOver }

    /// Waits for the end, and returns the exit code or the negative signal number.
    func wait() async throws -> Int32 { try await program.wait() }

    /// Kills the process, and waits for its end.
    func kill() { program.kill() }
}
