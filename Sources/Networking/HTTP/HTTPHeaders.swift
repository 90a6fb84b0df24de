internal import OpenSSLCrypto

/// The ordered header fields of a message, including repeated fields.
///
/// Names are case-insensitive ([RFC 9110 §5.1](https://www.rfc-editor.org/rfc/rfc9110#section-5.1))
/// but keep their spelling. Fields aren't validated here: a transport rejects a request with a
/// malformed field before sending a byte.
public struct HTTPHeaders: Sendable, Hashable, RandomAccessCollection, ExpressibleByDictionaryLiteral {
    /// A header field.
    public struct Field: Sendable, Hashable {
        /// The name with its original spelling.
        public var name: String
        /// The value, without surrounding white space.
        public var value: String

        /// Creates a field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Returns whether two fields have the same bytes, not only canonically equivalent text.
        public static func == (left: Self, right: Self) -> Bool {
            ByteComparedString(left.name) == ByteComparedString(right.name)
                && ByteComparedString(left.value) == ByteComparedString(right.value)
        }

        /// Hashes the bytes of the name and the value.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(ByteComparedString(name))
            hasher.combine(ByteComparedString(value))
        }
    }

    private var fields: [Field]

    /// Creates header fields from a list.
    ///
    /// - Parameter fields: The fields, in the order they're sent.
    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// The first value of a field, or `nil`.
    ///
    /// Setting a value replaces all fields of that name by one, in the first one's place; `nil`
    /// removes them.
    ///
    /// - Parameter name: The field's name, in any case.
    /// - Returns: The value of the first field of that name, or `nil`.
    public subscript(name: String) -> String? {
        get { fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
        set {
            guard let first = fields.firstIndex(where: { $0.name.equalsIgnoringASCIICase(name) }) else {
                if let newValue { fields.append(Field(name: name, value: newValue)) }
                return
            }
            fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
            if let newValue { fields.insert(Field(name: name, value: newValue), at: first) }
        }
    }

    /// Returns all values of a field, in order.
    ///
    /// - Parameter name: The field's name, in any case.
    /// - Returns: The values; empty if the field is missing.
    public func values(for name: String) -> [String] {
        var values: [String] = []
        for field in fields where field.name.equalsIgnoringASCIICase(name) { values.append(field.value) }
        return values
    }

    package func without(_ names: some Sequence<some StringProtocol>) -> HTTPHeaders {
        let removed = Set(names.map(\.foldedFieldName))
        return HTTPHeaders(fields.filter { !removed.contains($0.name.foldedFieldName) })
    }

    /// Appends a field, even if another one has the same name.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }

    /// The position of the first field.
    public var startIndex: Int { fields.startIndex }
    /// The position after the last field.
    public var endIndex: Int { fields.endIndex }
    /// The field at a position.
    ///
    /// - Parameter position: A valid position.
    /// - Returns: The field's name and value.
    public subscript(position: Int) -> Field { fields[position] }

    /// Creates header fields from a literal, in order.
    ///
    /// - Parameter elements: Names and values.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field(name: $0.0, value: $0.1) })
    }
}

extension StringProtocol {
    /// Returns whether two texts are equal, ignoring the case of ASCII letters.
    package func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        // Most different texts differ in length, which is known.
        guard utf8.count == other.utf8.count else { return false }
        return utf8.elementsEqual(other.utf8) { left, right in
            left == right || (left ^ right == 0x20 && (0x61...0x7A).contains(left | 0x20))
        }
    }

    fileprivate var foldedFieldName: ByteComparedString {
        ByteComparedString(
            String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
        )
    }
}

extension String {
    /// Not generic, because each request compares many names.
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let (left, right) = (utf8.span, other.utf8.span)
        for index in left.indices {
            let (one, other) = (left[index], right[index])
            guard one == other || (one ^ other == 0x20 && (0x61...0x7A).contains(one | 0x20)) else { return false }
        }
        return true
    }
}
