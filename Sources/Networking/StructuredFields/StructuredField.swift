public import Foundation

/// Structured field values for HTTP ([RFC 9651](https://www.rfc-editor.org/rfc/rfc9651)).
///
/// A structured field is an ``Item``, a ``List`` or a ``Dictionary``, as its specification says:
///
/// ```swift
/// let priority = try StructuredField.Dictionary(parsing: response.headers.values(for: "Priority"))
/// if case .item(let urgency)? = priority["u"] { print(urgency.value) }
/// ```
///
/// Parsing is strict: a field with any defect is malformed as a whole and should be ignored or
/// refused (§4.2). ``Limits`` bound what parsing accepts. Serializing returns the canonical form.
public enum StructuredField {
    /// The largest field that parsing accepts.
    ///
    /// Except for the whole field, the defaults are the sizes that RFC 9651 requires each
    /// implementation to support.
    public struct Limits: Hashable, Sendable {
        /// The maximum size of the whole field in bytes; the default is 1 MiB.
        public var length = 1 << 20
        /// The maximum number of members of a list or dictionary; the default is 1024.
        public var members = 1024
        /// The maximum number of items in an inner list; the default is 256.
        public var innerListItems = 256
        /// The maximum number of parameters of an item or inner list; the default is 256.
        public var parameters = 256
        /// The maximum length of a key in bytes; the default is 64.
        public var keyLength = 64
        /// The maximum length of a string or display string in bytes, after decoding; the default
        /// is 1024.
        public var stringLength = 1024
        /// The maximum length of a token in bytes; the default is 512.
        public var tokenLength = 512
        /// The maximum length of a byte sequence in bytes, after decoding; the default is 16,384.
        public var byteSequenceLength = 16_384

        /// Creates the default limits.
        public init() {}
    }

    /// A value without parameters
    /// ([RFC 9651 §3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3)).
    @nonexhaustive
    public enum BareItem: Sendable {
        /// An integer of at most 15 digits.
        case integer(Int64)
        /// A decimal number with at most 12 digits before and 3 digits after the point.
        ///
        /// Serializing rounds to 3 digits, ties to even.
        case decimal(Decimal)
        /// A string of printable ASCII characters.
        case string(String)
        /// A token, such as `gzip`.
        case token(String)
        /// Bytes, which are sent as base64.
        case byteSequence(Data)
        /// A Boolean value.
        case boolean(Bool)
        /// A date in seconds since 1 January 1970 UTC, without leap seconds.
        case date(Int64)
        /// A Unicode string.
        case displayString(String)
    }
}

extension StructuredField.BareItem: Hashable {
    /// Returns whether two values have the same type and content, and their texts the same bytes.
    public static func == (left: Self, right: Self) -> Bool {
        switch (left, right) {
        case (.integer(let left), .integer(let right)), (.date(let left), .date(let right)): left == right
        case (.decimal(let left), .decimal(let right)): left == right
        case (.string(let left), .string(let right)), (.token(let left), .token(let right)),
            (.displayString(let left), .displayString(let right)):
            left.utf8.elementsEqual(right.utf8)
        case (.byteSequence(let left), .byteSequence(let right)): left == right
        case (.boolean(let left), .boolean(let right)): left == right
        default: false
        }
    }

    /// Hashes the content.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .integer(let value), .date(let value): hasher.combine(value)
        case .decimal(let value): hasher.combine(value)
        case .string(let text), .token(let text), .displayString(let text):
            for byte in text.utf8 { hasher.combine(byte) }
        case .byteSequence(let bytes): hasher.combine(bytes)
        case .boolean(let value): hasher.combine(value)
        }
    }
}

extension StructuredField {
    /// A value with parameters
    /// ([RFC 9651 §3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3)).
    public struct Item: Hashable, Sendable {
        /// The value.
        public var value: BareItem
        /// The parameters.
        public var parameters: Parameters

        /// Creates an item.
        public init(_ value: BareItem, parameters: Parameters = Parameters()) {
            self.value = value
            self.parameters = parameters
        }

        /// Parses a field.
        ///
        /// - Parameters:
        ///   - lines: The field's values, in order; see ``HTTPHeaders/values(for:)``.
        ///   - limits: The largest field to accept.
        /// - Throws: ``NetworkError`` with the code `invalidField` if the field is missing,
        ///   malformed or too large.
        public init(parsing lines: [String], limits: Limits = Limits()) throws(NetworkError) {
            self = try StructuredFieldParser.whole(lines, limits) { parser throws(NetworkError) in
                try parser.item()
            }
        }

        /// Serializes the item.
        ///
        /// - Returns: The field's value.
        /// - Throws: ``NetworkError`` with the code `invalidField` for a value that can't be sent,
        ///   such as a string with a line break.
        public func serialized() throws(NetworkError) -> String {
            try StructuredFieldSerializer.text { serializer throws(NetworkError) in try serializer.append(self) }
        }
    }

    /// An item or an inner list, as a member of a ``List`` or ``Dictionary``.
    public enum Member: Hashable, Sendable {
        /// An item.
        case item(Item)
        /// An inner list.
        case innerList(InnerList)
    }

    /// A parenthesized list of items with its parameters
    /// ([RFC 9651 §3.1.1](https://www.rfc-editor.org/rfc/rfc9651#section-3.1.1)).
    public struct InnerList: Hashable, Sendable {
        /// The items.
        public var items: [Item]
        /// The parameters of the list.
        public var parameters: Parameters

