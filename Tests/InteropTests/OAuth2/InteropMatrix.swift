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

    /// One test at a time: Glewlwyd mixes up rows of its database when it is asked many things at once, and then refuses tokens
    /// that it has just issued.
    private static let glewlwyd = Turn()

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
        if server == .glewlwyd { await glewlwyd.acquire() }
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
        // One write at the end: lines of tests that run at once stay whole.
        try file.seekToEnd()
        try file.write(contentsOf: Data("\(feature)\t\(server.rawValue)\t\(words)\n".utf8))
    }
}

/// What one has at a time.
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
