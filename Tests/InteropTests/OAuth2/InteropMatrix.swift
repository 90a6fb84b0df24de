import Foundation
import Testing

/// What a run finds out about each server, for `Docs/Interop.md`.
enum InteropMatrix {
    /// How a feature fared with a server.
    enum Outcome: Sendable, Equatable {
        case passed
        /// The server does not have it.
        case lacks
        /// The server does it another way than the standard says, and what we make of that.
        case differs(String)
    }

    /// Runs the test of one feature with one server, and writes down what came of it.
    ///
    /// - Parameters:
    ///   - feature: The feature, as the table is to call it.
    ///   - server: The server.
    ///   - body: The test.
    static func record(
        _ feature: String,
        _ server: OAuth2Peer,
        _ body: () async throws -> Outcome
    ) async throws {
        let outcome = try await body()
        let words =
            switch outcome {
            case .passed: "passed"
            case .lacks: "lacks"
            case .differs(let reason): "differs\t\(reason)"
            }
        guard let path = Interop.variable("INTEROP_MATRIX") else { return }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        defer { try? file.close() }
        // One write at the end: lines of tests that run at once stay whole.
        try file.seekToEnd()
        try file.write(contentsOf: Data("\(feature)\t\(server.rawValue)\t\(words)\n".utf8))
    }
}
