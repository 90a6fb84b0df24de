public import Foundation

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

    /// Adds the value to a query, by default as one parameter per text.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - name: The parameter's name.
    func append(to query: inout URLQuery, name: String)
}

extension URLQueryValue {
    /// Adds one parameter per text.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - name: The parameter's name.
    public func append(to query: inout URLQuery, name: String) {
        for text in queryTexts { query.append(name, value: .text(text)) }
    }
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

    /// Adds the wrapped value, or nothing for `nil`.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - name: The parameter's name.
    public func append(to query: inout URLQuery, name: String) {
        self?.append(to: &query, name: name)
    }
}

extension Array: URLQueryValue where Element: URLQueryValue {
    /// The texts of all elements.
    public var queryTexts: [String] { flatMap(\.queryTexts) }
}

/// A list of elements in the format that an API requires; see ``URLQuery/commaSeparated(_:)`` and
/// ``URLQuery/bracketed(_:)``.
public struct URLQueryList: URLQueryValue {
    enum Style: Sendable {
        case commaSeparated, bracketed
    }

    private let style: Style
    /// The texts of the elements.
    public let queryTexts: [String]

    init(style: Style, elements: [some URLQueryValue]) {
        self.style = style
        queryTexts = elements.queryTexts
    }

    /// Adds the elements in the list's format.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - name: The parameter's name.
    public func append(to query: inout URLQuery, name: String) {
        guard !queryTexts.isEmpty else { return }
        switch style {
        case .commaSeparated: query.append(name, value: .list(queryTexts))
        case .bracketed: for text in queryTexts { query.append("\(name)[]", value: .text(text)) }
        }
    }
}

/// A value that is already percent-encoded; see ``URLQuery/percentEncoded(_:)``.
public struct URLQueryRawValue: URLQueryValue {
    let encoded: String

    /// The encoded text.
    public var queryTexts: [String] { [encoded] }

    /// Adds the value unchanged.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - name: The parameter's name.
    public func append(to query: inout URLQuery, name: String) {
        query.append(name, value: .encoded(encoded))
    }
}
