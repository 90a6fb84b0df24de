import Foundation
import Testing

/// The environment that `Tests/Interop/run` has prepared.
enum Interop {
    /// The reason for skipping a suite without the script.
    static let hint: Comment = "requires Python libraries and servers; run “bash Tests/Interop/run”"

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
