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
    var interim: [(status: Int, headers: HTTPHeaders)] = []
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
    public static func raw(_ text: String, closing: Bool = true) -> Self { raw(Data(text.utf8), closing: closing) }

    /// A missing response: the connection stays open until the client closes it or the server
    /// stops.
    public static var never: Self { Self(status: 0, headers: [:], content: .silence) }

    /// The point in a response at which the server cuts the connection.
    @nonexhaustive
    public enum CutPoint: Sendable, Hashable {
        /// The point before the first byte.
        case beforeHead
        /// The point between the header and the body.
        case afterHead
        /// The point after a number of bytes of the body as sent, including chunk sizes.
        case afterBody(octets: Int)
        /// The point after a number of bytes of the whole message.
        case after(octets: Int)
    }

    /// Returns the response with a delay before the header, measured by the server's
    /// ``LoopbackServer/Configuration/time``.
    ///
    /// - Parameter duration: The delay.
    /// - Returns: The delayed response.
    public func delayed(by duration: Duration) -> Self { changed { $0.pausesBeforeHead.append(.delay(duration)) } }

    /// Returns the response with a delay between the header and the body, measured by the server's
    /// ``LoopbackServer/Configuration/time``.
    package func bodyDelayed(by duration: Duration) -> Self {
        changed { $0.pausesBeforeBody.append(.delay(duration)) }
    }

    /// Returns the response with a gate that holds it back.
    ///
    /// - Parameter gate: The gate, which a test opens.
    /// - Returns: The gated response.
    public func gated(by gate: ResponseGate) -> Self { changed { $0.pausesBeforeHead.append(.gate(gate)) } }

    package func bodyGated(by gate: ResponseGate) -> Self { changed { $0.pausesBeforeBody.append(.gate(gate)) } }

    /// Returns the response with an interim response before it, with a status code of 100…199
    /// ([RFC 9110 §15.2](https://www.rfc-editor.org/rfc/rfc9110#section-15.2)).
    package func preceded(by status: Int, headers: HTTPHeaders = [:]) -> Self {
        changed { $0.interim.append((status, headers)) }
    }

    /// Returns the response with a cut, at which the server closes the connection.
    ///
    /// - Parameters:
    ///   - point: The point of the cut. In a shorter response, the cut comes at the end.
    ///   - resetting: Whether to reset the connection (RST), which the client sees as an error,
    ///     instead of closing it in an orderly way (FIN). The default is `false`.
    /// - Returns: The cut response.
    public func cut(_ point: CutPoint, resetting: Bool = false) -> Self {
        changed { $0.cut = Cut(point: point, resets: resetting) }
    }

    /// Returns the response with a `Connection: close` header field, after which the server closes
    /// the connection in an orderly way.
    ///
    /// - Returns: The response that closes its connection.
    public func closing() -> Self { changed { $0.closesConnection = true } }

    /// Returns the response without a close_notify when the server closes the connection during or
    /// after it.
    ///
    /// This imitates an attacker who cuts the connection
    /// ([RFC 8446 §6.1](https://www.rfc-editor.org/rfc/rfc8446#section-6.1)). It has no effect
    /// without TLS, and doesn't itself close the connection; use ``closing()``, for example.
    ///
    /// - Returns: The truncated response.
    public func withoutCloseNotify() -> Self { changed { $0.truncatesTLS = true } }

    private func changed(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }

    enum Content: Sendable {
        case data(Data)
        case stream(length: Int?, trailers: HTTPHeaders, @Sendable (LoopbackBodyWriter) async throws -> Void)
        case raw(Data)
        case silence
    }

    struct Cut: Sendable {
        var point: CutPoint
        var resets: Bool
    }
}

extension HTTPHeaders {
    func withContentType(_ type: String) -> Self {
        self["Content-Type"] == nil ? Self([Field(name: "Content-Type", value: type)] + Array(self)) : self
    }
}

extension LoopbackResponse {
    /// Returns the response with the digests that a request asks for with `Want-Content-Digest` or
    /// `Want-Repr-Digest` ([RFC 9530 §4](https://www.rfc-editor.org/rfc/rfc9530#section-4)).
    ///
    /// Digests that the response already has don't change. Without a supported algorithm, or if
    /// the request's field is malformed, the digest is omitted.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - representation: The whole representation, if the response is for a part of it. The
    ///     default is the body.
    /// - Returns: The response.
    /// - Throws: `NetworkError` with the code `digestUnverifiable` if OpenSSL can't compute a
    ///   digest.
    public func addingDigests(
        wantedBy request: LoopbackRequest,
        representation: Data? = nil
    ) throws(NetworkError) -> Self {
        guard case .data(let body) = content else { return self }
        var response = self
        for field in HTTPDigest.Field.allCases where headers[field.rawValue] == nil {
            let lines = request.headers.values(for: field.preferenceName)
            guard let algorithm = (try? HTTPDigest.Preferences(parsing: lines))?.algorithms.first else { continue }
            // The response to HEAD has no content (appendix B.2).
            let content =
                switch field {
                case .content: request.method == .head ? Data() : body
                case .representation: representation ?? body
                }
            let digest = try HTTPDigest(of: content, by: algorithm)
            response.headers.append(name: field.rawValue, value: digest.fieldValue)
        }
        return response
    }
}
