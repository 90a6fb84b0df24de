import Foundation
import Synchronization
import Testing
import TokenGeneration

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
        try append("\(feature)\t\(server.rawValue)\t\(words)")
    }

    /// Records that an exchange of signed messages works with an algorithm.
    ///
    /// - Parameters:
    ///   - exchange: The exchange's name in the table.
    ///   - algorithm: The algorithm.
    static func recordSignatures(_ exchange: String, _ algorithm: JWSAlgorithm) throws {
        try append("`\(SignaturePeer.name(of: algorithm))`\thttp-message-signatures\t\(exchange)")
    }

    /// Lets one test at a time find the file's end and write there.
    private static let writing = Mutex(())

    private static func append(_ line: String) throws {
        guard let path = Interop.variable("INTEROP_MATRIX") else { return }
        try writing.withLock { _ in
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            defer { try? file.close() }
            try file.seekToEnd()
            try file.write(contentsOf: Data("\(line)\n".utf8))
        }
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
