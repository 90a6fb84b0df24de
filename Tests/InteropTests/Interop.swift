import Foundation
import Testing

/// What `Tests/Interop/run` prepared and tells through the environment.
enum Interop {
    /// Why a suite is skipped when it was started without the script.
    static let hint: Comment = "needs Python libraries and servers: run “bash Tests/Interop/run”"

    /// Whether the script started these tests.
    static let isPrepared = variable("INTEROP_PYTHON") != nil

    static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    /// A variable that the script sets.
    static func required(_ name: String) throws -> String {
        try #require(variable(name), "\(name) is not set: run “bash Tests/Interop/run”")
    }

    /// A file of `Tests/Interop`.
    static func file(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Interop/\(name)").path
    }
}
