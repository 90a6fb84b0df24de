public import Foundation

/// What a request carries.
public struct HTTPBody: Sendable {
    package enum Source: Sendable {
        case none
        case data(Data)
        /// The octets of a regular file from its beginning to the length it had when the body was made.
        case file(URL, length: Int)
        /// Parts as they come; the closure is called for each attempt, and only once if the body is not replayable.
        case stream(length: Int?, isReplayable: Bool, Producer)
    }

    /// Makes the parts one after the other and hands each to the transport, which takes the next when it has room for it.
    package typealias Producer =
        @Sendable (_ deliver: @escaping @Sendable (Data) async throws -> Void) async throws -> Void

    package let source: Source

    /// No body, and no `Content-Length`, except that methods which anticipate content send `Content-Length: 0`
    /// ([RFC 9110 §8.6](https://www.rfc-editor.org/rfc/rfc9110#section-8.6)).
    public static let none = Self(source: .none)

    /// A body held in memory.
    ///
    /// - Parameter data: The octets to send.
    /// - Returns: A body that can be sent as often as needed.
    public static func data(_ data: Data) -> Self {
        Self(source: .data(data))
    }

    /// A file, which is read while it is sent.
    ///
    /// - Parameter url: The file. It must not change until it is sent: if it has become shorter, the request fails.
    /// - Returns: A body that can be sent as often as needed.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if it is no regular file that can be read.
    public static func file(_ url: URL) throws(NetworkError) -> Self {
        guard url.isFileURL, FileManager.default.isReadableFile(atPath: url.path),
            let attributes = try? FileManager.default.attributesOfItem(atPath: url.resolvingSymlinksInPath().path),
            attributes[.type] as? FileAttributeType == .typeRegular, let length = attributes[.size] as? Int
        else {
            throw NetworkError(
                .invalidRequest,
                "“\(url.lastPathComponent)” can't be sent: it is no regular file that can be read"
            )
        }
        return Self(source: .file(url, length: length))
    }

    /// Parts that are made while they are sent, and can be made again.
    ///
    /// - Parameters:
    ///   - length: The octets of all parts together, or `nil` if that is not known; then HTTP/1.1 sends them in chunks. If the parts turn
    ///     out to be of another length, the request fails.
    ///   - parts: Begins anew; called for every attempt.
    /// - Returns: A body that can be sent as often as needed.
    public static func stream<Parts: AsyncSequence & Sendable>(
        length: Int? = nil,
        _ parts: @escaping @Sendable () -> Parts
    ) -> Self where Parts.Element == Data {
        Self(
            source: .stream(length: length, isReplayable: true) { deliver in
                for try await part in parts() { try await deliver(part) }
            }
        )
    }

    /// Parts that come only once, such as those of a response that is passed on.
    ///
    /// - Parameters:
    ///   - parts: The parts.
    ///   - length: The octets of all parts together, or `nil` if that is not known.
    /// - Returns: A body that can be sent once: a request with it is not repeated.
    public static func once<Parts: AsyncSequence & Sendable>(_ parts: Parts, length: Int? = nil) -> Self
    where Parts.Element == Data {
        Self(
            source: .stream(length: length, isReplayable: false) { deliver in
                for try await part in parts { try await deliver(part) }
            }
        )
    }

    /// The number of octets, if it is known before sending.
    public var contentLength: Int? {
        switch source {
        case .none: 0
        case .data(let data): data.count
        case .file(_, let length): length
        case .stream(let length, _, _): length
        }
    }

    /// Whether the body can be sent again, as a retry must.
    public var isReplayable: Bool {
        switch source {
        case .none, .data, .file: true
        case .stream(_, let isReplayable, _): isReplayable
        }
    }
}
