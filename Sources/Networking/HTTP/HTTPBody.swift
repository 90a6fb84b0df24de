public import Foundation

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
    public static func data(_ data: Data) -> Self {
        Self(source: .data(data))
    }

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

    /// Creates a body from a closure that produces its parts, once per attempt.
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
}
