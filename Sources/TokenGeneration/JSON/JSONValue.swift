internal import OpenSSLCrypto

/// A JSON value ([RFC 8259 §3](https://www.rfc-editor.org/rfc/rfc8259#section-3)).
///
/// ```swift
/// let claims: JSONObject = [
///     "sub": "alice", "admin": true, "roles": ["reader", "editor"],
/// ]
/// ```
///
/// Strings are equal if their code points are equal, numbers if their texts are equal.
public enum JSONValue: Sendable, Hashable {
    /// The value `null`.
    case null
    /// A Boolean value, `true` or `false`.
    case bool(Bool)
    /// A number, stored as it was written.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// Returns whether two JSON values are equal, regardless of the order of members in an object.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left == right
        case (.string(let left), .string(let right)): left.isExactly(right)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    /// Hashes the value.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        switch self {
        case .null: break
        case .bool(let bool): hasher.combine(bool)
        case .number(let number): hasher.combine(number)
        case .string(let string): hasher.combine(ByteComparedString(string))
        case .array(let array): hasher.combine(array)
        case .object(let object): hasher.combine(object)
        }
    }

    /// The string, or `nil` if the value isn't a string.
    public var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The number, or `nil` if the value isn't a number.
    public var number: JSONNumber? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The Boolean, or `nil` if the value isn't a Boolean.
    public var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    /// The elements, or `nil` if the value isn't an array.
    public var array: [JSONValue]? {
        if case .array(let array) = self { array } else { nil }
    }

    /// The object, or `nil` if the value isn't an object.
    public var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    /// The type of the value, for messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool: "a Boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates `null`.
    ///
    /// - Parameter nilLiteral: The literal.
    public init(nilLiteral: ()) {
        self = .null
    }

    /// Creates a Boolean.
    ///
    /// - Parameter value: The literal.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// Creates an integer.
    ///
    /// - Parameter value: The literal.
    public init(integerLiteral value: Int) {
        self = .number(JSONNumber(value))
    }

    /// Creates a number; a literal that is too large for a `Double` becomes `null`.
    ///
    /// - Parameter value: The literal.
    public init(floatLiteral value: Double) {
        self = JSONNumber(value).map(JSONValue.number) ?? .null
    }

    /// Creates a string.
    ///
    /// - Parameter value: The literal.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// Creates an array.
    ///
    /// - Parameter elements: The elements.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }

    /// Creates an object, keeping the last of several members with the same name.
    ///
    /// - Parameter elements: The members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}

/// A JSON number, stored as the text that represents it
/// ([RFC 8259 §6](https://www.rfc-editor.org/rfc/rfc8259#section-6)).
///
/// The text preserves every digit and magnitude, so that reading an untrusted number can't trap or
/// round. The properties ``integer`` and ``double`` are `nil` if the number doesn't fit. Two
/// numbers are equal if their texts are equal: `1` and `1.0` differ.
public struct JSONNumber: Sendable, Hashable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    /// The number as JSON text.
    public let literal: String

    /// Creates an integer.
    ///
    /// - Parameter value: The number.
    public init(_ value: some BinaryInteger) {
        literal = String(value)
    }

    /// Creates a number from a floating-point value, or returns `nil` for infinity and
    /// not-a-number.
    ///
    /// Integral values are written without a fraction, others with the fewest digits that preserve
    /// the value.
    ///
    /// - Parameter value: The number.
    public init?(_ value: Double) {
        guard value.isFinite else { return nil }
        if let whole = Int64(exactly: value), whole != 0 || value.sign == .plus, whole.magnitude <= 1 << 53 {
            literal = String(whole)
        } else {
            literal = value.description
        }
    }

    /// Creates a number from its text, or returns `nil` if that isn't a JSON number.
    ///
    /// - Parameter literal: The text.
    public init?(literal: String) {
        let bytes = Array(literal.utf8)
        guard let end = Self.end(ofNumberIn: bytes, from: 0), end == bytes.count else { return nil }
        self.literal = literal
    }

    /// Creates an integer.
    ///
    /// - Parameter value: The literal.
    public init(integerLiteral value: Int) {
        self.init(value)
    }

    init(checkedLiteral literal: String) {
        self.literal = literal
    }

    /// The value if it's integral and fits: `12`, `12.0` and `1.2e1` are all 12.
    public var integer: Int? {
        Int(literal) ?? exactInteger
    }

    /// The nearest value, or `nil` if the number is too large for a `Double`.
    public var double: Double? {
        if literal.utf8.count <= 15, literal.utf8.first != UInt8(ascii: "-"), let whole = Int(literal) {
            return Double(whole)
        }
        guard let value = Double(literal), value.isFinite else { return nil }
        return value
    }

    /// The number as JSON text.
    public var description: String { literal }

    /// The digits, with the decimal point moved by the exponent.
    private var exactInteger: Int? {
        let parts = literal.utf8.split { $0 | 0x20 == UInt8(ascii: "e") }
        let sides = parts[0].split(separator: UInt8(ascii: "."))
        var digits = sides.joined().filter(\.isDigit)
        let fraction = sides.count > 1 ? sides[1].count : 0
        let zeros = digits.reversed().prefix { $0 == UInt8(ascii: "0") }.count
        digits.removeLast(zeros)
        guard !digits.isEmpty else { return 0 }
        guard let power = parts.count > 1 ? Int(Substring(parts[1])) : 0 else { return nil }
        let (sum, overflow) = power.addingReportingOverflow(zeros - fraction)
        // No `Int` has more than 19 digits.
        guard !overflow, (0..<19).contains(sum) else { return nil }
        let sign = literal.utf8.first == UInt8(ascii: "-") ? "-" : ""
        return Int(sign + String(decoding: digits, as: UTF8.self) + String(repeating: "0", count: sum))
    }

    static func end(ofNumberIn bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        if index < bytes.count, bytes[index] == UInt8(ascii: "-") { index += 1 }
        let wholePart = index
        guard skipDigits(in: bytes, &index) else { return nil }
        guard bytes[wholePart] != UInt8(ascii: "0") || index == wholePart + 1 else { return nil }
        if index < bytes.count, bytes[index] == UInt8(ascii: ".") {
            index += 1
            guard skipDigits(in: bytes, &index) else { return nil }
        }
        if index < bytes.count, bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            if index < bytes.count, bytes[index] == UInt8(ascii: "+") || bytes[index] == UInt8(ascii: "-") {
                index += 1
            }
            guard skipDigits(in: bytes, &index) else { return nil }
        }
        return index
    }

    private static func skipDigits(in bytes: [UInt8], _ index: inout Int) -> Bool {
        let start = index
        while index < bytes.count, bytes[index].isDigit { index += 1 }
        return index > start
    }
}
