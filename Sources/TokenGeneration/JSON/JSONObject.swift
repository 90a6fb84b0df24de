public import Foundation
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
public struct JSONObject: Sendable {
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

    /// Creates an object from members whose names are known to be distinct.
    init(distinctMembers members: [Member]) {
        self.init(distinctMembers: members, JSONMemberIndex(members))
    }

    /// Creates an object from members and their index.
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
}

extension JSONObject {
    /// Returns the index of the member with a name.
    func index(of name: String) -> Int? { positions.position(of: name, in: members) }
}

extension JSONObject {
    /// The maximum size that the parsing initializers accept, 1 MiB.
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

    /// Parses an object with custom limits.
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

    /// Returns the object as readable JSON, sorted like ``serialized()``, with one member per line,
    /// indented by two spaces.
    ///
    /// - Returns: The JSON text, without a trailing line break.
    package func prettyPrinted() -> String {
        var writer = JSONWriter(isPretty: true)
        writer.write(self)
        return String(decoding: writer.finished(), as: UTF8.self)
    }

    /// Returns the deterministic JSON in UTF-8.
    package func serializedBytes() -> [UInt8] {
        var writer = JSONWriter()
        writer.write(self)
        return writer.finished()
    }
}

extension JSONObject: RandomAccessCollection {
    /// The index of the first member.
    public var startIndex: Int { members.startIndex }
    /// The index after the last member.
    public var endIndex: Int { members.endIndex }

    /// Accesses the member at an index.
    ///
    /// - Parameter position: A valid index.
    /// - Returns: The member's name and value.
    public subscript(position: Int) -> Member { members[position] }
}

extension JSONObject: Hashable {
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
}

extension JSONObject: ExpressibleByDictionaryLiteral, CustomStringConvertible {
    /// Creates an object, keeping the last of several members with the same name.
    ///
    /// - Parameter elements: The members.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements)
    }

    /// The JSON text.
    public var description: String { serialized() }
}
