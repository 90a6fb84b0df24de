import Foundation
import TestPrograms

/// A process that replaces the token of a shared store over and over.
final class RotatorProcess: Sendable {
    private let program: ChildProgram
    private let output: URL

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - arguments: The store's directory, the token endpoint and the number of rotations.
    ///   - firstToken: A file with the first refresh token.
    ///   - output: Where its last words go.
    init(_ arguments: [String], firstToken: URL, output: URL) throws {
        self.output = output
        program = try ChildProgram("token-rotator", arguments, input: .file(firstToken.path), output: output.path)
    }

    /// Whether it has ended.
    var isOver: Bool { program.isOver }

    /// Ends it in the middle of whatever it does, unless it has ended.
    func kill() { program.kill() }

    /// Its last words, when it has ended; empty if it was killed.
    func lastWords() async throws -> String {
        _ = try await program.wait()
        return try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}
