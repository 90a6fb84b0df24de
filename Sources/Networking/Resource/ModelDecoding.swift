public import Foundation

/// A way to decode a model from a response.
///
/// ```swift
/// let user = try await client.fetch(resource, decoding: .json(User.self))
/// let page = try await client.fetch(resource, decoding: .string)
/// ```
///
/// If the decoding throws, the client throws a ``NetworkError`` with the code `decoding` and the
/// response attached.
public struct ModelDecoding<Model>: Sendable {
    /// The decoding closure; see ``init(_:)``.
    public let decode: @Sendable (HTTPResponse) throws -> Model

    /// Creates a custom decoding.
    ///
    /// - Parameter decode: Returns the model of a response whose status is accepted, or throws. The
    ///   caller gets a ``NetworkError`` unchanged, with the response attached; any other error
    ///   becomes the cause of one with the code `decoding`.
    public init(_ decode: @escaping @Sendable (HTTPResponse) throws -> Model) {
        self.decode = decode
    }

    /// Returns a decoding that transforms the model.
    ///
    /// - Parameter transform: Transforms the decoded model.
    /// - Returns: A decoding that decodes and then transforms.
    public func map<Other>(_ transform: @escaping @Sendable (Model) throws -> Other) -> ModelDecoding<Other> {
        ModelDecoding<Other> { response in try transform(decode(response)) }
    }

    /// Returns a decoding that uses a fallback model for a response without content: one with the
    /// status 204 or 205, to a `HEAD` request, or with an empty body.
    ///
    /// - Parameter model: Creates the fallback model.
    /// - Returns: A decoding that only decodes responses with content.
    public func whenEmpty(_ model: @escaping @Sendable () -> Model) -> Self {
        Self { response in response.hasContent ? try decode(response) : model() }
    }
}

extension ModelDecoding where Model: Decodable & SendableMetatype {
    /// Returns a decoding of JSON.
    ///
    /// A response without content (204, 205, to `HEAD`, or an empty body) gives `nil` for an
    /// optional model. For other models, it throws a ``NetworkError`` with the code `noData`. JSON
    /// with a name of more than 256 bytes that aren't all ASCII isn't decoded, because that could
    /// take minutes.
    ///
    /// - Parameters:
    ///   - model: The type of the model.
    ///   - decoder: The decoder. The default is a plain `JSONDecoder`.
    /// - Returns: The decoding.
    public static func json(_ model: Model.Type = Model.self, decoder: JSONDecoder = JSONDecoder()) -> Self {
        Self { response in
            guard response.hasContent else {
                if let optional = Model.self as? any ExpressibleByNilLiteral.Type, let empty = optional.empty as? Model
                {
                    return empty
                }
                throw NetworkError(
                    .noData,
                    "the response (status \(response.status)) has no content to decode as \(Model.self); "
                        + "decode an optional to allow this"
                )
            }
            return try decoder.decodeChecked(Model.self, from: response.body)
        }
    }
}

extension JSONDecoder {
    /// Decodes JSON unless the time to hash its names could be quadratic.
    func decodeChecked<Value: Decodable>(_ type: Value.Type, from json: Data) throws -> Value {
        guard !json.hasExpensiveName else {
            let reason = "A name in the JSON has more than 256 bytes and isn't plain ASCII."
            throw DecodingError.dataCorrupted(DecodingError.Context(codingPath: [], debugDescription: reason))
        }
        return try decode(type, from: json)
    }
}

extension Data {
    /// A name of more than 256 bytes that isn't ASCII.
    ///
    /// Foundation hashes the names, and hashing normalizes combining characters in quadratic time:
    /// 0.6 seconds for 40 KB, and minutes for a megabyte.
    fileprivate var hasExpensiveName: Bool {
        let (bytes, quote) = (span, UInt8(ascii: "\""))
        var (index, hasZero) = (0, false)
        while index < bytes.count {
            hasZero = hasZero || bytes[index] == 0
            guard bytes[index] == quote else {
                index += 1
                continue
            }
            let start = index
            var isPlain = true
            index += 1
            while index < bytes.count, bytes[index] != quote {
                hasZero = hasZero || bytes[index] == 0
                let isEscape = bytes[index] == UInt8(ascii: "\\")
                isPlain = isPlain && bytes[index] < 0x80 && !isEscape
                index += isEscape ? 2 : 1
            }
            index += 1
            let length = index - start - 2
            guard !isPlain, length > 256 else { continue }
            var next = index
            while next < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[next]) { next += 1 }
            if next < bytes.count, bytes[next] == UInt8(ascii: ":") { return true }
        }
        // The names of UTF-16, which RFC 8259 doesn't allow, can't be found this way.
        return hasZero && count > 16_384
    }
}

