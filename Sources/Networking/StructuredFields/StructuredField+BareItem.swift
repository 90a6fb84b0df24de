public import Foundation

extension StructuredField {
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
