extension StructuredField {
    /// A value with parameters
    /// ([RFC 9651 §3.3](https://www.rfc-editor.org/rfc/rfc9651#section-3.3)).
    public struct Item: Hashable, Sendable {
        /// The value.
        public var value: BareItem
        /// The parameters.
        public var parameters: Parameters

        /// Creates an item.
        ///
        /// - Parameters:
        ///   - value: The value.
        ///   - parameters: The parameters. The default is empty.
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
            var parser = try StructuredFieldParser(lines, limits: limits)
            self = try parser.whole { parser throws(NetworkError) in try parser.item() }
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
}
