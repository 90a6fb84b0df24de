extension StructuredField {
    /// A field that maps keys to items and inner lists, in order
    /// ([RFC 9651 §3.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.2)).
    public struct Dictionary: Hashable, Sendable {
        private var members = OrderedMembers<Member>()

        /// Creates a dictionary.
        ///
        /// - Parameter members: The keys and members, in order. The last member of a repeated key
        ///   is used.
        public init(_ members: [(String, Member)] = []) {
            for (key, member) in members { self.members[key] = member }
        }

        /// Parses a field.
        ///
        /// A missing field is an empty dictionary. Of a repeated key, the last member is used, in
        /// the position of the first.
        ///
        /// - Parameters:
        ///   - lines: The field's values, in order; see ``HTTPHeaders/values(for:)``.
        ///   - limits: The largest field to accept.
        /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed or too
        ///   large.
        public init(parsing lines: [String], limits: Limits = Limits()) throws(NetworkError) {
            var parser = try StructuredFieldParser(lines, limits: limits)
            self = try parser.whole { parser throws(NetworkError) in try parser.dictionary(uniqueKeys: false) }
        }

        /// Parses a field that must not repeat a key, such as `Signature`.
        ///
        /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed or too
        ///   large, or repeats a key.
        package init(
            parsingUniqueKeys lines: [String],
            limits: Limits = Limits()
        ) throws(NetworkError) {
            var parser = try StructuredFieldParser(lines, limits: limits)
            self = try parser.whole { parser throws(NetworkError) in try parser.dictionary(uniqueKeys: true) }
        }

        /// The keys, in order.
        public var keys: [String] { members.keys }

        /// The member of a key, or `nil` if it's missing.
        ///
        /// A new member of an existing key keeps its position. A new key is appended.
        ///
        /// - Parameter key: The key.
        /// - Returns: The member.
        public subscript(key: String) -> Member? {
            get { members[key] }
            set { members[key] = newValue }
        }

        /// Serializes the dictionary.
        ///
        /// - Returns: The field's value. It's empty for an empty dictionary, whose field must not
        ///   be sent.
        /// - Throws: ``NetworkError`` with the code `invalidField` for a key or value that can't be
        ///   sent, such as a string with a line break.
        public func serialized() throws(NetworkError) -> String {
            var serializer = StructuredFieldSerializer(capacity: 256)
            try serializer.append(self)
            return serializer.text
        }
    }
}

extension StructuredField.Dictionary: RandomAccessCollection {
    /// The position of the first member.
    public var startIndex: Int { 0 }
    /// The position after the last member.
    public var endIndex: Int { members.count }
    /// The member at a position.
    ///
    /// - Parameter position: A valid position.
    /// - Returns: The key and the member.
    public subscript(position: Int) -> (key: String, value: StructuredField.Member) { members[position] }
}
