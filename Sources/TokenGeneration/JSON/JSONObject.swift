public import FoundationEssentials
internal import OpenSSLCrypto

/// A JSON object with unique member names, in the order in which members were parsed or added.
///
/// Names are compared code point by code point. Equality doesn't depend on the order of members.
///
/// ```swift
/// var claims: JSONObject = ["sub": "alice"]
/// claims["exp"] = .number(JSONNumber(1_700_000_000))
/// print(claims.serialized())  // {"exp":1700000000,"sub":"alice"}
/// ```
public struct JSONObject: Sendable, RandomAccessCollection, Hashable, ExpressibleByDictionaryLiteral,
    CustomStringConvertible
{
    /// A member of an object: a name and a value.
    public struct Member: Sendable {
        /// The member's name.
        public let name: String
        /// The member's value.
        public internal(set) var value: JSONValue
    }

    private var members: [Member]
    private var positions: JSONMemberIndex

    /// Creates an empty object.
    public init() {
        members = []
        positions = JSONMemberIndex()
    }

    /// Creates an object from members, keeping the last of several members with the same name.
    ///
    /// - Parameter members: The names and values in order.
    public init(_ members: some Sequence<(String, JSONValue)>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }

    init(distinctMembers members: [Member]) {
        self.init(distinctMembers: members, JSONMemberIndex(members))
    }

    init(distinctMembers members: [Member], _ positions: JSONMemberIndex) {
        self.members = members
        self.positions = positions
    }

    /// Accesses the value of a member.
    ///
    /// If you set a value, the member is added at the end or its value is replaced in place. If you
    /// set `nil`, the member is removed. A member that is `null` has the value `JSONValue.null`,
    /// not `nil`.
    ///
    /// - Parameter name: The member's name.
    /// - Returns: The value, or `nil` if no member has that name.
    public subscript(name: String) -> JSONValue? {
        get { index(of: name).map { members[$0].value } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil):
                members.remove(at: index)
                positions = JSONMemberIndex(members)
            case (nil, let value?):
                _ = positions.insert(name, after: members)
                members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    func index(of name: String) -> Int? { positions.position(of: name, in: members) }

    var sortedMembers: [Member] {
        var sorted = members
        sorted.sortByName()
        return sorted
    }

    package static var maximumSize: Int { JSONLimits.document.size }

    /// Parses an object from strict JSON text.
    ///
    /// The parser rejects duplicate member names
    /// ([RFC 7515 §4](https://www.rfc-editor.org/rfc/rfc7515#section-4)), text after the object,
    /// malformed UTF-8, unpaired surrogates, more than 64 levels, more than 1000 members in one
    /// object, and more than 1 MiB.
    ///
    /// - Parameter text: The JSON text.
    /// - Throws: ``TokenError`` with the code `malformedJSON` or `tooLarge`. The message has the
    ///   position.
    public init(parsing text: String) throws(TokenError) {
        try self.init(parsing: Array(text.utf8), limits: .document)
    }

    /// Parses an object from strict JSON text in UTF-8, as ``init(parsing:)-(String)`` does.
    ///
    /// - Parameter data: The JSON text in UTF-8, without a byte order mark.
    /// - Throws: ``TokenError`` with the code `malformedJSON` or `tooLarge`. The message has the
    ///   position.
    public init(parsing data: Data) throws(TokenError) {
        try self.init(parsing: Array(data), limits: .document)
    }

    package init(parsing bytes: [UInt8], limits: JSONLimits) throws(TokenError) {
        let value = try JSONParser.parse(bytes, limits: limits)
        guard case .object(let object) = value else {
            throw TokenError(.malformedJSON, "expected a JSON object, but found \(value.kind)")
        }
        self = object
    }

    /// Returns the object as JSON, which is the same text for equal objects.
    ///
    /// Members are sorted by the code points of their names (also the order of their UTF-8 bytes).
    /// The text has no white space, and escapes only `"`, `\` and the control characters below
    /// U+0020.
    ///
    /// - Returns: The JSON text.
    public func serialized() -> String {
        String(decoding: serializedBytes(), as: UTF8.self)
    }

    /// Returns the same JSON as ``serialized()``, in UTF-8.
    ///
    /// - Returns: The JSON text in UTF-8.
    public func serializedData() -> Data {
        Data(serializedBytes())
    }

    /// Sorted like ``serialized()``, with one member per line, indented by two spaces, without a
    /// trailing line break.
    package func prettyPrinted() -> String {
        var writer = JSONWriter(isPretty: true)
        writer.write(self)
        return String(decoding: writer.finished(), as: UTF8.self)
    }

    package func serializedBytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.finished()
    }

    /// The index of the first member.
    public var startIndex: Int { members.startIndex }
    /// The index after the last member.
    public var endIndex: Int { members.endIndex }

    /// Accesses the member at an index.
    ///
    /// - Parameter position: A valid index.
    /// - Returns: The member's name and value.
    public subscript(position: Int) -> Member { members[position] }

    /// Returns whether two objects have the same members, in any order.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        return left.members.allSatisfy { member in
            right.index(of: member.name).map { right.members[$0].value == member.value } ?? false
        }
    }

    /// Hashes the members, independently of their order.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(
            members.reduce(0) { hash, member in
                var hasher = Hasher()
                hasher.combine(ByteComparedString(member.name))
                hasher.combine(member.value)
                return hash ^ hasher.finalize()
            }
        )
    }

    /// Creates an object, keeping the last of several members with the same name.
    ///
    /// - Parameter elements: The members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }

    /// The JSON text.
    public var description: String { serialized() }

    init(converting dictionary: [String: Any], path: String, depth: Int = 1) throws(TokenError) {
        try JSONValue.checkDepth(depth, path)
        self.init()
        for (name, value) in dictionary {
            self[name] = try JSONValue(converting: value, path: "\(path).\(name)", depth: depth)
        }
    }
}

