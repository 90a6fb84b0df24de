/// A string that compares and hashes by its UTF-8 bytes.
///
/// Swift's `String` compares and hashes by canonical equivalence, which requires normalization: a
/// run of combining characters costs quadratic time. Use this type for dictionary keys and set
/// members that come from untrusted input.
package struct ByteComparedString: Hashable, Sendable {
    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.text.utf8.span.isEqual(to: right.text.utf8.span)
    }

    /// The hasher's random seed prevents chosen collisions.
    package func hash(into hasher: inout Hasher) {
        let bytes = text.utf8.span
        unsafe bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
        // This byte never occurs in UTF-8. As a terminator it keeps consecutive strings distinct.
        hasher.combine(0xFF as UInt8)
    }
}
