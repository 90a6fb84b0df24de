/// Makes text from outside harmless to a terminal.
///
/// JSON leaves many characters unescaped that aren't shown as they are: DEL and the C1 controls, among them one that starts terminal commands,
/// characters that reverse the direction of the text around them, and characters that are invisible and can hide a message.
enum VisibleText {
    /// JSON with the same meaning, in which such characters are escaped.
    ///
    /// They can only stand in strings.
    static func json(_ text: String) -> String {
        escaped(text, keepsLineBreaks: true)
    }

    /// One harmless line: file names, tokens and certificates can hold line breaks and terminal commands.
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

    /// Returns whether a terminal acts on the character, or shows nothing, instead of showing it.
    ///
    /// These are the categories Cc, Cf, Zl, Zp and Cn, and all characters that Unicode has displays ignore, such as variation selectors
    /// and the letters of Hangul that fill a place.
    static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        if (0x20...0x7E).contains(scalar.value) { return false }
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .unassigned, .surrogate: return true
        default: return scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// The character as JSON escapes it: `\u001b`, and in two parts beyond U+FFFF.
    static func escape(_ scalar: Unicode.Scalar) -> String {
        UTF16.encode(scalar).map { unit in
            unit.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        } ?? ""
    }
}
