import Foundation
import TestPrograms
import TestSupport

/// A program that was run to its end.
struct ChildProcess: Sendable {
    let status: Int32
    let output: String
    let errors: String

    /// Hundreds of interpreters at a time would leave no memory to the servers.
    private static let turns = FIFOSemaphore(count: 8)

    /// Runs a program.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: Its arguments.
    ///   - input: What it reads from standard input.
    static func run(_ program: String, _ arguments: [String], input: String = "") async throws -> ChildProcess {
        await turns.acquire()
        defer { turns.release() }
        let result = try await ProgramResult.of(program, arguments, input: Data(input.utf8))
        return ChildProcess(
            status: result.status,
            output: String(decoding: result.output, as: UTF8.self),
            errors: String(decoding: result.errors, as: UTF8.self)
        )
    }
}