extension JSONValue {
    fileprivate init(converting value: Any, path: String, depth: Int) throws(TokenError) {
        // Checks exact types first. Foundation bridges types: an `NSNumber` 1 is also `true`.
        if let value = value as? any BinaryInteger {
            self = .number(JSONNumber(value))
        } else if let value = value as? any DirectlyConvertible {
            guard let converted = value.jsonValue else { throw Self.notFinite(path) }
            self = converted
        } else if let value = value as? any BinaryFloatingPoint {
            // Such as `CGFloat`, which is Foundation's.
            guard let number = Double("\(value)").flatMap(JSONNumber.init) else { throw Self.notFinite(path) }
            self = .number(number)
        } else if let value = value as? any OptionalValue {
            guard let wrapped = value.wrapped else {
                self = .null
                return
            }
            try self.init(converting: wrapped, path: path, depth: depth)
        } else if let number = try Self.foundationNumber(value, path: path) {
            self = number
        } else if let date = value as? Date {
            guard let seconds = NumericDate(date).seconds else {
                throw TokenError(.unencodableContent, "\(path) is a time outside the years 1 to 9999")
            }
            self = .number(JSONNumber(seconds))
        } else if let string = value as? String {
            self = .string(string)
        } else if let elements = value as? [Any] {
            try JSONValue.checkDepth(depth + 1, path)
            var array: [JSONValue] = []
            for (index, element) in elements.enumerated() {
                array.append(try JSONValue(converting: element, path: "\(path)[\(index)]", depth: depth + 1))
            }
            self = .array(array)
        } else if let dictionary = value as? [String: Any] {
            self = .object(try JSONObject(converting: dictionary, path: path, depth: depth + 1))
        } else if String(reflecting: type(of: value)) == "Foundation.NSNull" {
            self = .null
        } else {
            throw TokenError(.unencodableContent, "\(path) is a \(type(of: value)), which isn't a JSON type")
        }
    }

