import Foundation
import Glibc
import TestPrograms

/// A `transfer-peer`, started and still running or ended.
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

    /// Starts a process, whose output goes to a file.
    init(_ arguments: String...) throws {
        output = FileManager.default.temporaryDirectory.appending(path: "transfer-\(UUID().uuidString).json")
        program = try ChildProgram("transfer-peer", arguments, output: output.path)
    }

    deinit {
        _ = unsafe unlink(output.path)
    }

    /// What it printed.
    var report: Report? {
        (try? Data(contentsOf: output)).flatMap { try? JSONDecoder().decode(Report.self, from: $0) }
    }

    /// Whether it has ended.
    var isOver: Bool { program.isOver }

    /// Waits for its end; returns its exit code, or minus the signal that ended it.
    func wait() async throws -> Int32 { try await program.wait() }

    /// Ends it at once, and waits for that.
    func kill() { program.kill() }
}
