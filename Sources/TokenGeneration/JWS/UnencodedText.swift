/// The texts that may be unencoded payloads in JSON
/// ([RFC 7797 §5.3](https://www.rfc-editor.org/rfc/rfc7797#section-5.3)).
enum UnencodedText {
    /// Returns a Boolean value that indicates whether a text may be written: it has no unassigned
    /// code points.
    static func isWritable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.isASCII || $0.properties.generalCategory != .unassigned }
    }

    /// Returns a Boolean value that indicates whether a text may be accepted.
    ///
    /// A code point that is unassigned in this Unicode version may be assigned in the sender's
    /// newer version. Only noncharacters, which are never assigned, are rejected.
    static func isReadable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.isASCII || !$0.properties.isNoncharacterCodePoint }
    }
}
