public import Foundation

/// What can be the value of a query's parameter or a form's field.
///
/// Text, numbers, `Bool`, `UUID`, and optionals and arrays of them are. An enumeration with such a raw value becomes one
/// by declaring it:
///
/// ```swift
/// enum Order: String, URLQueryValue { case ascending, descending }
/// ```
public protocol URLQueryValue: Sendable {
    /// The texts of the value: one, or as many as there are elements, or none if it is to be left out.
    var queryTexts: [String] { get }

    /// Adds the value to a query; by default one parameter for each text.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - name: The parameter's name.
    func append(to query: inout URLQuery, name: String)
}

extension URLQueryValue {
    /// Adds one parameter for each text of the value.
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
    /// The UUID in its upper-case form.
    public var queryTexts: [String] { [uuidString] }
}

extension Optional: URLQueryValue where Wrapped: URLQueryValue {
    /// The texts of the value, or none.
    public var queryTexts: [String] { self?.queryTexts ?? [] }

    /// Adds the value if there is one.
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

/// Several elements in a form that the API asks for; see ``URLQuery/commaSeparated(_:)`` and ``URLQuery/bracketed(_:)``.
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

    /// Adds the elements in their form.
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

/// A value that is percent-encoded already; see ``URLQuery/percentEncoded(_:)``.
public struct URLQueryRawValue: URLQueryValue {
    let encoded: String

    /// The encoded text.
    public var queryTexts: [String] { [encoded] }

    /// Adds the value as it is.
    ///
    /// - Parameters:
    ///   - query: The query.
    ///   - name: The parameter's name.
    public func append(to query: inout URLQuery, name: String) {
        query.append(name, value: .encoded(encoded))
    }
}
