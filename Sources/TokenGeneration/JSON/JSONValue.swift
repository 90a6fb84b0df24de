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
}

extension JSONValue {
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