        /// Creates an inner list.
        public init(_ items: [Item] = [], parameters: Parameters = Parameters()) {
            self.items = items
            self.parameters = parameters
        }

        /// No field consists of a single inner list, but other specifications reuse the syntax.
        package init(parsing lines: [String], limits: Limits = Limits()) throws(NetworkError) {
            self = try StructuredFieldParser.whole(lines, limits) { parser throws(NetworkError) in
                try parser.innerList()
            }
        }

        package func serialized() throws(NetworkError) -> String {
            try StructuredFieldSerializer.text { serializer throws(NetworkError) in try serializer.append(self) }
        }
    }

    /// A field that is a list of items and inner lists
    /// ([RFC 9651 §3.1](https://www.rfc-editor.org/rfc/rfc9651#section-3.1)).
    public struct List: Hashable, Sendable {
        /// The members.
        public var members: [Member]

        /// Creates a list.
        public init(_ members: [Member] = []) {
            self.members = members
        }

        /// Parses a field; a missing field is an empty list.
        ///
        /// - Parameters:
        ///   - lines: The field's values, in order; see ``HTTPHeaders/values(for:)``.
        ///   - limits: The largest field to accept.
        /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed or too
        ///   large.
        public init(parsing lines: [String], limits: Limits = Limits()) throws(NetworkError) {
            self = try StructuredFieldParser.whole(lines, limits) { parser throws(NetworkError) in
                try parser.list()
            }
        }

        /// Serializes the list.
        ///
        /// - Returns: The field's value. It's empty for an empty list, whose field must not be
        ///   sent.
        /// - Throws: ``NetworkError`` with the code `invalidField` for a value that can't be sent,
        ///   such as a string with a line break.
        public func serialized() throws(NetworkError) -> String {
            try StructuredFieldSerializer.text { serializer throws(NetworkError) in try serializer.append(self) }
        }
    }

    /// Values with keys, in the order of their first assignment.
    public struct KeyedValues<Value: Hashable & Sendable>: Hashable, Sendable {
        private struct Entry: Hashable {
            let key: String
            var value: Value
        }

        private var entries: [Entry] = []
        private var positions: [String: Int] = [:]

        /// Creates keyed values.
        ///
        /// - Parameter members: The keys and values, in order. The last value of a repeated key is
        ///   used.
        public init(_ members: [(String, Value)] = []) {
            for (key, value) in members { self[key] = value }
        }

        /// The keys, in order.
        public var keys: [String] { entries.map(\.key) }

        /// The value of a key, or `nil` if it's missing.
        ///
        /// A new value of an existing key keeps its position. A new key is appended.
        ///
        /// - Parameter key: The key.
        /// - Returns: The value.
        public subscript(key: String) -> Value? {
            get { positions[key].map { entries[$0].value } }
            set {
                switch (positions[key], newValue) {
                case (let position?, let newValue?): entries[position].value = newValue
                case (nil, let newValue?):
                    positions[key] = entries.count
                    entries.append(Entry(key: key, value: newValue))
                case (let position?, nil):
                    entries.remove(at: position)
                    positions[key] = nil
                    for index in position..<entries.count { positions[entries[index].key] = index }
                case (nil, nil): break
                }
            }
        }
    }

    /// The ordered parameters of an item or inner list
    /// ([RFC 9651 §3.1.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.1.2)).
    public typealias Parameters = KeyedValues<BareItem>

    /// A field that maps keys to items and inner lists, in order
    /// ([RFC 9651 §3.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.2)).
    public typealias Dictionary = KeyedValues<Member>
}

extension StructuredField.KeyedValues: RandomAccessCollection {
    /// The position of the first value.
    public var startIndex: Int { 0 }
    /// The position after the last value.
    public var endIndex: Int { entries.count }
    /// The value at a position.
    ///
    /// - Parameter position: A valid position.
    /// - Returns: The key and the value.
    public subscript(position: Int) -> (key: String, value: Value) { (entries[position].key, entries[position].value) }
}

extension StructuredField.Dictionary {
    /// Parses a field.
    ///
    /// A missing field is an empty dictionary. Of a repeated key, the last member is used, in the
    /// position of the first.
    ///
    /// - Parameters:
    ///   - lines: The field's values, in order; see ``HTTPHeaders/values(for:)``.
    ///   - limits: The largest field to accept.
    /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed or too
    ///   large.
    public init(parsing lines: [String], limits: StructuredField.Limits = .init()) throws(NetworkError) {
        self = try StructuredFieldParser.whole(lines, limits) { parser throws(NetworkError) in
            try parser.dictionary(uniqueKeys: false)
        }
    }

    /// Rejects a field that repeats a key, such as `Signature`.
    package init(parsingUniqueKeys lines: [String]) throws(NetworkError) {
        self = try StructuredFieldParser.whole(lines, .init()) { parser throws(NetworkError) in
            try parser.dictionary(uniqueKeys: true)
        }
    }

    /// Serializes the dictionary.
    ///
    /// - Returns: The field's value. It's empty for an empty dictionary, whose field must not be
    ///   sent.
    /// - Throws: ``NetworkError`` with the code `invalidField` for a key or value that can't be
    ///   sent, such as a string with a line break.
    public func serialized() throws(NetworkError) -> String {
        try StructuredFieldSerializer.text { serializer throws(NetworkError) in try serializer.append(self) }
    }
}
