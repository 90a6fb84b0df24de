public import Foundation

/// The query of an endpoint or the fields of a form: an ordered list of names and values.
///
/// ```swift
/// let query: URLQuery = ["page": 2, "q": text, "sort": optional, "id": [1, 2, 3]]
/// ```
///
/// A `nil` value is omitted, and an array repeats the name. Names and values are never treated as
/// percent-encoded. Everything except letters, digits and `-._~` is escaped, so no value can add a
/// parameter, and a `+` stays a `+`.
public struct URLQuery: Sendable, Hashable, ExpressibleByDictionaryLiteral {
    private enum Content: Hashable {
        case text(String)
        /// Elements separated by unescaped commas.
        case list([String])
        case encoded(String)
        /// A name without `=`.
        case absent
    }

    private struct Item: Hashable {
        let name: String
        let value: Content
    }

    private var items: [Item] = []

    /// Creates an empty query.
    public init() {}

    package var isEmpty: Bool { items.isEmpty }

    /// Appends a parameter.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - value: The value. `nil` adds nothing; an array adds one parameter per element.
    public mutating func append(_ name: String, _ value: (any URLQueryValue)?) {
        guard let texts = value?.queryTexts, !texts.isEmpty else { return }
        // The cast also unwraps optional formatted values.
        switch (value as? FormattedValue)?.format {
        case nil: items += texts.map { Item(name: name, value: .text($0)) }
        case .commaSeparated: items.append(Item(name: name, value: .list(texts)))
        case .bracketed: items += texts.map { Item(name: "\(name)[]", value: .text($0)) }
        case .percentEncoded: items += texts.map { Item(name: name, value: .encoded($0)) }
        }
    }

    /// Appends a name without a value and without `=`, which some APIs require.
    ///
    /// - Parameter name: The name.
    public mutating func appendName(_ name: String) {
        items.append(Item(name: name, value: .absent))
    }

    /// Returns elements in one comma-separated parameter, as in `id=1,2,3`.
    ///
    /// Commas in elements are escaped.
    ///
    /// - Parameter elements: The elements. If empty, the parameter is omitted.
    /// - Returns: The value.
    public static func commaSeparated(_ elements: [some URLQueryValue]) -> some URLQueryValue {
        FormattedValue(format: .commaSeparated, queryTexts: elements.queryTexts)
    }

    /// Returns elements in parameters with bracketed names, as in `id[]=1&id[]=2`.
    ///
    /// The brackets are escaped.
    ///
    /// - Parameter elements: The elements. If empty, the parameter is omitted.
    /// - Returns: The value.
    public static func bracketed(_ elements: [some URLQueryValue]) -> some URLQueryValue {
        FormattedValue(format: .bracketed, queryTexts: elements.queryTexts)
    }

    /// Returns a value that is already percent-encoded and is sent unchanged.
    ///
    /// Creating the request fails with ``NetworkError/Code/invalidRequest`` if it contains a
    /// character that isn't valid in a query.
    ///
    /// - Parameter value: The encoded value. A `&` in it starts another parameter.
    /// - Returns: The value.
    public static func percentEncoded(_ value: String) -> some URLQueryValue {
        FormattedValue(format: .percentEncoded, queryTexts: [value])
    }

    /// - Throws: ``NetworkError`` with the code `invalidRequest` if a percent-encoded value is
    ///   malformed.
    func encoded(by encode: (String) -> String = { PercentEncoding.encode($0) }) throws(NetworkError) -> String {
        var pairs: [String] = []
        for item in items {
            let name = encode(item.name)
            switch item.value {
            case .text(let text): pairs.append("\(name)=\(encode(text))")
            case .list(let elements): pairs.append("\(name)=\(elements.map(encode).joined(separator: ","))")
            case .absent: pairs.append(name)
            case .encoded(let text):
                guard PercentEncoding.isEncoded(text, allowing: PercentEncoding.isQueryCharacter) else {
                    throw NetworkError(
                        .invalidRequest,
                        "the percent-encoded value of “\(name)” has a character that must be escaped, or a "
                            + "malformed escape"
                    )
                }
                pairs.append("\(name)=\(text)")
            }
        }
        return pairs.joined(separator: "&")
    }

    /// Creates a query from a literal; the order is kept, and a name may be repeated.
    ///
    /// - Parameter elements: Names and values.
    public init(dictionaryLiteral elements: (String, (any URLQueryValue)?)...) {
        for (name, value) in elements { append(name, value) }
    }
}

/// A type whose values can be query parameters or form fields.
///
/// Text, numbers, `Bool`, `UUID`, and optionals and arrays of these conform. An enumeration with
/// such a raw value only has to declare the conformance:
///
/// ```swift
/// enum Order: String, URLQueryValue { case ascending, descending }
/// ```
public protocol URLQueryValue: Sendable {
    /// The texts of the value: one per element, or none to omit the parameter.
    var queryTexts: [String] { get }
}

extension URLQueryValue where Self: LosslessStringConvertible {
    /// The value's description.
    public var queryTexts: [String] { [description] }
}

extension URLQueryValue where Self: RawRepresentable, RawValue: URLQueryValue {
    /// The texts of the raw value.
    public var queryTexts: [String] { rawValue.queryTexts }
}

extension String: URLQueryValue {}
extension Substring: URLQueryValue {}
extension Bool: URLQueryValue {}
extension Int: URLQueryValue {}
extension Int8: URLQueryValue {}
extension Int16: URLQueryValue {}
extension Int32: URLQueryValue {}
extension Int64: URLQueryValue {}
extension UInt: URLQueryValue {}
extension UInt8: URLQueryValue {}
extension UInt16: URLQueryValue {}
extension UInt32: URLQueryValue {}
extension UInt64: URLQueryValue {}
extension Double: URLQueryValue {}
extension Float: URLQueryValue {}

extension UUID: URLQueryValue {
    /// The UUID in upper case.
    public var queryTexts: [String] { [uuidString] }
}

extension Optional: URLQueryValue where Wrapped: URLQueryValue {
    /// The texts of the wrapped value, or none for `nil`.
    public var queryTexts: [String] { self?.queryTexts ?? [] }
}

extension Array: URLQueryValue where Element: URLQueryValue {
    /// The texts of all elements.
    public var queryTexts: [String] { flatMap(\.queryTexts) }
}

/// A value in the format that an API requires.
private struct FormattedValue: URLQueryValue {
    enum Format: Sendable {
        case commaSeparated, bracketed, percentEncoded
    }

    let format: Format
    /// The texts of the elements, or the encoded text.
    let queryTexts: [String]
}
