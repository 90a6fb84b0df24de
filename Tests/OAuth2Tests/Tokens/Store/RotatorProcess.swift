import Foundation
import TestPrograms

/// A process that repeatedly rotates the token of a shared store.
final class RotatorProcess: Sendable {
    private let program: ChildProgram
    private let output: URL

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - arguments: The store's directory, the token endpoint and the number of rotations.
    ///   - firstToken: A file with the first refresh token.
    ///   - output: The file for the process's output.
    init(_ arguments: [String], firstToken: URL, output: URL) throws {
        self.output = output
        program = try ChildProgram("token-rotator", arguments, input: .file(firstToken.path), output: output.path)
    }

    /// A Boolean value that indicates whether the process has ended.
    var isOver: Bool { program.isOver }

    /// Kills the process, unless it has ended.
    func kill() { program.kill() }

    /// Returns the output of the process when it has ended; empty if it was killed.
    func lastWords() async throws -> String {
        _ = try await program.wait()
        return try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}
