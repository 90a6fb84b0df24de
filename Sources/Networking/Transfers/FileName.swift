import Foundation

/// Names of files that somebody else suggests.
enum FileName {
    /// The longest name that Linux's file systems have, in octets.
    static let maximumLength = 255
    /// The longest suggestion that is read, in Unicode scalars.
    private static let maximumScalars = 1_024

    /// Makes a suggestion a name that can only be that of a new ordinary file in the folder it is put into; `nil` if nothing is left.
    ///
    /// Only what follows the last separator counts, of Unix or Windows. Control characters go, and so do those that change the direction
    /// of writing, with which `exe` can be shown at another place than the end. A name never begins with a dot, which would hide it.
    static func sanitized(_ suggestion: String) -> String? {
        // Scalars, and few of them: finding the characters of a text that combines takes quadratic time.
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

    /// The stem and the extension with its dot; an extension that is unusually long is part of the stem.
    static func split(_ name: String) -> (stem: String, ending: String) {
        guard let dot = name.unicodeScalars.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 32
        else {
            return (name, "")
        }
        return (String(name[..<dot]), String(name[dot...]))
    }

    /// The beginning of a text that has at most so many octets, characters kept whole.
    static func shortened(_ text: String, to count: Int) -> String {
        let count = max(count, 1)
        guard text.utf8.count > count else { return text }
        let limit = text.utf8.index(text.startIndex, offsetBy: count)
        var end = text.startIndex
        for index in text.indices.dropFirst() {
            guard index <= limit else { break }
            end = index
        }
        // One character can be longer than any name.
        return end == text.startIndex ? "_" : String(text[..<end])
    }

    private static func isHarmful(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
        default: scalar == "\u{FFFD}"
        }
    }
}
