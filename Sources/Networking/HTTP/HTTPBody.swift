public import Foundation
import Synchronization

/// The body of a request.
public struct HTTPBody: Sendable {
    package enum Source: Sendable {
        case none
        case data(Data)
        /// The bytes of a regular file, up to the length it had when the body was created.
        case file(URL, length: Int)
        /// Streamed parts. The closure is called for each attempt, or only once if not replayable.
        case stream(length: Int?, isReplayable: Bool, Producer)
    }

    /// Creates the parts in order and delivers each one, waiting until the transport can take more.
    package typealias Producer =
        @Sendable (_ deliver: @escaping @Sendable (Data) async throws -> Void) async throws -> Void

    package let source: Source

    init(source: Source) {
        self.source = source
    }

    /// No body.
    ///
    /// Methods that anticipate content send `Content-Length: 0`; others send no `Content-Length`
    /// ([RFC 9110 §8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6)).
    public static let none = Self(source: .none)

    /// Returns a body with data in memory.
    ///
    /// - Parameter data: The bytes.
    /// - Returns: A replayable body.
    public static func data(_ data: Data) -> Self { Self(source: .data(data)) }

    /// Returns a body that streams a file.
    ///
    /// - Parameter url: The file. It must not change until it's sent; the request fails if it
    ///   shrinks.
    /// - Returns: A replayable body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the URL isn't a readable
    ///   regular file.
    public static func file(_ url: URL) throws(NetworkError) -> Self {
        guard url.isFileURL, FileManager.default.isReadableFile(atPath: url.path),
            let attributes = try? FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path),
            attributes[.type] as? FileAttributeType == .typeRegular, let length = attributes[.size] as? Int
        else {
            throw NetworkError(
                .invalidRequest,
                "“\(url.lastPathComponent)” can't be sent because it isn't a readable regular file"
            )
        }
        return Self(source: .file(url, length: length))
    }

    /// Returns a replayable body whose parts are created while it's sent.
    ///
    /// - Parameters:
    ///   - length: The total number of bytes, or `nil` if unknown; HTTP/1.1 then uses chunked
    ///     encoding. The request fails if the length is wrong.
    ///   - parts: Creates the sequence of parts. Called for every attempt.
    /// - Returns: A replayable body.
    public static func stream<Parts: AsyncSequence & Sendable>(
        length: Int? = nil,
        _ parts: @escaping @Sendable () -> Parts
    ) -> Self where Parts.Element == Data {
        Self(length: length, isReplayable: true) { deliver in
            for try await part in parts() { try await deliver(part) }
        }
    }

    /// Returns a body that can be sent only once, such as a forwarded response body.
    ///
    /// - Parameters:
    ///   - parts: The parts.
    ///   - length: The total number of bytes, or `nil` if unknown.
    /// - Returns: A body whose request is never retried.
    public static func once<Parts: AsyncSequence & Sendable>(_ parts: Parts, length: Int? = nil) -> Self
    where Parts.Element == Data {
        Self(length: length, isReplayable: false) { deliver in
            for try await part in parts { try await deliver(part) }
        }
    }

    package init(length: Int?, isReplayable: Bool, _ producer: @escaping Producer) {
        self.init(source: .stream(length: length, isReplayable: isReplayable, producer))
    }

    /// The number of bytes, if it's known before sending.
    public var contentLength: Int? {
        switch source {
        case .none: 0
        case .data(let data): data.count
        case .file(_, let length): length
        case .stream(let length, _, _): length
        }
    }

    /// A Boolean value that indicates whether the body can be sent again, as retries require.
    public var isReplayable: Bool {
        switch source {
        case .none, .data, .file: true
        case .stream(_, let isReplayable, _): isReplayable
        }
    }

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

    /// `name` is the body's name in the messages of errors.
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
    /// - Returns: The bytes; empty without a body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the body exceeds the limit, or
    ///   an error of ``read(_:)``.
    public func collect(upTo limit: Int) async throws -> Data {
        try await collect(
            upTo: limit,
            otherwise: NetworkError(.invalidRequest, "the request's body is larger than \(limit) bytes")
        )
    }

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
