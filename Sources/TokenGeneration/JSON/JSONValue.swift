internal import OpenSSLCrypto

/// A JSON value ([RFC 8259 §3](https://www.rfc-editor.org/rfc/rfc8259#section-3)).
///
/// ```swift
/// let claims: JSONObject = ["sub": "alice", "admin": true, "roles": ["reader", "editor"]]
/// ```
///
/// Strings are equal if their code points are, numbers if their texts are.
public enum JSONValue: Sendable, Hashable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number, kept as it was written.
    case number(JSONNumber)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// Whether two values are the same JSON value.
    ///
    /// - Parameters:
    ///   - left: One value.
    ///   - right: The other.
    /// - Returns: Whether they are equal; the order of an object's members does not count.
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

    /// Feeds the value to a hasher.
    ///
    /// - Parameter hasher: The hasher.
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
    /// The string, or `nil` if the value is none.
    public var string: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The number, or `nil` if the value is none.
    public var number: JSONNumber? {
        if case .number(let number) = self { number } else { nil }
    }

    /// The truth value, or `nil` if the value is none.
    public var bool: Bool? {
        if case .bool(let bool) = self { bool } else { nil }
    }

    /// The elements, or `nil` if the value is no array.
    public var array: [JSONValue]? {
        if case .array(let array) = self { array } else { nil }
    }

    /// The object, or `nil` if the value is none.
    public var object: JSONObject? {
        if case .object(let object) = self { object } else { nil }
    }

    /// What kind of value it is, for messages.
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
    /// Makes `null`.
    ///
    /// - Parameter nilLiteral: The literal.
    public init(nilLiteral: ()) {
        self = .null
    }

    /// Makes a truth value.
    ///
    /// - Parameter value: The literal.
    public init(booleanLiteral value: Bool) {
        self = .bool(value)
    }

    /// Makes a whole number.
    ///
    /// - Parameter value: The literal.
    public init(integerLiteral value: Int) {
        self = .number(JSONNumber(value))
    }

    /// Makes a number; a literal that is too large for a `Double` makes `null`.
    ///
    /// - Parameter value: The literal.
    public init(floatLiteral value: Double) {
        self = JSONNumber(value).map(JSONValue.number) ?? .null
    }

    /// Makes a string.
    ///
    /// - Parameter value: The literal.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// Makes an array.
    ///
    /// - Parameter elements: The elements.
    public init(arrayLiteral elements: JSONValue...) {
        self = .array(elements)
    }

    /// Makes an object; of members with the same name the last one stays.
    ///
    /// - Parameter elements: The members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements))
    }
}
