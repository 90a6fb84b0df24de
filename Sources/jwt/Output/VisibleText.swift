/// Escaping of untrusted text for terminals.
///
/// JSON leaves many invisible or dangerous characters unescaped: DEL and the C1 controls, one of
/// which starts terminal commands; characters that reverse the direction of text; and invisible
/// characters that can hide a message.
enum VisibleText {
    /// Returns JSON of the same meaning with those characters escaped.
    ///
    /// In JSON, they occur only in strings.
    static func json(_ text: String) -> String {
        escaped(text, keepsLineBreaks: true)
    }

    /// Returns a single safe line for text that may contain line breaks and terminal commands, such
    /// as a file name.
    static func line(_ text: String) -> String {
        escaped(text, keepsLineBreaks: false)
    }

    private static func escaped(_ text: String, keepsLineBreaks: Bool) -> String {
        let isEscaped = { (scalar: Unicode.Scalar) in isHidden(scalar) && !(keepsLineBreaks && scalar == "\n") }
        guard text.unicodeScalars.contains(where: isEscaped) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isEscaped(scalar) {
                result += escape(scalar)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    /// Returns whether a terminal interprets or hides the character.
    ///
    /// These are the categories Cc, Cf, Zl, Zp and Cn, and the default-ignorable code points, such
    /// as variation selectors and Hangul fillers.
    static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .surrogate: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// Returns the character as a JSON escape such as `\u001b`, or as a surrogate pair beyond
    /// U+FFFF.
    static func escape(_ scalar: Unicode.Scalar) -> String {
        UTF16.encode(scalar).map { unit in
            unit.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        } ?? ""
    }
}
