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
}
