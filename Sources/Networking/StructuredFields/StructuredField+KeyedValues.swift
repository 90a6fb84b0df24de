extension StructuredField {
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
        var parser = try StructuredFieldParser(lines, limits: limits)
        self = try parser.whole { parser throws(NetworkError) in try parser.dictionary(uniqueKeys: false) }
    }

    /// Parses a field that must not repeat a key, such as `Signature`.
    ///
    /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed or too
    ///   large, or repeats a key.
    package init(parsingUniqueKeys lines: [String]) throws(NetworkError) {
        var parser = try StructuredFieldParser(lines, limits: StructuredField.Limits())
        self = try parser.whole { parser throws(NetworkError) in try parser.dictionary(uniqueKeys: true) }
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