extension ExpressibleByNilLiteral {
    fileprivate static var empty: Self { nil }
}

extension ModelDecoding<Data> {
    /// A decoding that returns the body unchanged, or empty data for a response without a body.
    public static var data: Self { Self { $0.body } }
}

extension ModelDecoding<String> {
    /// A decoding of the body as text, or an empty string for a response without a body.
    ///
    /// The encoding is the `charset` of `Content-Type`, or UTF-8 without one. Text that isn't valid
    /// in that encoding throws a ``NetworkError`` with the code `decoding`.
    public static var string: Self {
        Self { response in
            guard let encoding = response.textEncoding, let text = String(data: response.body, encoding: encoding)
            else {
                throw NetworkError(
                    .decoding,
                    "the response (status \(response.status)) isn't valid text in the encoding that it declares"
                )
            }
            return text
        }
    }
}

extension ModelDecoding<Void> {
    /// A decoding that ignores the body.
    public static var void: Self { Self { _ in } }
}

extension ModelDecoding<HTTPResponse> {
    /// A decoding that returns the response itself.
    public static var response: Self { Self { $0 } }
}

extension HTTPResponse {
    /// A 204 or 205 never has content
    /// ([RFC 9110 §15.3.5](https://www.rfc-editor.org/rfc/rfc9110#section-15.3.5)).
    fileprivate var hasContent: Bool { status != 204 && status != 205 && !body.isEmpty }

    /// Returns `nil` for an encoding that isn't supported
    /// ([RFC 9110 §8.3.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.3.2)).
    fileprivate var textEncoding: String.Encoding? {
        switch MediaType(headers["Content-Type"] ?? "")?.parameters["charset"]?.lowercased() {
        case nil, "utf-8", "utf8", "us-ascii", "ascii": .utf8
        case "iso-8859-1", "latin1": .isoLatin1
        case "windows-1252", "cp1252": .windowsCP1252
        case "utf-16": .utf16
        case "utf-16be": .utf16BigEndian
        case "utf-16le": .utf16LittleEndian
        default: nil
        }
    }
}

/// The reason why a response couldn't be decoded: the cause of a ``NetworkError`` with the code
/// `decoding`.
///
/// The description contains the coding path but nothing from the response. Foundation's
/// descriptions quote values.
public struct DecodingFailure: Error, CustomStringConvertible, CustomReflectable {
    package enum Kind: Sendable, Hashable {
        /// A required member is missing.
        case missingMember
        /// A required value is `null`.
        case missingValue
        /// A value has the wrong type.
        case typeMismatch
        /// The input is malformed, or a value is invalid.
        case dataCorrupted
        /// The decoding threw another error.
        case other
    }

    package let kind: Kind
    /// The coding path, such as `items[3].owner`; empty for the top-level value.
    public let codingPath: String
    /// The underlying error; its description may quote the response.
    public let underlying: any Error

    init(_ error: any Error) {
        underlying = error
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            (kind, codingPath) = (.missingMember, Self.text(context.codingPath + [key]))
        case DecodingError.valueNotFound(_, let context):
            (kind, codingPath) = (.missingValue, Self.text(context.codingPath))
        case DecodingError.typeMismatch(_, let context):
            (kind, codingPath) = (.typeMismatch, Self.text(context.codingPath))
        case DecodingError.dataCorrupted(let context):
            (kind, codingPath) = (.dataCorrupted, Self.text(context.codingPath))
        default:
            (kind, codingPath) = (.other, "")
        }
    }

    /// Keys are truncated and stripped of control characters, because a dictionary's keys come from
    /// the response.
    private static func text(_ path: [any CodingKey]) -> String {
        var text = ""
        for key in path {
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                let name = key.stringValue.unicodeScalars.prefix(64).map {
                    $0.properties.generalCategory == .control ? "\u{FFFD}" : Character($0)
                }
                text += text.isEmpty ? String(name) : "." + String(name)
            }
            if text.utf8.count > 512 { return String(text.prefix(512)) + "…" }
        }
        return text
    }

    /// A description of the failure and its coding path.
    public var description: String {
        let place = codingPath.isEmpty ? "the top-level value" : "“\(codingPath)”"
        return switch kind {
        case .missingMember: "\(place) is missing"
        case .missingValue: "\(place) is null"
        case .typeMismatch: "\(place) has the wrong type"
        case .dataCorrupted: "\(place) is invalid"
        case .other: "the decoding threw \(type(of: underlying))"
        }
    }

    /// The kind and the coding path, without the underlying error.
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind, "codingPath": codingPath]) }
}
