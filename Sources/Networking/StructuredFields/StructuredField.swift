package import Foundation

/// Structured field values for HTTP ([RFC 9651](https://www.rfc-editor.org/rfc/rfc9651)): an
/// ``Item``, a ``List`` or a ``Dictionary``, as the field's specification says.
///
/// Parsing is strict: a field with any defect is malformed as a whole (§4.2). Serializing returns
/// the canonical form.
package enum StructuredField {
    /// The largest field that parsing accepts.
    ///
    /// Except for the whole field, these are the sizes that RFC 9651 requires to support.
    package struct Limits: Hashable, Sendable {
        /// In bytes.
        package var length = 1 << 20
        package var members = 1024
        package var innerListItems = 256
        /// Of each item or inner list.
        package var parameters = 256
        package var keyLength = 64
        /// Of a string or display string in bytes, after decoding.
        package var stringLength = 1024
        package var tokenLength = 512
        /// After decoding.
        package var byteSequenceLength = 16_384

        package init() {}
    }

    /// A value without parameters
    /// ([RFC 9651 §3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3)).
    package enum BareItem: Sendable {
        /// At most 15 digits.
        case integer(Int64)
        /// At most 12 digits before and 3 digits after the point, rounded with ties to even.
        case decimal(Decimal)
        /// Printable ASCII characters.
        case string(String)
        case token(String)
        case byteSequence(Data)
        case boolean(Bool)
        /// Seconds since 1 January 1970 UTC, without leap seconds.
        case date(Int64)
        case displayString(String)
    }
}

extension StructuredField.BareItem: Hashable {
    /// Compares the bytes of texts.
    package static func == (left: Self, right: Self) -> Bool {
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

    package func hash(into hasher: inout Hasher) {
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
    package struct Item: Hashable, Sendable {
        package var value: BareItem
        package var parameters: Parameters

        package init(_ value: BareItem, parameters: Parameters = Parameters()) {
            self.value = value
            self.parameters = parameters
        }

        /// Throws `invalidField`, also if the field is missing.
        package init(parsing lines: [String], limits: Limits = Limits()) throws(NetworkError) {
            self = try StructuredFieldParser.whole(lines, limits) { parser throws(NetworkError) in
                try parser.item()
            }
        }

        /// Throws `invalidField` for a value that can't be sent, such as a text with a line break.
        package func serialized() throws(NetworkError) -> String {
            try StructuredFieldSerializer.text { serializer throws(NetworkError) in try serializer.append(self) }
        }
    }

    /// A member of a ``List`` or ``Dictionary``.
    package enum Member: Hashable, Sendable {
        case item(Item)
        case innerList(InnerList)
    }

    /// A parenthesized list of items with its parameters
    /// ([RFC 9651 §3.1.1](https://www.rfc-editor.org/rfc/rfc9651#section-3.1.1)).
    package struct InnerList: Hashable, Sendable {
        package var items: [Item]
        package var parameters: Parameters

        package init(_ items: [Item] = [], parameters: Parameters = Parameters()) {
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
    package struct List: Hashable, Sendable {
        package var members: [Member]

        package init(_ members: [Member] = []) {
            self.members = members
        }

        /// Throws `invalidField`; a missing field is an empty list.
        package init(parsing lines: [String], limits: Limits = Limits()) throws(NetworkError) {
            self = try StructuredFieldParser.whole(lines, limits) { parser throws(NetworkError) in
                try parser.list()
            }
        }

        /// Returns an empty text for an empty list, whose field must not be sent.
        package func serialized() throws(NetworkError) -> String {
            try StructuredFieldSerializer.text { serializer throws(NetworkError) in try serializer.append(self) }
        }
    }

    /// Values with keys, in the order of their first assignment.
    package struct KeyedValues<Value: Hashable & Sendable>: Hashable, Sendable {
        private struct Entry: Hashable {
            let key: String
            var value: Value
        }

        private var entries: [Entry] = []
        private var positions: [String: Int] = [:]

        /// The last value of a repeated key is used.
        package init(_ members: [(String, Value)] = []) {
            for (key, value) in members { self[key] = value }
        }

        package var keys: [String] { entries.map(\.key) }

        /// A new value of an existing key keeps its position, and a new key is appended.
        package subscript(key: String) -> Value? {
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
    package typealias Parameters = KeyedValues<BareItem>

    /// A field that maps keys to items and inner lists, in order
    /// ([RFC 9651 §3.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.2)).
    package typealias Dictionary = KeyedValues<Member>
}

extension StructuredField.KeyedValues: RandomAccessCollection {
    package var startIndex: Int { 0 }
    package var endIndex: Int { entries.count }
    package subscript(position: Int) -> (key: String, value: Value) { (entries[position].key, entries[position].value) }
}

extension StructuredField.Dictionary {
    /// Throws `invalidField`; a missing field is an empty dictionary.
    ///
    /// Of a repeated key, the last member is used, in the position of the first.
    package init(parsing lines: [String], limits: StructuredField.Limits = .init()) throws(NetworkError) {
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

    /// Returns an empty text for an empty dictionary, whose field must not be sent.
    package func serialized() throws(NetworkError) -> String {
        try StructuredFieldSerializer.text { serializer throws(NetworkError) in try serializer.append(self) }
    }
}
