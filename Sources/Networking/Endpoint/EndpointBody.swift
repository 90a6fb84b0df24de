public import Foundation

/// What a request to an endpoint carries, and the media type that says what it is.
public struct EndpointBody: Sendable {
    /// The octets.
    public let content: HTTPBody
    /// The value of `Content-Type`, or `nil` for none.
    ///
    /// An endpoint whose headers have that field wins over it.
    public let contentType: String?

    /// Makes a body of any content, such as a stream.
    ///
    /// - Parameters:
    ///   - content: The octets.
    ///   - contentType: The value of `Content-Type`.
    public init(_ content: HTTPBody, contentType: String?) {
        self.content = content
        self.contentType = contentType
    }

    /// No body.
    public static let none = Self(.none, contentType: nil)

    /// Octets in memory.
    ///
    /// - Parameters:
    ///   - data: The octets.
    ///   - contentType: What they are; `application/octet-stream` by default.
    /// - Returns: The body.
    public static func data(_ data: Data, contentType: String? = "application/octet-stream") -> Self {
        Self(.data(data), contentType: contentType)
    }

    /// A value as JSON.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: What encodes it. By default members are sorted and `/` is not escaped, so that equal values have equal bodies.
    ///   - contentType: The media type.
    /// - Returns: The body.
    /// - Throws: What the encoder throws; the operation then fails with ``NetworkError/Code/requestNotMade``.
    public static func json(
        _ value: some Encodable,
        encoder: JSONEncoder? = nil,
        contentType: String = "application/json"
    ) throws -> Self {
        Self(.data(try (encoder ?? .deterministic()).encode(value)), contentType: contentType)
    }

    /// Fields of a form, in the format `application/x-www-form-urlencoded`.
    ///
    /// - Parameter fields: The fields.
    /// - Returns: The body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a value that is said to be encoded is not.
    public static func form(_ fields: URLQuery) throws(NetworkError) -> Self {
        Self(.data(Data(try fields.formEncoded().utf8)), contentType: FormURLEncoded.contentType)
    }

    /// A file, which is read while it is sent, of the media type that its name's extension says.
    ///
    /// Where the name says nothing, it is `application/octet-stream`.
    ///
    /// - Parameter url: The file.
    /// - Returns: The body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if it is no regular file that can be read.
    public static func file(_ url: URL) throws(NetworkError) -> Self {
        try file(url, contentType: FileExtension.mediaType(ofFileNamed: url.lastPathComponent))
    }

    /// A file, which is read while it is sent.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - contentType: What it is; `nil` for no `Content-Type`.
    /// - Returns: The body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if it is no regular file that can be read.
    public static func file(_ url: URL, contentType: String?) throws(NetworkError) -> Self {
        Self(try .file(url), contentType: contentType)
    }
}

extension JSONEncoder {
    fileprivate static func deterministic() -> JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return encoder
    }
}
