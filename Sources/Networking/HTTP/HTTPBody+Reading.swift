public import Foundation
import Synchronization

extension HTTPBody {
    /// Passes the bytes to a closure part by part, for use by a custom transport.
    ///
    /// ```swift
    /// try await request.body.read { part in try await connection.write(part) }
    /// ```
    ///
    /// Each call starts at the first byte. A body that isn't ``isReplayable`` can be read once. The
    /// body must match its ``contentLength``: it throws before it passes on an excess byte.
    ///
    /// - Parameter take: Receives the next, non-empty part. Called again after it returns.
    /// - Throws: The closure's error; ``NetworkError`` with the code `invalidRequest` if a file
    ///   can't be read or the length differs, or `requestNotMade` if creating the parts fails;
    ///   `CancellationError` if the task was cancelled.
    public func read(_ take: @escaping @Sendable (_ part: Data) async throws -> Void) async throws {
        try await read(as: "the request's body", take)
    }

    /// Passes the bytes to a closure, with a name for the body in the messages of errors.
    func read(as name: String, _ take: @escaping @Sendable (_ part: Data) async throws -> Void) async throws {
        switch source {
        case .none: break
        case .data(let data): if !data.isEmpty { try await take(data) }
        case .file(let url, let length):
            try await read(FileReading.producer(url, length: length), length, as: name, take)
        case .stream(let length, _, let producer): try await read(producer, length, as: name, take)
        }
    }

    /// Returns all bytes in memory.
    ///
    /// - Parameter limit: The maximum number of bytes.
    /// - Returns: The bytes; empty if there is no body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the body exceeds the limit, or
    ///   an error of ``read(_:)``.
    public func collect(upTo limit: Int) async throws -> Data {
        try await collect(
            upTo: limit,
            otherwise: NetworkError(.invalidRequest, "the request's body is larger than \(limit) bytes")
        )
    }

    /// Returns all bytes, or throws the caller's error if the body is too large.
    func collect(upTo limit: Int, otherwise tooLarge: NetworkError) async throws -> Data {
        if case .data(let data) = source, data.count <= limit { return data }
        if let contentLength, contentLength > limit { throw tooLarge }
        let octets = Mutex(Data())
        try await read { part in
            try octets.withLock { octets in
                guard part.count <= limit - octets.count else { throw tooLarge }
                octets.append(part)
            }
        }
        return octets.withLock { $0 }
    }

    private func read(
        _ producer: Producer,
        _ length: Int?,
        as name: String,
        _ take: @escaping @Sendable (Data) async throws -> Void
    ) async throws {
        let progress = Mutex((count: 0, failure: (any Error)?.none))
        do {
            try await producer { part in
                guard !part.isEmpty else { return }
                try Task.checkCancellation()
                do {
                    let count = progress.withLock { progress in
                        progress.count += part.count
                        return progress.count
                    }
                    if let length, count > length { throw Self.mismatch(name, "longer", length) }
                    try await take(part)
                } catch {
                    // The producer may wrap or ignore the error.
                    progress.withLock { $0.failure = error }
                    throw error
                }
            }
        } catch {
            throw progress.withLock(\.failure) ?? Self.producerFailure(error)
        }
        let read = progress.withLock { $0 }
        if let failure = read.failure { throw failure }
        // Sequences end early on cancellation. A partial body must not count as complete.
        try Task.checkCancellation()
        guard let length, read.count < length else { return }
        throw Self.mismatch(name, "shorter", length)
    }

    private static func mismatch(_ name: String, _ relation: String, _ length: Int) -> NetworkError {
        NetworkError(
            .invalidRequest,
            "\(name) is \(relation) than its length of \(length) bytes; "
                + "correct the length, and don't change the content while it's being sent"
        )
    }

    private static func producerFailure(_ error: any Error) -> any Error {
        if Task.isCancelled { return CancellationError() }
        if error is NetworkError { return error }
        return NetworkError(
            .requestNotMade,
            "the request's body couldn't be created; it wasn't sent completely",
            cause: error
        )
    }
}
