import Foundation

/// The handling of file names that a server suggests.
enum FileName {
    /// The longest file name of Linux's file systems, in bytes.
    static let maximumLength = 255
    /// The length to which suggestions are truncated, in Unicode scalars.
    private static let maximumScalars = 1_024

    /// Turns a suggestion into the name of an ordinary file in the target folder.
    ///
    /// Returns `nil` if nothing remains. Only the part after the last Unix or Windows separator
    /// counts. Control characters are removed, as are characters that change the writing direction,
    /// which can disguise an `exe` extension. The name never begins with a dot, which would hide
    /// the file.
    static func sanitized(_ suggestion: String) -> String? {
        // Works on a limited number of scalars: splitting a text of combining characters takes
        // quadratic time.
        let all = suggestion.unicodeScalars
        let start = all.lastIndex { $0 == "/" || $0 == "\\" }.map(all.index(after:)) ?? all.startIndex
        var scalars = String.UnicodeScalarView()
        scalars.append(contentsOf: all[start...].lazy.filter { !isHarmful($0) }.prefix(maximumScalars))
        let blanks = CharacterSet.whitespacesAndNewlines
        var rest = scalars.drop { $0 == "." || $0 == "~" || blanks.contains($0) }
        while let last = rest.last, last == "." || blanks.contains(last) { rest.removeLast() }
        guard !rest.isEmpty else { return nil }
        let (stem, ending) = split(String(rest))
        return shortened(stem, to: maximumLength - ending.utf8.count) + ending
    }

    /// Splits a name into its stem and its extension with the dot, unless the extension is
    /// unusually long.
    static func split(_ name: String) -> (stem: String, ending: String) {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 32
        else {
            return (name, "")
        }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// Truncates a text to a number of bytes without splitting characters.
    static func shortened(_ text: String, to count: Int) -> String {
        let count = max(count, 1)
        guard text.utf8.count > count else { return text }
        let limit = text.utf8.index(text.startIndex, offsetBy: count)
        var end = text.startIndex
        for index in text.indices.dropFirst() {
            guard index <= limit else { break }
            end = index
        }
        // A single character can be longer than any file name.
        return end == text.startIndex ? "_" : String(text[..<end])
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: scalar == "\u{FFFD}"
        }
    }
}
