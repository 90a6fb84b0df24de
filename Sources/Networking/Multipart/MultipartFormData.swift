public import Foundation

/// A form of named parts — values, data, files and streams — in the format `multipart/form-data`
/// ([RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)).
///
/// ```swift
/// var form = MultipartFormData()
/// form.append("2026-11", name: "month")
/// try form.append(file: report, name: "report")
/// let body = EndpointBody.multipart(form)
/// ```
///
/// Parts are sent in the order in which they were appended. Files are read while they are sent, and never held in memory.
///
/// Names and file names are sent as UTF-8, as browsers do it
/// ([HTML §4.10.21.8](https://html.spec.whatwg.org/multipage/form-control-infrastructure.html#multipart-form-data)): a quotation mark is
/// `%22`, and a line break `%0D` or `%0A`, so that no name can end its field. Other control characters, which no header field may have,
/// are percent-encoded too, and so is a backslash: servers read it in different ways, some so that the name does not end where it should.
public struct MultipartFormData: Sendable {
    /// What separates the parts.
    public let boundary: String
    private var parts: [MultipartPart] = []

    /// Makes an empty form with a random boundary, which no part can have in it but by an accident that does not happen.
    public init() {
        boundary = "form-" + (0..<2).map { _ in String(UInt64.random(in: 0...UInt64.max), radix: 36) }.joined()
    }

    /// Makes an empty form with a boundary of the caller's, for bodies that must be the same each time.
    ///
    /// - Parameter boundary: 1 to 70 of the characters of [RFC 2046 §5.1.1](https://www.rfc-editor.org/rfc/rfc2046#section-5.1.1). No line of
    ///   a part may begin with it after two hyphens: that is for the caller to see to.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if it is no boundary.
    public init(boundary: String) throws(NetworkError) {
        guard (1...70).contains(boundary.utf8.count), boundary.utf8.allSatisfy(\.isBoundaryCharacter),
            boundary.utf8.last != UInt8(ascii: " ")
        else {
            throw NetworkError(
                .invalidRequest,
                "a boundary has 1 to 70 letters, digits and '()+_,-./:=? and does not end with a space (RFC 2046 §5.1.1)"
            )
        }
        self.boundary = boundary
    }

    /// Appends a value, as a text field of a form has one.
    ///
    /// - Parameters:
    ///   - value: The value, sent as UTF-8 exactly as it is, line breaks included.
    ///   - name: The name of the field.
    public mutating func append(_ value: String, name: String) {
        parts.append(MultipartPart(name: name, fileName: nil, contentType: nil, content: .data(Data(value.utf8))))
    }

    /// Appends data.
    ///
    /// - Parameters:
    ///   - data: The octets.
    ///   - name: The name of the field.
    ///   - fileName: The name under which a server sees a file; `nil`, the default, for a part that is none.
    ///   - contentType: The media type; `nil`, the default, for what the file name's extension says, `application/octet-stream` if that
    ///     says nothing, and no type without a file name.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the media type is none.
    public mutating func append(
        _ data: Data,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) throws(NetworkError) {
        try append(.data(data), name: name, fileName: fileName, contentType: contentType)
    }

    /// Appends a file, which is read while it is sent.
    ///
    /// - Parameters:
    ///   - file: The file. It must not change until it is sent: if it has become shorter, the request fails.
    ///   - name: The name of the field.
    ///   - fileName: The name under which a server sees it; `nil`, the default, for its own.
    ///   - contentType: The media type; `nil`, the default, for what the file name's extension says, or `application/octet-stream`.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if it is no regular file that can be read, or the media type is none.
    public mutating func append(
        file: URL,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) throws(NetworkError) {
        let fileName = fileName ?? file.lastPathComponent
        try append(try .file(file), name: name, fileName: fileName, contentType: contentType)
    }

    /// Appends any content, such as a stream.
    ///
    /// A stream without a length leaves the form without one, and a stream that comes only once makes it a form that can be sent only
    /// once.
    ///
    /// - Parameters:
    ///   - content: The octets.
    ///   - name: The name of the field.
    ///   - fileName: The name under which a server sees a file; `nil`, the default, for a part that is none.
    ///   - contentType: The media type; `nil`, the default, for what the file name's extension says, `application/octet-stream` if that
    ///     says nothing, and no type without a file name.
    /// - Throws: ``NetworkError`` with the code `invalidRequest` if the media type is none.
    public mutating func append(
        _ content: HTTPBody,
        name: String,
        fileName: String? = nil,
        contentType: String? = nil
    ) throws(NetworkError) {
        if let contentType, MediaType(contentType) == nil || !HTTPSyntax.isFieldValue(contentType) {
            throw NetworkError(.invalidRequest, "the content type of a part is no media type, such as image/png")
        }
        let contentType = contentType ?? fileName.map(FileExtension.mediaType(ofFileNamed:))
        parts.append(MultipartPart(name: name, fileName: fileName, contentType: contentType, content: content))
    }

    /// How many parts there are.
    public var count: Int { parts.count }

    /// The value of `Content-Type`: the media type with the boundary.
    public var contentType: String {
        let isToken = HTTPSyntax.isToken(boundary)
        return "multipart/form-data; boundary=" + (isToken ? boundary : "\"\(boundary)\"")
    }

    /// The length of the whole body in octets, found without reading a file; `nil` if a stream does not know its own.
    public var contentLength: Int? {
        var length = closing.count
        for part in parts {
            guard let content = part.content.contentLength else { return nil }
            length += part.head(boundary: boundary).count + content + MultipartPart.lineBreak.count
        }
        return length
    }

    /// Whether the form can be sent again, as a retry must.
    package var isReplayable: Bool { parts.allSatisfy(\.content.isReplayable) }

    /// What is sent.
    ///
    /// - Parameter threshold: A form of data alone is put together in memory if it has no more octets than this; everything else is put
    ///   together part by part while it is sent. 64 KiB by default.
    /// - Returns: The body.
    public func body(inMemoryUpTo threshold: Int = 64 << 10) -> HTTPBody {
        let (parts, boundary, closing) = (parts, boundary, closing)
        if let length = contentLength, length <= threshold, let whole = whole(length: length) { return .data(whole) }
        return HTTPBody(
            source: .stream(length: contentLength, isReplayable: isReplayable) { deliver in
                for part in parts {
                    try await deliver(part.head(boundary: boundary))
                    try await part.deliverContent(deliver)
                    try await deliver(MultipartPart.lineBreak)
                }
                try await deliver(closing)
            }
        )
    }

    /// The whole body, if all parts are in memory already.
    private func whole(length: Int) -> Data? {
        var whole = Data(capacity: length)
        for part in parts {
            guard let content = part.content.held else { return nil }
            whole.append(part.head(boundary: boundary))
            whole.append(content)
            whole.append(MultipartPart.lineBreak)
        }
        whole.append(closing)
        return whole
    }

    private var closing: Data { Data("--\(boundary)--\r\n".utf8) }
}

extension EndpointBody {
    /// A form of named parts, in the format `multipart/form-data`.
    ///
    /// - Parameter form: The form.
    /// - Returns: The body.
    public static func multipart(_ form: MultipartFormData) -> Self {
        Self(form.body(), contentType: form.contentType)
    }
}

extension HTTPBody {
    /// The octets, if they are in memory.
    var held: Data? {
        switch source {
        case .none: Data()
        case .data(let data): data
        case .file, .stream: nil
        }
    }
}

extension UInt8 {
    /// Whether it is one of the `bchars`.
    fileprivate var isBoundaryCharacter: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "'()+_,-./:=? ".utf8.contains(self)
        }
    }
}
