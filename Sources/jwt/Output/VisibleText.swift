/// Makes text from outside harmless to a terminal.
///
/// JSON leaves some control characters unescaped: DEL and the C1 controls, among them one that starts terminal
/// commands, and the characters that reverse the direction of the text around them.
enum VisibleText {
    /// JSON with the same meaning, in which such characters are escaped.
    ///
    /// They can only stand in strings.
    static func json(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { isHidden($0) && $0 != "\n" }) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isHidden(scalar), scalar != "\n" {
                result += escape(scalar)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
    }

    /// One harmless line: file names, tokens and certificates can hold line breaks and terminal commands.
    static func line(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isHidden) else { return text }
        return text.unicodeScalars.reduce(into: "") { line, scalar in
            if isHidden(scalar) {
                line += escape(scalar)
            } else {
                line.unicodeScalars.append(scalar)
            }
        }
    }

    /// Whether a terminal acts on the character instead of showing it.
    static func isHidden(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x00...0x1F, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// The character as JSON escapes it: `\u001b`.
    static func escape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
}
