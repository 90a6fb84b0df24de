/// Text that is compared and hashed by its UTF-8 bytes.
///
/// Swift's `String` compares and hashes canonically equivalent text as the same, and normalizes it to find out: a run of
/// combining characters costs quadratic time. Text from outside is a key of dictionaries and sets as an `ByteComparedString`.
package struct ByteComparedString: Hashable, Sendable {
    /// The text.
    package let text: String

    /// Wraps a text.
    ///
    /// - Parameter text: The text.
    package init(_ text: String) {
        self.text = text
    }

    /// Returns a Boolean value that indicates whether two texts have the same UTF-8 bytes.
    ///
    /// - Parameters:
    ///   - left: One text.
    ///   - right: The other.
    /// - Returns: `true` if the bytes are equal.
    package static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.span.isEqual(to: right.text.utf8.span)
    }

    /// Feeds the UTF-8 bytes to a hasher, whose seed keeps an attacker from choosing texts that collide.
    ///
    /// - Parameter hasher: The hasher.
    package func hash(into hasher: inout Hasher) {
        let bytes = text.utf8.span
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        // No UTF-8 text has this byte: it ends the text, so that several in a row stay distinct.
        hasher.combine(0xFF as UInt8)
    }
}
