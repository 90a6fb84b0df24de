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

/// A value in the format that an API requires; see ``URLQuery/commaSeparated(_:)``,
/// ``URLQuery/bracketed(_:)`` and ``URLQuery/percentEncoded(_:)``.
public struct URLQueryFormattedValue: URLQueryValue {
    enum Format: Sendable {
        case commaSeparated, bracketed, percentEncoded
    }

    let format: Format
    /// The texts of the elements, or the encoded text.
    public let queryTexts: [String]
}
