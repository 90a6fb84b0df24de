import Foundation
import Testing

/// The results for each server, for `Docs/Interop.md`.
enum InteropMatrix {
    /// The result of testing a feature with a server.
    enum Outcome: Sendable, Equatable {
        case passed
        /// The server doesn't support the feature.
        case lacks
        /// The server deviates from the standard, with a description.
        case differs(String)
    }

    /// Serializes the tests with Glewlwyd, which mixes up database rows of concurrent requests and
    /// then rejects tokens that it has just issued.
    private static let glewlwyd = Turn()

    /// Runs the test of one feature with one server, and records the result.
    ///
    /// - Parameters:
    ///   - feature: The feature's name in the table.
    ///   - server: The server.
    ///   - body: The test.
    static func record(
        _ feature: String,
        _ server: OAuth2Peer,
        _ body: () async throws -> Outcome
    ) async throws {
        if server == .glewlwyd { await glewlwyd.take() }
        let result = await Result(catching: body)
        if server == .glewlwyd { await glewlwyd.leave() }
        let outcome = try result.get()
        let words =
            switch outcome {
            case .passed: "passed"
            case .lacks: "lacks"
            case .differs(let reason): "differs\t\(reason)"
            }
        guard let path = Interop.variable("INTEROP_MATRIX") else { return }
        let file = try FileHandle(forWritingTo: URL(filePath: path))
        defer { try? file.close() }
        // Write each line at once, so that concurrent tests don't mix theirs.
        try file.seekToEnd()
        try file.write(contentsOf: Data("\(feature)\t\(server.rawValue)\t\(words)\n".utf8))
    }
}

/// A lock for asynchronous code.
private actor Turn {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func take() async {
        if isTaken {
            await withCheckedContinuation { waiting.append($0) }
        } else {
            isTaken = true
        }
    }

    func leave() {
        if waiting.isEmpty {
            isTaken = false
        } else {
            waiting.removeFirst().resume()
        }
    }
}

extension Result where Failure == any Error {
    fileprivate init(catching body: () async throws -> Success) async {
        do {
            self = .success(try await body())
        } catch {
            self = .failure(error)
        }
    }
}
