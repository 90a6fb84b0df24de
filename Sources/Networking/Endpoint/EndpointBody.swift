public import Foundation

/// The body of a request to an endpoint, with its media type.
public struct EndpointBody: Sendable {
    /// The bytes of the body.
    public let content: HTTPBody
    /// The value of `Content-Type`, or `nil` for none.
    ///
    /// A `Content-Type` in the endpoint's headers overrides it.
    public let contentType: String?

    /// Creates a body from any content, such as a stream.
    ///
    /// - Parameters:
    ///   - content: The bytes of the body.
    ///   - contentType: The value of `Content-Type`.
    public init(_ content: HTTPBody, contentType: String?) {
        self.content = content
        self.contentType = contentType
    }

    /// No body.
    public static let none = Self(.none, contentType: nil)

    /// Returns a body with data in memory.
    ///
    /// - Parameters:
    ///   - data: The bytes.
    ///   - contentType: The media type. The default is `application/octet-stream`.
    /// - Returns: The body.
    public static func data(_ data: Data, contentType: String? = "application/octet-stream") -> Self {
        Self(.data(data), contentType: contentType)
    }

    /// Returns a body with a value encoded as JSON.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - encoder: The encoder. The default sorts keys and doesn't escape `/`, for stable bodies.
    ///   - contentType: The media type. The default is `application/json`.
    /// - Returns: The body.
    /// - Throws: The encoder's error. The operation then fails with
    ///   ``NetworkError/Code/requestNotMade``.
    public static func json(
        _ value: some Encodable,
        encoder: JSONEncoder? = nil,
        contentType: String = "application/json"
    ) throws -> Self {
        Self(.data(try (encoder ?? .deterministic()).encode(value)), contentType: contentType)
    }

    /// Returns a body with form fields in the format `application/x-www-form-urlencoded`.
    ///
    /// - Parameter fields: The fields.
    /// - Returns: The body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a percent-encoded value is
    ///   malformed.
    public static func form(_ fields: URLQuery) throws(NetworkError) -> Self {
        Self(.data(Data(try fields.encoded(by: FormURLEncoded.encode).utf8)), contentType: FormURLEncoded.contentType)
    }

    /// Returns a body that streams a file, with the media type of the file name's extension.
    ///
    /// The media type of an unknown extension is `application/octet-stream`.
    ///
    /// - Parameter url: The file.
    /// - Returns: The body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the URL isn't a readable
    ///   regular file.
    public static func file(_ url: URL) throws(NetworkError) -> Self {
        try file(url, contentType: FileExtension.mediaType(ofFileNamed: url.lastPathComponent))
    }

    /// Returns a body that streams a file.
    ///
    /// - Parameters:
    ///   - url: The file.
    ///   - contentType: The media type; `nil` for no `Content-Type`.
    /// - Returns: The body.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the URL isn't a readable
    ///   regular file.
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
