import Foundation
import TestPrograms
import TestSupport

/// The result of a program that has ended.
struct ChildProcess: Sendable {
    let status: Int32
    let output: String
    let errors: String

    /// Limits the interpreters, because hundreds at a time would leave no memory for the servers.
    private static let turns = FIFOSemaphore(count: 8)

    /// Runs a program.
    ///
    /// - Parameters:
    ///   - program: The program's path.
    ///   - arguments: Its arguments.
    ///   - input: The program's standard input.
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
