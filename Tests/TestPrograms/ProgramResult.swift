public import Foundation

/// The result of a program.
public struct ProgramResult: Sendable {
    /// The exit code, or the negative number of the signal that ended the program.
    public let status: Int32
    /// The content of standard output.
    public let output: Data
    /// The content of standard error.
    public let errors: Data

    /// Runs a program without blocking other tests.
    ///
    /// - Parameters:
    ///   - path: The path of the program.
    ///   - arguments: The arguments of the program.
    ///   - input: The content of standard input. The default is empty.
    public static func of(_ path: String, _ arguments: [String], input: Data = Data()) async throws -> ProgramResult {
        let files = try StreamFiles(input: input)
        defer { files.remove() }
        let program = try files.start(path, arguments)
        return try files.result(status: await program.wait())
    }

    /// Runs a short program and blocks the current thread.
    public static func blocking(_ path: String, _ arguments: [String], input: Data = Data()) throws -> ProgramResult {
        let files = try StreamFiles(input: input)
        defer { files.remove() }
        return try files.result(status: files.start(path, arguments).waitBlocking())
    }
}

/// Files for the streams of a program, so that no pipe can fill up. Only the owner can read them,
/// because they may contain keys.
private struct StreamFiles {
    private let folder: URL

    init(input: Data) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "program-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        try input.write(to: file("in"))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file("in").path)
    }

    func start(_ path: String, _ arguments: [String]) throws -> ChildProgram {
        try ChildProgram(
            path: path,
            arguments,
            input: .file(file("in").path),
            output: .file(file("out").path),
            errors: .file(file("err").path)
        )
    }

    func result(status: Int32) throws -> ProgramResult {
        ProgramResult(
            status: status,
            output: try Data(contentsOf: file("out")),
            errors: try Data(contentsOf: file("err"))
        )
    }

    func remove() {
        try? FileManager.default.removeItem(at: folder)
    }

    private func file(_ name: String) -> URL { folder.appending(path: name) }
}