    /// Converts an `NSNumber`, or returns `nil` for another type.
    ///
    /// The name `NSNumber` would link Foundation and its language data into each program that signs
    /// tokens. A program with an `NSNumber` contains Foundation, whose conversions then apply.
    private static func foundationNumber(_ value: Any, path: String) throws(TokenError) -> Self? {
        guard value is Int64 || value is UInt64 || value is Double || value is Decimal else { return nil }
        for truth in [true, false] where isFoundationBoolean(value, truth) { return .bool(truth) }
        let text = String(describing: value)
        let digits = text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        guard let number = JSONNumber(literal: digits) else { throw notFinite(path) }
        return .number(number)
    }

    /// Foundation has one object for each truth value, which also equals a number.
    private static func isFoundationBoolean(_ value: Any, _ truth: Bool) -> Bool {
        guard let bridgeable = truth as Any as? any _ObjectiveCBridgeable else { return false }
        return bridgeable._bridgeToObjectiveC() === value as AnyObject
    }

    private static func notFinite(_ path: String) -> TokenError {
        TokenError(.unencodableContent, "\(path) isn't a finite number, so JSON can't represent it")
    }

    fileprivate static func checkDepth(_ depth: Int, _ path: String) throws(TokenError) {
        guard depth <= JSONLimits.document.depth else {
            throw TokenError(.unencodableContent, "\(path) is nested deeper than \(JSONLimits.document.depth) levels")
        }
    }
}

protocol DirectlyConvertible {
    /// `nil` for a number that isn't finite.
    var jsonValue: JSONValue? { get }
}

extension String: DirectlyConvertible {
    var jsonValue: JSONValue? { .string(self) }
}

extension Bool: DirectlyConvertible {
    var jsonValue: JSONValue? { .bool(self) }
}

extension Double: DirectlyConvertible {
    var jsonValue: JSONValue? { JSONNumber(self).map(JSONValue.number) }
}

extension Float: DirectlyConvertible {
    var jsonValue: JSONValue? {
        // Converts via text, so that 0.1 doesn't become 0.10000000149011612.
        isFinite ? Double(description).flatMap(JSONNumber.init).map(JSONValue.number) : nil
    }
}

extension Decimal: DirectlyConvertible {
    var jsonValue: JSONValue? {
        isNaN ? nil : JSONNumber(literal: description).map(JSONValue.number)
    }
}

extension JSONValue: DirectlyConvertible {
    var jsonValue: JSONValue? { self }
}

extension JSONObject: DirectlyConvertible {
    var jsonValue: JSONValue? { .object(self) }
}

extension JSONNumber: DirectlyConvertible {
    var jsonValue: JSONValue? { .number(self) }
}

private protocol OptionalValue {
    var wrapped: Any? { get }
}

extension Optional: OptionalValue {
    fileprivate var wrapped: Any? { map { $0 as Any } }
}

/// The positions of an object's members by name, compared byte by byte.
///
/// A linear search for every member of a large object would take quadratic time.
struct JSONMemberIndex: Sendable {
    static let smallCount = 16

    private var positions: [ByteComparedString: Int]?

    init() {}

    init(_ members: [JSONObject.Member]) {
        guard members.count > Self.smallCount else { return }
        index(members)
    }

    func position(of name: String, in members: [JSONObject.Member]) -> Int? {
        guard let positions else {
            // Borrows the elements of a span. An array's subscript would copy them.
            let members = members.span
            for index in members.indices where members[index].name.isExactly(name) { return index }
            return nil
        }
        return positions[ByteComparedString(name)]
    }

    /// Returns `false` if a member has the name already.
    mutating func insert(_ name: String, after members: [JSONObject.Member]) -> Bool {
        guard position(of: name, in: members) == nil else { return false }
        if positions == nil, members.count == Self.smallCount { index(members) }
        positions?[ByteComparedString(name)] = members.count
        return true
    }

    private mutating func index(_ members: [JSONObject.Member]) {
        var positions: [ByteComparedString: Int] = [:]
        positions.reserveCapacity(members.count * 2)
        for (position, member) in members.enumerated() { positions[ByteComparedString(member.name)] = position }
        self.positions = positions
    }
}
