extension StructuredField {
    /// A parenthesized list of items with its parameters
    /// ([RFC 9651 §3.1.1](https://www.rfc-editor.org/rfc/rfc9651#section-3.1.1)).
    public struct InnerList: Hashable, Sendable {
        /// The items.
        public var items: [Item]
        /// The parameters of the list.
        public var parameters: Parameters

        /// Creates an inner list.
        ///
        /// - Parameters:
        ///   - items: The items. The default is empty.
        ///   - parameters: The parameters of the list. The default is empty.
        public init(_ items: [Item] = [], parameters: Parameters = Parameters()) {
            self.items = items
            self.parameters = parameters
        }

        /// Parses an inner list that stands alone.
        ///
        /// No field consists of a single inner list, but other specifications reuse the syntax.
        ///
        /// - Parameters:
        ///   - lines: The values, in order.
        ///   - limits: The largest text to accept.
        /// - Throws: ``NetworkError`` with the code `invalidField` if the text isn't an inner list
        ///   or is too large.
        public init(parsing lines: [String], limits: Limits = Limits()) throws(NetworkError) {
            var parser = try StructuredFieldParser(lines, limits: limits)
            self = try parser.whole { parser throws(NetworkError) in try parser.innerList() }
        }

        /// Serializes the inner list.
        ///
        /// - Returns: The canonical text.
        /// - Throws: ``NetworkError`` with the code `invalidField` for a value that can't be sent,
        ///   such as a string with a line break.
        public func serialized() throws(NetworkError) -> String {
            try StructuredFieldSerializer.text { serializer throws(NetworkError) in try serializer.append(self) }
        }
    }
}
