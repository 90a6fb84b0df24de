public import Foundation

/// A form of named parts (values, data, files and streams) in the `multipart/form-data` format
/// ([RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)).
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("2026-11", name: "month")
/// try form.append(file: report, name: "report")
/// let body = EndpointBody.multipart(form)
/// ```
///
/// The form sends its parts in the order in which you append them. It reads files while sending and
/// never holds them in memory.
///
/// Names and file names are sent as UTF-8, like browsers do ([HTML
/// §4.10.21.8](https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data)).
/// A quotation mark becomes `%22`, and a line break becomes `%0D` or `%0A`, so that a name can't
/// end its field. Other control characters, which header fields can't contain, are percent-encoded
/// too. So is a backslash, which some servers interpret so that the name ends elsewhere.
public struct MultipartFormData: Sendable {
    package let boundary: String
    /// The delimiters with the headers, the contents and the line breaks of the parts, in order.
    private var pieces: [HTTPBody] = []

    /// Creates an empty form with a random boundary, which is practically certain not to occur in
    /// any part.
    public init() {
        boundary = "form-" + (0..<2).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
    }

    /// Creates an empty form with a given boundary, for bodies that must be reproducible.
    ///
    /// - Parameter boundary: 1 to 70 of the characters of
    ///   [RFC 2046 §5.1.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1). The caller must
    ///   make sure that no line of a part begins with two hyphens and the boundary.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the boundary is invalid.
    public init(boundary: String) throws(NetworkError) {
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(Self.isBoundaryCharacter),
            boundary.utf8.last != UInt8(ascii: " ")
        else {
            throw NetworkError(
                .invalidRequest,
                "a boundary must have 1 to 70 letters, digits, spaces and '()+_,-./:=? and not end in a space (RFC 2046 §5.1.1)"
            )
        }
        self.boundary = boundary
    }

    /// A byte of `bchars`.
    private static func isBoundaryCharacter(_ byte: UInt8) -> Bool {
        "'()+_,-./:=? ".utf8.contains(byte) || PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
    }

    /// Appends a value, like a form's text field.
    ///
    /// - Parameters:
    ///   - value: The value, sent as UTF-8 without changes, including line breaks.
    ///   - name: The name of the field.
    public mutating func append(_ value: String, name: String) {
        appendPart(.data(Data(value.utf8)), name: name, fileName: nil, contentType: nil)
    }

    /// Appends a file, which is read while it's sent.
    ///
    /// - Parameters:
    ///   - file: The file. It must not change before it's sent: if it becomes shorter, the request
    ///     fails.
    ///   - name: The name of the field.
    ///   - fileName: The file name that the server sees. The default is the file's own name.
    ///   - contentType: The media type. By default, the file name's extension determines it, with
    ///     `application/octet-stream` as the fallback.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the file isn't a readable
    ///   regular file or the media type is invalid.
    public mutating func append(
        file: URL,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) throws(NetworkError) {
        let fileName = fileName ?? file.lastPathComponent
        try append(try .file(file), name: name, fileName: fileName, contentType: contentType)
    }

    /// Appends any content, such as data or a stream.
    ///
    /// With a stream of unknown length, the form's length is unknown. With a stream that can be
    /// sent only once, so can the form.
    ///
    /// - Parameters:
    ///   - content: The content.
    ///   - name: The name of the field.
    ///   - fileName: The file name that the server sees. With `nil`, the default, the part isn't a
    ///     file.
    ///   - contentType: The media type. By default, the file name's extension determines it, with
    ///     `application/octet-stream` as the fallback; without a file name, the part has none.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the media type is invalid.
    public mutating func append(
        _ content: HTTPBody,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) throws(NetworkError) {
        if let contentType, MediaType(contentType) == nil || !HTTPSyntax.isFieldValue(contentType) {
            throw NetworkError(.invalidRequest, "a part's content type must be a media type, such as image/png")
        }
        let contentType = contentType ?? fileName.map(MediaType.ofFile(named:))
        appendPart(content, name: name, fileName: fileName, contentType: contentType)
    }

    /// The two hyphens belong to the delimiter, not to the boundary
    /// ([RFC 2046 §5.1.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1)).
    ///
    /// [RFC 7578 §4.2](https://www.rfc-editor.org/rfc/rfc7578#section-4.2) forbids `filename*`.
    private mutating func appendPart(_ content: HTTPBody, name: String, fileName: String?, contentType: String?) {
        var head = "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(Self.escaped(name))\""
        if let fileName { head += "; filename=\"\(Self.escaped(fileName))\"" }
        head += "\r\n"
        if let contentType { head += "Content-Type: \(contentType)\r\n" }
        pieces += [.data(Data((head + "\r\n").utf8)), content, .data(Data("\r\n".utf8))]
    }

    /// Escapes text for use between quotation marks.
    private static func escaped(_ text: String) -> String {
        PercentEncoding.encode(text) {
            $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\")
        }
    }

    /// The value of `Content-Type`: the media type with the boundary.
    public var contentType: String {
        let isToken = HTTPSyntax.isToken(boundary)
        return "multipart/form-data; boundary=" + (isToken ? boundary : "\"\(boundary)\"")
    }

    /// Computed without reading files; `nil` if a stream's length is unknown.
    package var contentLength: Int? {
        var length = 0
        for piece in closedPieces {
            guard let count = piece.contentLength else { return nil }
            length += count
        }
        return length
    }

    package var isReplayable: Bool { pieces.allSatisfy(\.isReplayable) }

    /// Returns the form as a request body.
    ///
    /// - Parameter threshold: The maximum size in bytes up to which a form that consists only of
    ///   data is assembled in memory. All other forms are assembled part by part while they are
    ///   sent. The default is 64 KiB.
    /// - Returns: The body.
    public func body(inMemoryUpTo threshold: Int = 64 << 10) -> HTTPBody {
        let (pieces, length) = (closedPieces, contentLength)
        let held = pieces.compactMap(\.held)
        if let length, length <= threshold, held.count == pieces.count {
            return .data(held.reduce(into: Data(capacity: length)) { $0.append($1) })
        }
        return HTTPBody(length: length, isReplayable: isReplayable) { deliver in
            // The length of the form wouldn't reveal a part that's too long before a short one.
            for piece in pieces { try await piece.read(as: "a part of the form", deliver) }
        }
    }

    private var closedPieces: [HTTPBody] { pieces + [.data(Data("--\(boundary)--\r\n".utf8))] }
}

extension EndpointBody {
    /// Returns a body with a form in the `multipart/form-data` format.
    ///
    /// - Parameter form: The form.
    /// - Returns: The body.
    public static func multipart(_ form: MultipartFormData) -> Self {
        Self(form.body(), contentType: form.contentType)
    }
}

extension HTTPBody {
    var held: Data? {
        switch source {
        case .none: Data()
        case .data(let data): data
        case .file, .stream: nil
        }
    }
}
