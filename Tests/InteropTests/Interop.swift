import Foundation
import TestPrograms
import TestSupport
import Testing

/// The environment that `Tests/Interop/run` has prepared.
enum Interop {
    /// The reason for skipping a suite without the script.
    static let hint: Comment = "requires Python libraries and servers; run “bash Tests/Interop/run”"

    /// The reason for skipping a suite without the script for servers outside the gate.
    static let serversHint: Comment =
        "requires servers that the gate doesn't start; run “bash Tests/Interop/servers”"

    /// A Boolean value that indicates whether the script started these tests.
    static let isPrepared = variable("INTEROP_PYTHON") != nil

    static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Returns a variable that the script sets.
    static func required(_ name: String) throws -> String {
        try #require(variable(name), "\(name) isn't set; run “bash Tests/Interop/run”")
    }

    /// Returns the path of a file in `Tests/Interop`.
    static func file(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Interop/\(name)").path
    }
}

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
