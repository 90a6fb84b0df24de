public import Foundation
internal import OpenSSLCrypto

/// A JSON object: members in the order in which they were written or added, each name once.
///
/// Looking a member up compares code points. Equality does not depend on the order.
///
/// ```swift
/// var claims: JSONObject = ["sub": "alice"]
/// claims["exp"] = .number(JSONNumber(1_700_000_000))
/// print(claims.serialized())  // {"exp":1700000000,"sub":"alice"}
/// ```
public struct JSONObject: Sendable {
    /// A name and its value.
    public struct Member: Sendable, Hashable {
        /// The member's name.
        public let name: String
        /// The member's value.
        public var value: JSONValue

        /// Makes a member.
        ///
        /// - Parameters:
        ///   - name: The member's name.
        ///   - value: The member's value.
        public init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }

        /// Returns a Boolean value that indicates whether two members have the same name and value.
        ///
        /// - Parameters:
        ///   - left: One member.
        ///   - right: The other.
        /// - Returns: `true` if the code points of the names and the values are equal.
        public static func == (left: Self, right: Self) -> Bool {
            left.name.isExactly(right.name) && left.value == right.value
        }

        /// Feeds the name and the value to a hasher.
        ///
        /// - Parameter hasher: The hasher.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(ByteComparedString(name))
            hasher.combine(value)
        }
    }

    private var members: [Member]

    /// Makes an empty object.
    public init() {
        members = []
    }

    /// Makes an object of members; of those with the same name the last one stays.
    ///
    /// - Parameter members: The names and values in order.
    public init(_ members: some Sequence<(String, JSONValue)>) {
        self.init()
        for (name, value) in members { self[name] = value }
    }

    /// Keeps members whose names the parser has found to differ.
    init(distinctMembers members: [Member]) {
        self.members = members
    }

    /// The value of a member, or `nil` if there is none of that name.
    ///
    /// Setting adds the member at the end or replaces its value in place; setting `nil` removes it. A member that is
    /// `null` is `JSONValue.null`, not `nil`.
    ///
    /// - Parameter name: The member's name.
    /// - Returns: The value, or `nil`.
    public subscript(name: String) -> JSONValue? {
        get { index(of: name).map { members[$0].value } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }
}

extension JSONObject {
    /// The place of the member of a name.
    func index(of name: String) -> Int? {
        // A span lends its elements, where an array's subscript copies them.
        let members = members.span
        for index in members.indices where members[index].name.isExactly(name) { return index }
        return nil
    }
}

extension JSONObject {
    /// The most bytes that the parsing initializers accept: 1 MiB.
    package static var maximumSize: Int { JSONLimits.document.size }

    /// Reads an object from JSON text, strictly.
    ///
    /// Refused are repeated member names
    /// ([RFC 7515 §4](https://www.rfc-editor.org/rfc/rfc7515#section-4)), anything after the object, malformed UTF-8,
    /// unpaired surrogates, more than 64 levels, more than 1000 members in one object, and more than 1 MiB.
    ///
    /// - Parameter text: The JSON text.
    /// - Throws: ``TokenError`` with the code `malformedJSON` or `tooLarge`, saying where.
    public init(parsing text: String) throws(TokenError) {
        try self.init(parsing: Array(text.utf8), limits: .document)
    }

    /// Reads an object from JSON text in UTF-8, strictly, as ``init(parsing:)-(String)`` does.
    ///
    /// - Parameter data: The JSON text in UTF-8, without a byte order mark.
    /// - Throws: ``TokenError`` with the code `malformedJSON` or `tooLarge`, saying where.
    public init(parsing data: Data) throws(TokenError) {
        try self.init(parsing: Array(data), limits: .document)
    }

    /// Reads an object within limits of the caller's.
    package init(parsing bytes: [UInt8], limits: JSONLimits) throws(TokenError) {
        let value = try JSONParser.parse(bytes, limits: limits)
        guard case .object(let object) = value else {
            throw TokenError(.malformedJSON, "a JSON object is needed, this is \(value.kind)")
        }
        self = object
    }

    /// The object as JSON: always the same text for equal objects.
    ///
    /// Members are sorted by the code points of their names (which is also the order of their UTF-8 bytes), there is
    /// no white space, and only what must be escaped is: `"`, `\` and the control characters below U+0020.
    ///
    /// - Returns: The JSON text.
    public func serialized() -> String {
        String(decoding: serializedBytes(), as: UTF8.self)
    }

    /// The same JSON as ``serialized()``, in UTF-8.
    ///
    /// - Returns: The JSON text in UTF-8.
    public func serializedData() -> Data {
        Data(serializedBytes())
    }

    /// The object as JSON for people: sorted like ``serialized()``, one member per line, indented by two spaces.
    ///
    /// - Returns: The JSON text, without a line break at the end.
    public func prettyPrinted() -> String {
        var writer = JSONWriter(isPretty: true)
        writer.write(self)
        return String(decoding: writer.finished(), as: UTF8.self)
    }

    /// The deterministic JSON in UTF-8.
    package func serializedBytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.finished()
    }
}

extension JSONObject: RandomAccessCollection {
    /// The place of the first member.
    public var startIndex: Int { members.startIndex }
    /// The place after the last member.
    public var endIndex: Int { members.endIndex }

    /// The member at a place.
    ///
    /// - Parameter position: A valid index.
    /// - Returns: The member's name and value.
    public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: Hashable {
    /// Whether two objects have the same members, in any order.
    ///
    /// - Parameters:
    ///   - left: One object.
    ///   - right: The other.
    /// - Returns: Whether they are equal.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.count == right.count else { return false }
        let index = JSONMemberIndex(right)
        return left.members.allSatisfy { member in
            index[member.name].map { right.members[$0].value == member.value } ?? false
        }
    }

    /// Feeds the members to a hasher, in a way that does not depend on their order.
    ///
    /// - Parameter hasher: The hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(members.reduce(0) { $0 ^ $1.hashValue })
    }
}

extension JSONObject: ExpressibleByDictionaryLiteral, CustomStringConvertible {
    /// Makes an object; of members with the same name the last one stays.
    ///
    /// - Parameter elements: The members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }

    /// The JSON text.
    public var description: String { serialized() }
}
