internal import OpenSSLCrypto

/// The header fields of a message, in order, with repetition.
///
/// Names compare without regard to case ([RFC 9110 §5.1](https://www.rfc-editor.org/rfc/rfc9110#section-5.1)) and are
/// kept as they were written. Nothing is checked here: a transport refuses a request with a malformed field before it
/// sends a byte.
public struct HTTPHeaders: Sendable, Hashable {
    /// One header field.
    public struct Field: Sendable, Hashable {
        /// The name as it was written.
        public var name: String
        /// The value without surrounding white space.
        public var value: String

        /// Makes a field.
        ///
        /// - Parameters:
        ///   - name: The field's name.
        ///   - value: The field's value.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }

        /// Returns a Boolean value that indicates whether two fields have the same bytes.
        ///
        /// Canonically equivalent text in two spellings is two values.
        ///
        /// - Parameters:
        ///   - left: One field.
        ///   - right: The other.
        /// - Returns: `true` if both name and value are the same.
        public static func == (left: Self, right: Self) -> Bool {
            ByteComparedString(left.name) == ByteComparedString(right.name)
                && ByteComparedString(left.value) == ByteComparedString(right.value)
        }

        /// Feeds the bytes of the name and the value to a hasher.
        ///
        /// - Parameter hasher: The hasher.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(ByteComparedString(name))
            hasher.combine(ByteComparedString(value))
        }
    }

    private var fields: [Field]

    /// Makes header fields from a list.
    ///
    /// - Parameter fields: The fields in the order in which they are sent.
    public init(_ fields: [Field] = []) {
        self.fields = fields
    }

    /// The first value of a field, or `nil` if there is none.
    ///
    /// Setting replaces every field of that name by one, at the place of the first; setting `nil` removes them.
    ///
    /// - Parameter name: The field's name, in any case.
    /// - Returns: The value of the first field of that name, or `nil`.
    public subscript(name: String) -> String? {
        get { fields.first { $0.name.equalsIgnoringASCIICase(name) }?.value }
        set {
            let first = fields.firstIndex { $0.name.equalsIgnoringASCIICase(name) }
            fields.removeAll { $0.name.equalsIgnoringASCIICase(name) }
            guard let newValue else { return }
            fields.insert(Field(name: name, value: newValue), at: first ?? fields.endIndex)
        }
    }

    /// All values of a field, in order.
    ///
    /// - Parameter name: The field's name, in any case.
    /// - Returns: The values; empty if there is no such field.
    public func values(for name: String) -> [String] {
        fields.filter { $0.name.equalsIgnoringASCIICase(name) }.map(\.value)
    }

    /// Adds a field after the others, even if there is one of that name.
    ///
    /// - Parameters:
    ///   - name: The field's name.
    ///   - value: The field's value.
    public mutating func append(name: String, value: String) {
        fields.append(Field(name: name, value: value))
    }
}

extension HTTPHeaders: RandomAccessCollection {
    /// The position of the first field.
    public var startIndex: Int { fields.startIndex }
    /// The position after the last field.
    public var endIndex: Int { fields.endIndex }
    /// The field at a position.
    ///
    /// - Parameter position: A valid position.
    /// - Returns: The field's name and value.
    public subscript(position: Int) -> Field { fields[position] }
}

extension HTTPHeaders: ExpressibleByDictionaryLiteral {
    /// Makes header fields from a literal, in its order.
    ///
    /// - Parameter elements: Names and values.
    public init(dictionaryLiteral elements: (String, String)...) {
        self.init(elements.map { Field(name: $0.0, value: $0.1) })
    }
}

extension StringProtocol {
    /// Whether two texts are the same but for the case of ASCII letters.
    package func equalsIgnoringASCIICase(_ other: some StringProtocol) -> Bool {
        // Most texts that differ do so in their lengths, which are known.
        guard utf8.count == other.utf8.count else { return false }
        return utf8.elementsEqual(other.utf8) { left, right in
            left == right || (left ^ right == 0x20 && (0x61...0x7A).contains(left | 0x20))
        }
    }
}
