/// The texts that a JSON string can have for an unencoded payload
/// ([RFC 7797 §5.3](https://www.rfc-editor.org/rfc/rfc7797#section-5.3)).
enum UnencodedText {
    /// Whether a text can be written: it has no unassigned code points.
    static func isWritable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.isASCII || $0.properties.generalCategory != .unassigned }
    }

    /// Whether a text can be believed to have been written by the rules.
    ///
    /// A code point that is unassigned today may be a character to a writer who has a newer Unicode; only those that never will
    /// be one are refused.
    static func isReadable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.isASCII || !$0.properties.isNoncharacterCodePoint }
    }
}
