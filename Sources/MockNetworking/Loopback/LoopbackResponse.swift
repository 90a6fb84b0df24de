public import Foundation
public import Networking

/// A response of the loopback server, which may violate the protocol.
///
/// The server sends the header fields unchanged. It only adds missing framing: `Content-Length` or
/// `Transfer-Encoding`, and `Connection: close` if the connection ends after the response.
public struct LoopbackResponse: Sendable {
    /// The status code, which may be any number.
    public var status: Int
    /// The reason phrase; `nil` for the standard phrase, empty for none.
    public var reason: String?
    /// The header fields, in order.
    public var headers: HTTPHeaders

    var content: Content
    var pausesBeforeHead: [ResponsePause] = []
    var pausesBeforeBody: [ResponsePause] = []
    var interim: [Interim] = []
    var cut: Cut?
    var closesConnection = false
    var truncatesTLS = false
}

extension LoopbackResponse {
    /// Creates a response with a body in memory and its `Content-Length`.
    ///
    /// - Parameters:
    ///   - status: The status code. The default is 200.
    ///   - reason: The reason phrase. `nil`, the default, for the standard phrase, empty for none.
    ///   - headers: The header fields, in order.
    ///   - body: The body. It isn't sent in response to `HEAD` or with a status that doesn't allow
    ///     a body.
    public init(status: Int = 200, reason: String? = nil, headers: HTTPHeaders = [:], body: Data = Data()) {
        self.init(status: status, reason: reason, headers: headers, content: .data(body))
    }

    /// Returns a response without a body.
    ///
    /// - Parameters:
    ///   - status: The status code.
    ///   - headers: The header fields, in order.
    /// - Returns: The response.
    public static func status(_ status: Int, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers)
    }

    /// Returns a response with UTF-8 text.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - status: The status code. The default is 200.
    ///   - headers: Additional header fields, after `Content-Type`.
    /// - Returns: The response.
    public static func text(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers.withContentType("text/plain; charset=utf-8"), body: Data(text.utf8))
    }

    /// Returns a response with JSON text.
    ///
    /// - Parameters:
    ///   - text: The JSON text, sent unchanged.
    ///   - status: The status code. The default is 200.
    ///   - headers: Additional header fields, after `Content-Type`.
    /// - Returns: The response.
    public static func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> Self {
        Self(status: status, headers: headers.withContentType("application/json"), body: Data(text.utf8))
    }

    /// Returns a response with a value encoded as JSON, with sorted members.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - status: The status code. The default is 200.
    ///   - headers: Additional header fields, after `Content-Type`.
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

    /// Returns a response with the chunked transfer coding
    /// ([RFC 9112 §7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)).
    ///
    /// - Parameters:
    ///   - chunks: The chunks. Empty chunks are skipped, because they would end the body.
    ///   - status: The status code. The default is 200.
    ///   - headers: The header fields, in order.
    ///   - trailers: The trailer fields.
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

    /// Returns a response whose body is produced while it's being sent.
    ///
    /// If the closure throws, the server cuts the connection in the middle of the body.
    ///
    /// - Parameters:
    ///   - status: The status code. The default is 200.
    ///   - headers: The header fields, in order.
    ///   - length: The `Content-Length` to declare. With `nil`, the default, the body is chunked.
    ///   - trailers: The trailer fields of a chunked body.
    ///   - produce: Writes the body. It isn't called if the response must not have a body.
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

    /// Returns a response of raw bytes, which need not be valid HTTP.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - closing: Whether the connection ends after them. If not, the server reads the next
    ///     request. The default is `true`.
    /// - Returns: The response.
    public static func raw(_ bytes: Data, closing: Bool = true) -> Self {
        var response = Self(status: 0, headers: [:], content: .raw(bytes))
        response.closesConnection = closing
        return response
    }

    /// Returns a response of raw text, which need not be valid HTTP.
    ///
    /// - Parameters:
    ///   - text: The UTF-8 text. End lines with `\r\n`.
    ///   - closing: Whether the connection ends after it. If not, the server reads the next
    ///     request. The default is `true`.
    /// - Returns: The response.
    public static func raw(_ text: String, closing: Bool = true) -> Self {
        raw(Data(text.utf8), closing: closing)
    }

    /// A missing response: the connection stays open until the client closes it or the server
    /// stops.
    public static var never: Self {
        Self(status: 0, headers: [:], content: .silence)
    }
}
