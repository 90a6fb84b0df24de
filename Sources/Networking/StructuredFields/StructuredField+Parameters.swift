extension StructuredField {
    /// The ordered parameters of an item or inner list
    /// ([RFC 9651 §3.1.2](https://www.rfc-editor.org/rfc/rfc9651#section-3.1.2)).
    public struct Parameters: Hashable, Sendable {
        private var members = OrderedMembers<BareItem>()

        /// Creates parameters.
        ///
        /// - Parameter members: The keys and values, in order. The last value of a repeated key is
        ///   used.
        public init(_ members: [(String, BareItem)] = []) {
            for (key, value) in members { self.members[key] = value }
        }

        /// The value of a key, or `nil` if it's missing.
        ///
        /// A new value of an existing key keeps its position. A new key is appended.
        ///
        /// - Parameter key: The key.
        /// - Returns: The value.
        public subscript(key: String) -> BareItem? {
            get { members[key] }
            set { members[key] = newValue }
        }
    }
}

extension StructuredField.Parameters: RandomAccessCollection {
    /// The position of the first parameter.
    public var startIndex: Int { 0 }
    /// The position after the last parameter.
    public var endIndex: Int { members.count }
    /// The parameter at a position.
    ///
    /// - Parameter position: A valid position.
    /// - Returns: The key and the value.
    public subscript(position: Int) -> (key: String, value: StructuredField.BareItem) { members[position] }
}
