public import Foundation
public import Networking

/// What the loopback server answers, down to what a well-behaved server never does.
///
/// The header fields are sent as they are given. Only what frames the message is added if no field says it:
/// `Content-Length` or `Transfer-Encoding`, and `Connection: close` where the connection ends after it.
public struct LoopbackResponse: Sendable {
    /// The status code; any number is sent.
    public var status: Int
    /// The reason phrase; `nil` for the usual one, and the empty text for none.
    public var reason: String?
    /// The header fields, in order.
    public var headers: HTTPHeaders

    var content: Content
    var pausesBeforeHead: [Pause] = []
    var pausesBeforeBody: [Pause] = []
    var interim: [Interim] = []
    var cut: Cut?
    var closesConnection = false
    var truncatesTLS = false

    /// Makes a response with a body in memory and its `Content-Length`.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - reason: The reason phrase; `nil` for the usual one, and the empty text for none.
    ///   - headers: The header fields, in order.
    ///   - body: The body. It isn't sent in answer to `HEAD`, nor with a status that has no body.
    public init(status: Int = 200, reason: String? = nil, headers: HTTPHeaders = [:], body: Data = Data()) {
        self.init(status: status, reason: reason, headers: headers, content: .data(body))
    }

    init(status: Int, reason: String? = nil, headers: HTTPHeaders, content: Content) {
        self.status = status
        self.reason = reason
        self.headers = headers
        self.content = content
    }
}

extension LoopbackResponse {
    /// A response without a body.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields, in order.
    /// - Returns: The response.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// A response with UTF-8 text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - status: The status code.
    ///   - headers: More header fields, after `Content-Type`.
    /// - Returns: The response.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers.withContentType("text/plain; charset=utf-8"), body: Data(text.utf8))
    }

    /// A response with JSON text.
    ///
    /// - Parameters:
    ///   - text: The JSON text, sent as it is.
    ///   - status: The status code.
    ///   - headers: More header fields, after `Content-Type`.
    /// - Returns: The response.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers.withContentType("application/json"), body: Data(text.utf8))
    }

    /// A response with a value as JSON, members in the order of their names.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - status: The status code.
    ///   - headers: More header fields, after `Content-Type`.
    /// - Returns: The response.
    /// - Throws: The encoder's error if the value can't be encoded.
    public static func json(
        encoding value: some Encodable,
        status: Int = 200,
        headers: HTTPHeaders = [:]
    ) throws -> Self {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Self(
            status: status,
            headers: headers.withContentType("application/json"),
            body: try encoder.encode(value)
        )
    }

    /// A response in the chunked transfer coding ([RFC 9112 §7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)).
    ///
    /// - Parameters:
    ///   - chunks: The chunks; empty ones are left out, because they would end the body.
    ///   - status: The status code.
    ///   - headers: The header fields, in order.
    ///   - trailers: The fields after the body.
    /// - Returns: The response.
    public static func chunked(
        _ chunks: [Data],
        status: Int = 200,
        headers: HTTPHeaders = [:],
        trailers: HTTPHeaders = [:]
    ) -> Self {
        stream(status: status, headers: headers, trailers: trailers) { writer in
            for chunk in chunks { try await writer.write(chunk) }
        }
    }

    /// A response whose body is written while it is sent.
    ///
    /// If the closure throws, the connection ends in the middle of the body.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields, in order.
    ///   - length: The `Content-Length` to announce; `nil` for the chunked coding.
    ///   - trailers: The fields after a chunked body.
    ///   - produce: Writes the body. It isn't called where no body may be sent.
    /// - Returns: The response.
    public static func stream(
        status: Int = 200,
        headers: HTTPHeaders = [:],
        length: Int? = nil,
        trailers: HTTPHeaders = [:],
        _ produce: @escaping @Sendable (LoopbackBodyWriter) async throws -> Void
    ) -> Self {
        Self(status: status, headers: headers, content: .stream(length: length, trailers: trailers, produce))
    }

    /// Bytes that are sent as they are, whether or not they are a response.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - closing: Whether the connection ends after them; if not, the next request is read.
    /// - Returns: The response.
    public static func raw(_ bytes: Data, closing: Bool = true) -> Self {
        var response = Self(status: 0, headers: [:], content: .raw(bytes))
        response.closesConnection = closing
        return response
    }

    /// Bytes that are sent as they are, whether or not they are a response.
    ///
    /// - Parameters:
    ///   - text: The bytes as UTF-8 text; write `\r\n` where a line ends.
    ///   - closing: Whether the connection ends after them; if not, the next request is read.
    /// - Returns: The response.
    public static func raw(_ text: String, closing: Bool = true) -> Self {
        raw(Data(text.utf8), closing: closing)
    }

    /// No answer at all: the connection stays open until the client closes it or the server stops.
    public static var never: Self {
        Self(status: 0, headers: [:], content: .silence)
    }
}
