public import Foundation

/// How a response becomes a model.
///
/// ```swift
/// let user = try await client.fetch(resource, decoding: .json(User.self))
/// let page = try await client.fetch(resource, decoding: .string)
/// ```
///
/// The client turns what a decoding throws into a ``NetworkError`` with the code `decoding`, from which the response can be
/// reached.
public struct ModelDecoding<Model>: Sendable {
    /// Decodes; see ``init(_:)``.
    public let decode: @Sendable (HTTPResponse) throws -> Model

    /// Makes a decoding of the user's own.
    ///
    /// - Parameter decode: Makes a model of a response whose status is accepted, or throws. A ``NetworkError`` reaches the caller as it
    ///   is, with the response attached; any other error becomes the cause of one with the code `decoding`.
    public init(_ decode: @escaping @Sendable (HTTPResponse) throws -> Model) {
        self.decode = decode
    }

    /// Makes something else of the model.
    ///
    /// - Parameter transform: What to make of it.
    /// - Returns: The decoding of both steps.
    public func map<Other>(_ transform: @escaping @Sendable (Model) throws -> Other) -> ModelDecoding<Other> {
        ModelDecoding<Other> { response in try transform(decode(response)) }
    }

    /// Has a model for responses without content: with the status 204 or 205, to `HEAD`, or with an empty body.
    ///
    /// - Parameter model: Makes the model.
    /// - Returns: A decoding that decodes only what there is.
    public func whenEmpty(_ model: @escaping @Sendable () -> Model) -> Self {
        Self { response in response.hasContent ? try decode(response) : model() }
    }

    /// Is `nil` for responses without content: with the status 204 or 205, to `HEAD`, or with an empty body.
    ///
    /// - Parameter decoding: Decodes the others.
    /// - Returns: The decoding.
    public static func optional<Wrapped>(_ decoding: ModelDecoding<Wrapped>) -> Self where Model == Wrapped? {
        Self { response in response.hasContent ? try decoding.decode(response) : nil }
    }
}

extension ModelDecoding where Model: Decodable & SendableMetatype {
    /// Decodes JSON.
    ///
    /// A response without content (204, 205, to `HEAD`, or an empty body) is `nil` for an optional model; for others it is a
    /// ``NetworkError`` with the code `noData`.
    ///
    /// - Parameters:
    ///   - model: The type of the model.
    ///   - decoder: What decodes it; a plain one by default.
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
                    "a \(Model.self) was expected, but the response (status \(response.status)) has no content; "
                        + "decode an optional if that is right"
                )
            }
            return try decoder.decode(Model.self, from: response.body)
        }
    }
}

extension ExpressibleByNilLiteral {
    fileprivate static var empty: Self { nil }
}

extension ModelDecoding<Data> {
    /// The body as it is; empty if there is none.
    public static var data: Self { Self { $0.body } }
}

extension ModelDecoding<String> {
    /// The body as text, empty if there is none.
    ///
    /// The encoding is what `Content-Type` says, or UTF-8. Text that is not in that encoding is a ``NetworkError`` with the code
    /// `decoding`.
    public static var string: Self {
        Self { response in
            guard let encoding = response.textEncoding, let text = String(data: response.body, encoding: encoding)
            else {
                throw NetworkError(
                    .decoding,
                    "the response (status \(response.status)) is not text in the encoding that it says it has"
                )
            }
            return text
        }
    }
}

extension ModelDecoding<Void> {
    /// Nothing: the body is not looked at.
    public static var void: Self { Self { _ in } }
}

extension ModelDecoding<HTTPResponse> {
    /// The response itself.
    public static var response: Self { Self { $0 } }
}

extension HTTPResponse {
    /// Whether there is something to decode; a 204 or 205 has nothing, whatever it brings along
    /// ([RFC 9110 §15.3.5](https://www.rfc-editor.org/rfc/rfc9110#section-15.3.5)).
    fileprivate var hasContent: Bool { status != 204 && status != 205 && !body.isEmpty }

    /// The encoding of the `charset` parameter ([RFC 9110 §8.3.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.3.2));
    /// `nil` for one that is not known here.
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
