public import Foundation
import Synchronization

extension HTTPBody {
    /// Hands the octets over part by part, as a transport of one's own needs them to send them.
    ///
    /// ```swift
    /// try await request.body.read { part in try await connection.write(part) }
    /// ```
    ///
    /// Each call begins at the first octet; a body that is not ``isReplayable`` can be read once. There are as many octets as
    /// ``contentLength`` says: a body that turns out to be longer or shorter is an error, longer before the first octet too many is handed over.
    ///
    /// - Parameter take: Takes the next part, which is never empty; called again when it has returned.
    /// - Throws: What `take` throws; ``NetworkError`` with the code `invalidRequest` if a file can't be read or the body is of another length,
    ///   with `requestNotMade` if its parts could not be made; `CancellationError` if the task was cancelled.
    public func read(_ take: @escaping @Sendable (_ part: Data) async throws -> Void) async throws {
        switch source {
        case .none: break
        case .data(let data): if !data.isEmpty { try await take(data) }
        case .file(let url, let length): try await read(FileReading.producer(url, length: length), length, take)
        case .stream(let length, _, let producer): try await read(producer, length, take)
        }
    }

    /// The octets, brought into memory.
    ///
    /// - Parameter limit: The most octets accepted.
    /// - Returns: The octets; empty if there is no body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if there are more, and what ``read(_:)`` throws.
    public func collect(upTo limit: Int) async throws -> Data {
        try await collect(
            upTo: limit,
            otherwise: NetworkError(.invalidRequest, "the request has a body of more than \(limit) octets")
        )
    }

    /// The same with an error of the caller's for a body that is too large.
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
        _ take: @escaping @Sendable (Data) async throws -> Void
    ) async throws {
        let progress = Mutex(ReadingProgress())
        do {
            try await producer { part in
                guard !part.isEmpty else { return }
                try Task.checkCancellation()
                do {
                    try progress.withLock { try $0.add(part.count, upTo: length) }
                    try await take(part)
                } catch {
                    // Whoever makes the parts may wrap the error, or not mind it.
                    progress.withLock { $0.failure = error }
                    throw error
                }
            }
        } catch {
            throw progress.withLock(\.failure) ?? Self.producerFailure(error)
        }
        let read = progress.withLock { $0 }
        if let failure = read.failure { throw failure }
        // Sequences end early when they are cancelled, and what came until then must not pass for the whole.
        try Task.checkCancellation()
        guard let length, read.count < length else { return }
        throw NetworkError(.invalidRequest, "the request's body is shorter than its length of \(length) octets")
    }

    private static func producerFailure(_ error: any Error) -> any Error {
        if error is NetworkError || error is CancellationError { return error }
        return NetworkError(
            .requestNotMade,
            "the request's body could not be made, and was not sent as a whole",
            cause: error
        )
    }
}

/// How far a body was read.
private struct ReadingProgress {
    var count = 0
    /// What whoever takes the parts threw.
    var failure: (any Error)?

    mutating func add(_ more: Int, upTo length: Int?) throws {
        if let length, more > length - count {
            throw NetworkError(.invalidRequest, "the request's body is longer than its length of \(length) octets")
        }
        count += more
    }
}
