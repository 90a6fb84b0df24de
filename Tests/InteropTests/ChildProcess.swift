import Foundation

/// A program that was run to its end.
struct ChildProcess: Sendable {
    let status: Int32
    let output: String
    let errors: String

    /// Runs a program; input and output go through files, so that no pipe can fill up.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - arguments: Its arguments.
    ///   - input: What it reads from standard input.
    static func run(_ program: String, _ arguments: [String], input: String = "") async throws -> ChildProcess {
        let folder = FileManager.default.temporaryDirectory.appending(path: "interop-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["in", "out", "err"].map { folder.appending(path: $0) }
        try Data(input.utf8).write(to: files[0])
        // It may be a key, and the command warns of one that others can read.
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: files[0].path)
        try Data().write(to: files[1])
        try Data().write(to: files[2])

        let process = Process()
        process.executableURL = URL(filePath: program)
        process.arguments = arguments
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        let status = try await withCheckedThrowingContinuation {
            (continuation: CheckedContinuation<Int32, any Error>) in
            process.terminationHandler = { continuation.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
            } catch {
                process.terminationHandler = nil
                continuation.resume(throwing: error)
            }
        }
        return ChildProcess(
            status: status,
            output: try String(contentsOf: files[1], encoding: .utf8),
            errors: try String(contentsOf: files[2], encoding: .utf8)
        )
    }
}
