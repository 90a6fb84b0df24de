public import Foundation

/// What a program left behind that was run to its end.
public struct ProgramResult: Sendable {
    /// Its exit code, or minus the number of the signal that ended it.
    public let status: Int32
    /// What it printed.
    public let output: Data
    /// What it wrote to standard error.
    public let errors: Data

    /// Runs a program without holding up other tests.
    ///
    /// - Parameters:
    ///   - path: Where it is.
    ///   - arguments: Its arguments.
    ///   - input: What it reads from standard input.
    public static func of(_ path: String, _ arguments: [String], input: Data = Data()) async throws -> ProgramResult {
        let files = try StreamFiles(input: input)
        defer { files.remove() }
        let program = try files.start(path, arguments)
        return try files.result(status: await program.wait())
    }

    /// Runs a program that ends soon, on this thread.
    public static func blocking(_ path: String, _ arguments: [String], input: Data = Data()) throws -> ProgramResult {
        let files = try StreamFiles(input: input)
        defer { files.remove() }
        return try files.result(status: files.start(path, arguments).waitBlocking())
    }
}

/// Files for the streams of a program, so that no pipe can fill up; only their owner can read them, for they may have keys.
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
