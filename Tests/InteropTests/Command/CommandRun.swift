import Foundation
import Testing
import TokenGeneration

/// The `jwt` command that the script has built.
enum CommandRun {
    /// Returns the command's standard output if it succeeds.
    static func output(_ arguments: [String], input: String = "") async throws -> String {
        let run = try await ChildProcess.run(Interop.required("JWT_UNDER_TEST"), arguments, input: input)
        try #require(run.status == 0, "jwt \(arguments.prefix(2).joined(separator: " ")): \(run.errors)")
        return run.output
    }

    /// Returns the output without surrounding white space.
    static func text(_ arguments: [String], input: String = "") async throws -> String {
        try await output(arguments, input: input).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

/// Runs a test with a folder that only its owner can read.
final class PrivateFolder {
    private let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "interop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    func path(_ name: String) -> String { url.appending(path: name).path }

    @discardableResult
    func write(_ data: Data, to name: String) throws -> String {
        try data.write(to: URL(filePath: path(name)))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path(name))
        return path(name)
    }
}
