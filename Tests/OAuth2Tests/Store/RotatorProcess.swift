import Foundation
import Glibc
import MockNetworking

/// A process that replaces the token of a shared store over and over.
final class RotatorProcess: Sendable {
    private let identifier: pid_t
    private let output: URL
    private let ending = ResponseGate()

    /// Starts a process.
    ///
    /// - Parameters:
    ///   - arguments: The store's directory, the token endpoint and the number of rotations.
    ///   - firstToken: A file with the first refresh token.
    ///   - output: Where its last words go.
    init(_ arguments: [String], firstToken: URL, output: URL) throws {
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        self.output = output
        try Data().write(to: output)
        // Files instead of pipes: a pipe could be inherited by a process that another test starts in the same moment.
        let process = Process()
        process.executableURL = URL(filePath: runner).deletingLastPathComponent().appending(path: "token-rotator")
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: firstToken)
        process.standardOutput = try FileHandle(forWritingTo: output)
        process.terminationHandler = { [ending] _ in ending.open() }
        try process.run()
        identifier = process.processIdentifier
    }

    /// Whether it has ended.
    var isOver: Bool { ending.isOpen }

    /// Ends it in the middle of whatever it does, unless it has ended.
    func kill() {
        if !ending.isOpen { _ = Glibc.kill(identifier, SIGKILL) }
    }

    /// Its last words, when it has ended; empty if it was killed.
    func lastWords() async throws -> String {
        try await ending.wait()
        return try String(contentsOf: output, encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}
