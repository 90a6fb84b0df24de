extension StructuredField {
    /// A field that is a list of items and inner lists
    /// ([RFC 9651 §3.1](https://www.rfc-editor.org/rfc/rfc9651#section-3.1)).
    public struct List: Hashable, Sendable {
        /// The members.
        public var members: [Member]

        /// Creates a list.
        ///
        /// - Parameter members: The members. The default is empty.
        public init(_ members: [Member] = []) {
            self.members = members
        }

        /// Parses a field.
        ///
        /// A missing field is an empty list.
        ///
        /// - Parameters:
        ///   - lines: The field's values, in order; see ``HTTPHeaders/values(for:)``.
        ///   - limits: The largest field to accept.
        /// - Throws: ``NetworkError`` with the code `invalidField` if the field is malformed or too
        ///   large.
        public init(parsing lines: [String], limits: Limits = Limits()) throws(NetworkError) {
            var parser = try StructuredFieldParser(lines, limits: limits)
            self = try parser.whole { parser throws(NetworkError) in try parser.list() }
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
}
